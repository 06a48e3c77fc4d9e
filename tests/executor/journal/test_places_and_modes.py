"""Names of journals that are none, addresses with mistakes, commands that only look, and who may read a new journal."""

from __future__ import annotations

import os
import stat

import pytest
from belt_workers import WORLD
from postgres_server import find_port

from executor.errors import JournalError
from executor.journal import Journal, open_journal, read_place
from planner.cli import main
from planner.errors import InputError


def forethought(*words):
    """Run a command in this process; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return ended.value.code


@pytest.mark.parametrize("name", [":memory:", " :memory: ", "file::memory:?cache=shared", "file:runs.db?mode=memory"])
def test_names_that_sqlite_reads_as_options_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="names no file: SQLite would read it as options; name a plain file"):
        read_place(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "  "])
@pytest.mark.parametrize("command", ["run", "worker", "list"])
def test_a_journal_without_a_name_is_refused(name, command, tmp_path, capsys):
    belt = tmp_path / "belt.py"
    belt.write_text(WORLD)
    words = ["runs", "list", name] if command == "list" else [command, belt, "--journal", name]
    assert forethought(*words) == 2
    assert "the journal has no name; name a file, such as runs.db, or a database" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("postgresql://u@h:seven/x", "is wrong: Port could not be cast to integer value; write postgresql://"),
        ("postgresql://u@h:99999/x", "is wrong: Port out of range 0-65535; write postgresql://"),
        ("postgresql://u@[::1/x", "is wrong: it cannot be read; write postgresql://"),
    ],
)
def test_an_address_that_cannot_be_read_says_why(address, found):
    with pytest.raises(InputError) as refused:
        read_place(address)
    assert found in str(refused.value)


def test_addresses_that_lead_nowhere_say_why_and_what_to_do(postgres):
    socket = f"?host={postgres.folder}"
    for address, found in {
        f"postgresql://postgres@:{postgres.port}/nosuch{socket}": r"3D000: .*nosuch.*; make it by `createdb nosuch`",
        f"postgresql://nobody_here@:{postgres.port}/postgres{socket}": r"28000: .*nobody_here.*; name a user",
        f"postgresql://u@127.0.0.1:{find_port()}/x": r"does not answer \(.*Connection refused.*look whether it runs",
        "postgresql://u@no-such-host.invalid/x": r"there is no host no-such-host\.invalid .*; write the host",
        "postgresql://u@:1/x?host=/nosuch": r"does not answer: there is no socket /nosuch/\.s\.PGSQL\.1; ",
    }.items():
        with pytest.raises(JournalError, match=found):
            open_journal(address)


def test_a_wrong_password_says_where_it_goes(postgres):
    hba = postgres.folder / "data" / "pg_hba.conf"
    before = hba.read_text()
    postgres.run_sql("CREATE ROLE ann LOGIN PASSWORD 'right'")
    try:
        hba.write_text("host all ann 127.0.0.1/32 scram-sha-256\n" + before)
        postgres.run_sql("SELECT pg_reload_conf()")
        for password, found in {
            ":wrong": "28P01: .*ann.*; put the right password",
            "": "asks for a password; put",
        }.items():
            with pytest.raises(JournalError, match=found) as refused:
                open_journal(f"postgresql://ann{password}@127.0.0.1:{postgres.port}/postgres")
            assert "wrong" not in str(refused.value)
    finally:
        hba.write_text(before)
        postgres.run_sql("SELECT pg_reload_conf()", "DROP ROLE ann")


@pytest.mark.parametrize(
    "words", [["list"], ["prune", "--over", "1d"], ["delete", "a"], ["answer", "a"], ["keep", "a"]]
)
def test_commands_that_look_at_a_journal_make_none(words, tmp_path, capsys):
    empty, absent = tmp_path / "empty.db", tmp_path / "absent.db"
    empty.touch()
    for path in (empty, absent):
        assert forethought("runs", words[0], path, *words[1:]) == 2
        assert f"there is no journal {path}" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["empty.db"]
    assert empty.stat().st_size == 0


def test_commands_that_look_at_a_database_make_no_schema(address, capsys):
    assert forethought("runs", "list", address) == 2
    assert "there is no journal in the schema" in capsys.readouterr().err
    open_journal(address).close()
    assert forethought("runs", "list", address) == 0


def modes(folder):
    return {each.name: oct(stat.S_IMODE(each.stat().st_mode)) for each in folder.iterdir()}


def test_a_new_journal_is_for_its_user_alone_and_one_that_is_shared_stays_so(tmp_path):
    previous = os.umask(0o022)
    try:
        with Journal(tmp_path / "runs.db") as journal:
            journal.create("a")
            assert modes(tmp_path) == dict.fromkeys(["runs.db", "runs.db-wal", "runs.db-shm", "runs.db-lock"], "0o600")
        shared = tmp_path / "shared"
        shared.mkdir()
        (shared / "runs.db").touch(0o644)
        with Journal(shared / "runs.db") as journal:
            journal.create("a")
            assert set(modes(shared).values()) == {"0o644"}
    finally:
        os.umask(previous)


def test_what_is_enqueued_quietly_prints_its_id_alone(tmp_path, capsys):
    belt, place = tmp_path / "belt.py", tmp_path / "runs.db"
    belt.write_text(WORLD)
    assert forethought("run", belt, "--real", "--journal", place, "--enqueue", "-q") == 0
    said = capsys.readouterr()
    with open_journal(place) as journal:
        assert said.out == f"{journal.runs()[0].run}\n"
    assert said.err == ""
