"""A journal in PostgreSQL: tokens that fence off, leases, lost connections, a database that restarts, its schema."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
import threading
import time

import pytest
from effort import share
from postgres_server import Wire

from executor import Executor, World
from executor.errors import DamagedError, DrivenError, FencedError, JournalError
from executor.events.stored_runs import copy_run
from executor.journal import DatabaseAddress, Journal, open_journal, read_place
from executor.journal.postgres import schema
from executor.journal.postgres.connection import JUST_TRIED, Database, _text_of
from planner import Domain
from planner.errors import InputError

DRIVE = """
import sys, time
from executor.journal import open_journal
journal = open_journal(sys.argv[1])
driven = journal.drive("r1")
driven.__enter__()
journal.append("r1", "A", "")
journal.locks.hold("a lock")
print("driven", flush=True)
time.sleep(100)
"""


@pytest.fixture
def journal(address):
    with open_journal(address) as opened:
        opened.create("r1")
        yield opened


def run_sql(address, *statements):
    """Run statements in the schema of a journal, past the journal; return the rows of the last one."""
    database = Database(read_place(address))
    try:
        return database.repeat(lambda run, _: [run(each) for each in statements])[-1]
    finally:
        database.close()


@pytest.fixture
def expire(address):
    return lambda: run_sql(address, "UPDATE holders SET expires = clock_timestamp() - interval '1 second'")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET data = 'other'",
        "DELETE FROM events",
        "TRUNCATE events",
        "INSERT INTO events SELECT run, seq + 7, time, kind, data, status, checksum FROM events",
        "UPDATE runs SET name = 'other'",
        "DELETE FROM heads; DELETE FROM runs",
        "TRUNCATE runs CASCADE",
        "INSERT INTO runs VALUES (9, 'r9', 0, 0)",
        "UPDATE documents SET data = 'other'",
        "DELETE FROM documents",
        "TRUNCATE documents",
        "INSERT INTO documents VALUES (9, 'plan', 'p9', 0, '', '', 0)",
    ],
)
def test_no_program_changes_what_is_kept(address, journal, statement):
    with journal.drive("r1"):
        journal.append("r1", "A", "")
    journal.save_plan("p1", "{}")
    with pytest.raises(JournalError, match=r"append-only|follow each other"):
        run_sql(address, statement)
    assert [entry.kind for entry in journal.read("r1")] == ["A"]


def test_who_was_taken_over_appends_nothing_more(address, journal, expire):
    with open_journal(address) as other, journal.drive("r1"):
        first = journal.token("r1")
        journal.append("r1", "A", "")
        with pytest.raises(DrivenError, match="drives run"), other.drive("r1"):
            pass
        expire()
        with other.drive("r1") as events:
            assert events == 1
            assert other.token("r1") == first + 1
            other.append("r1", "B", "")
            for use in (lambda: journal.append("r1", "C", ""), lambda: journal.extend("r1", [("C", "", None)] * 2)):
                with pytest.raises(FencedError, match="another process has taken over run 'r1'"):
                    use()
            other.append("r1", "D", "")
    assert [entry.kind for entry in journal.read("r1")] == ["A", "B", "D"]


def test_who_was_taken_over_hears_of_it_before_a_handler_is_called(address, journal, expire, monkeypatch):
    with open_journal(address) as other, journal.drive("r1"):
        journal.check("r1")
        expire()
        with other.drive("r1"):
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            monkeypatch.setattr("executor.journal.postgres.leases.read_uptime", lambda: now + 1000)
            with pytest.raises(FencedError):
                journal.check("r1")
            other.check("r1")


def test_a_lease_that_expired_and_that_nobody_needed_goes_on(journal, expire, monkeypatch):
    with journal.drive("r1"):
        expire()
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        monkeypatch.setattr("executor.journal.postgres.leases.read_uptime", lambda: now + 1000)
        journal.check("r1")
        journal.append("r1", "A", "")


def test_a_lease_is_renewed(postgres):
    address = postgres.address("renewed", lease=0.3)
    with open_journal(address) as journal, open_journal(address) as other:
        journal.create("r1")
        with journal.drive("r1"):
            time.sleep(0.7)
            with pytest.raises(DrivenError), other.drive("r1"):
                pass
        with other.drive("r1"):
            pass


def test_what_a_dead_process_of_this_machine_held_is_free_at_once(address, journal):
    process = subprocess.Popen([sys.executable, "-c", DRIVE, address], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "driven\n"
    with pytest.raises(DrivenError, match=rf"'r1' is driven by process {process.pid} on .*the run is free 15 s after"):
        journal.drive("r1").__enter__()
    assert not journal.locks.hold("a lock")
    assert journal.free([""]) == []
    process.kill()
    process.communicate()
    assert [each.run for each in journal.free([""])] == ["r1"]
    assert journal.locks.hold("a lock")
    with journal.drive("r1") as events:
        assert events == 1


def test_a_lock_ends_with_the_lease_of_its_holder(address, journal, expire):
    with open_journal(address) as other:
        assert other.locks.hold("room 7")
        assert not journal.locks.hold("room 7")
        assert journal.locks.hold("room 8")
        expire()
        assert journal.locks.hold("room 7")
        journal.locks.let_go("room 7")


def test_reservations_are_in_one_order_for_all_processes(address, journal):
    with open_journal(address) as other:
        assert journal.reservations.reserve("r1", "s1", {"gold": -3}) == []
        ((run, item, amount, _),) = other.reservations.reserve("r2", "s1", {"gold": -1, "iron": 2})
        assert (run, item, amount) == ("r1", "gold", -3)
        assert journal.reservations.reserve("r1", "s1", {"gold": -3}) == []
        journal.reservations.keep("r1", [])
        assert other.reservations.reserve("r2", "s1", {"gold": -1, "iron": 2}) == []
        other.reservations.release("r2", "s1")
        assert run_sql(address, "SELECT count(*) FROM reservations") == [[0]]


@pytest.fixture
def wire(postgres):
    made = Wire(postgres)
    yield made
    made.close()
    gc.collect()  # the driver leaves sockets to it that are cut while it connects


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.drawn
@pytest.mark.parametrize("messages", share(range(8), 4))
def test_an_append_whose_answer_was_lost_is_made_once(postgres, wire, messages):
    with open_journal(postgres.address(f"cut{messages}", port=wire.port)) as journal:
        journal.create("r1")
        with journal.drive("r1"):
            journal.append("r1", "A", "0")
            for number in range(1, 6):
                wire.cut_at = wire.sent + messages
                journal.extend("r1", [("A", f"{number}", None), ("B", "", None)] if number % 2 else [("A", "x", None)])
        wire.cut_at = None
        entries = list(journal.read("r1"))
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert [entry.data for entry in entries if entry.kind == "A"] == ["0", "1", "x", "3", "x", "5"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.drawn
@pytest.mark.parametrize("messages", share(range(0, 12, 3), 4))
def test_all_methods_survive_a_lost_connection(postgres, wire, messages):
    with open_journal(postgres.address(f"lost{messages}", port=wire.port)) as journal:

        def cut(use):
            wire.cut_at = wire.sent + messages
            return use()

        cut(lambda: journal.create("r1"))
        driven = journal.drive("r1")
        assert cut(driven.__enter__) == 0
        cut(lambda: journal.save_plan("p1", "{}"))
        assert [each.data for each in cut(lambda: list(journal.plans()))] == ["{}"]
        assert cut(lambda: journal.locks.hold("a"))
        assert cut(lambda: journal.reservations.reserve("r1", "s1", {"gold": 1})) == []
        assert cut(lambda: journal.rates.reserve("k", 1, 60, 0))[1] >= 0
        driven.__exit__(None, None, None)
        assert cut(lambda: journal.delete("r1"))
        assert cut(journal.runs) == []


def test_a_database_that_stays_away_is_told_with_what_to_do(postgres):
    with open_journal(postgres.address("away", patience=0.3)) as journal:
        journal.create("r1")
        with journal.drive("r1"):
            journal.append("r1", "A", "")
            postgres.halt()
            try:
                with pytest.raises(JournalError, match=r"the database does not answer.*then resume the runs, or let a"):
                    journal.append("r1", "B", "")
            finally:
                postgres.start()
            time.sleep(JUST_TRIED)
            assert journal.append("r1", "C", "") == 2


def test_a_database_that_is_silent_while_it_is_connected_to_leaves_no_socket_open(monkeypatch):
    monkeypatch.setattr("executor.journal.postgres.connection.SOCKET_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with pytest.raises(JournalError, match="the database does not answer"):
            open_journal(f"postgresql://somebody@127.0.0.1:{silent.getsockname()[1]}/runs?patience=0.2")
        gc.collect()  # a socket that is still open is an error here


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_run_goes_on_after_the_database_was_restarted(postgres, address, mode):
    acts = []
    domain = Domain("acts")
    for number in range(6):
        needs = [f"done{number - 1}"] if number else []
        domain.action(f"do{number}", {}, requires=needs, provides=[f"done{number}"], tags=["trusted"])
    world = World(domain)

    def bind(number):
        @world.handler(f"do{number}")
        def act():
            acts.append(number)
            if number == 3:
                postgres.restart(mode)

    for number in range(6):
        bind(number)
    executor = Executor(world, address)
    outcome = asyncio.run(executor.run(domain.problem(goal=["done5"]), run="r"))
    assert outcome.succeeded
    assert acts == list(range(6))
    executor.journal.close()


def test_a_newer_schema_and_that_of_another_program_are_refused(address, postgres):
    open_journal(address).close()
    run_sql(address, "INSERT INTO version VALUES (99)")
    with pytest.raises(
        JournalError, match=r"its schema has version 99, and this forethought reads \d+; use the version"
    ):
        open_journal(address)
    foreign = postgres.address("notes")
    run_sql(foreign, "CREATE SCHEMA notes", "CREATE TABLE notes(text TEXT)")
    with pytest.raises(
        JournalError, match=r"its schema notes has tables of another program.*\?schema=NAME.*not touched"
    ):
        open_journal(foreign)
    assert run_sql(foreign, "SELECT count(*) FROM pg_class WHERE relnamespace = 'notes'::regnamespace") == [[1]]


OPEN = """
import sys
from executor.journal import open_journal
with open_journal(sys.argv[1]) as journal:
    journal.create(sys.argv[2])
"""


def test_processes_that_open_a_fresh_schema_at_once_share_one_journal(postgres, address):
    """All of them wait for the lock of the schema, having seen that there is none, when the first one makes it."""
    database = Database(read_place(postgres.address("public")))
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    database.run(f"SELECT pg_advisory_lock({schema._LOCK})")
    names = [f"r{number}" for number in range(4)]
    opening = [
        subprocess.Popen([sys.executable, "-c", OPEN, address, name], stderr=subprocess.PIPE, text=True)
        for name in names
    ]
    while database.run(waiting) != [[len(names)]]:
        assert all(each.poll() is None for each in opening)
        time.sleep(0.02)
    database.run(f"SELECT pg_advisory_unlock({schema._LOCK})")
    assert [each.communicate(timeout=60)[1] for each in opening] == [""] * len(names)
    database.close()
    with open_journal(address) as journal:
        assert sorted(each.run for each in journal.runs()) == names


def test_an_older_schema_is_brought_forward_once_by_processes_that_open_it_at_once(address, monkeypatch):
    with open_journal(address) as journal:
        journal.create("r1")
    migration = "ALTER TABLE locks ADD COLUMN note TEXT;"
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, migration))
    opened, errors = [], []

    def open_it():
        try:
            opened.append(open_journal(address))
        except BaseException as error:  # noqa: BLE001 - the test says so
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert [[each.run for each in journal.runs()] for journal in opened] == [["r1"]] * 4
    for journal in opened:
        journal.close()
    versions = run_sql(address, "SELECT number FROM version ORDER BY number")
    assert versions == [[number] for number in range(1, len(schema.MIGRATIONS) + 1)]


def test_a_migration_that_fails_changes_nothing(address, monkeypatch):
    open_journal(address).close()
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "DROP TABLE starts; DROP TABLE nonsense;"))
    with pytest.raises(JournalError, match="nonsense"):
        open_journal(address)
    monkeypatch.undo()
    with open_journal(address) as journal:
        assert journal.rates.reserve("k", 1, 1, None)[1] == 0


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE events SET data = 'y' WHERE seq = 1", "event 1 of run 'r1' is missing or changed"),
        ("DELETE FROM events WHERE seq = 2", "1 events of run 'r1' are left of 2"),
        ("UPDATE runs SET name = 'r2'", "there is no run 'r1'"),
    ],
)
def test_what_was_changed_past_the_triggers_is_noticed(address, journal, change, found):
    with journal.drive("r1"):
        journal.extend("r1", [("A", "x", None), ("B", "x", None)])
    table = change.split()[1] if change.startswith("UPDATE") else "events"
    run_sql(address, f"ALTER TABLE {table} DISABLE TRIGGER ALL", change, f"ALTER TABLE {table} ENABLE TRIGGER ALL")
    with pytest.raises(JournalError, match=found):
        list(journal.read("r1"))
    if "runs" in change:
        with pytest.raises(DamagedError, match="run 1 is changed"):
            journal.runs()


def test_texts_that_cannot_be_kept_are_told(journal):
    with journal.drive("r1"):
        with pytest.raises(JournalError, match=r"character of code 0 near .*x00.*nothing was appended"):
            journal.append("r1", "A", "a\0b")
        assert journal.append("r1", "A", "ab") == 1


SECRET = "s3cret:/@"


def test_a_password_is_in_no_message(postgres):
    text = f"postgresql://nobody:s3cret%3A%2F%40@127.0.0.1:{postgres.port}/none?patience=0.2"
    address = read_place(text)
    assert address.password == SECRET
    for shown in (str(address), repr(address)):
        assert "s3cret" not in shown
        assert shown == f"postgresql://nobody@127.0.0.1:{postgres.port}/none?patience=0.2"
    assert read_place(str(address)) == DatabaseAddress(
        "nobody", "127.0.0.1", postgres.port, "none", patience=0.2, password=None
    )
    with pytest.raises(JournalError) as refused:
        open_journal(text)
    assert "s3cret" not in f"{refused.value} {refused.value!r}"
    with pytest.raises(JournalError, match=str(postgres.port)) as silent:
        open_journal(text.replace("127.0.0.1", "127.0.0.2"))
    assert "s3cret" not in f"{silent.value} {silent.value!r}"
    world = World(Domain("any"))
    with pytest.raises(JournalError) as asked:
        Executor(world, text)
    assert "s3cret" not in repr(asked.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("postgresql://u@h/d?shema=x", "no option 'shema'.*did you mean 'schema'"),
        ("postgresql://u@h/d?schema=X y", "no name of a schema"),
        ("postgresql://u@h/d?lease=0", "lease is a number of seconds above 0, not '0'"),
        ("postgresql://u@h/d?patience=soon", "patience is a number of seconds"),
        ("postgresql://u:s3cret@h:port/d", "is wrong: Port could not be cast to integer value; write postgresql://"),
        ("postgresql://u@h/d?sslmode=never", "no sslmode 'never'"),
        ("mysql://u:s3cret@h/d", "a journal is not kept at mysql://"),
    ],
)
def test_wrong_addresses_are_told(text, found):
    with pytest.raises(InputError, match=found) as error:
        read_place(text)
    assert "s3cret" not in f"{error.value}{error.value!r}"


def test_what_an_address_leaves_out_comes_from_the_variables(monkeypatch):
    for name, value in {"PGUSER": "ann", "PGPASSWORD": "pw", "PGHOST": "db1", "PGPORT": "77"}.items():
        monkeypatch.setenv(name, value)
    address = read_place("postgresql:///runs")
    assert (address.user, address.password, address.host, address.port, address.database) == (
        "ann",
        "pw",
        "db1",
        77,
        "runs",
    )


def test_a_run_is_copied_between_journals(address, tmp_path):
    with Journal(tmp_path / "runs.db") as file, open_journal(address) as database:
        for run, status in (("over", "SUCCEEDED"), ("waits", "WAITING")):
            file.create(run)
            with file.drive(run):
                file.append(run, "RunStarted", '{"plan": {}}', status="ACTIVE", at=5.25)
                file.append(run, "RunEnded", '{"x": "\\u00e9"}', status=status)
        before = {run: list(file.read(run)) for run in ("over", "waits")}
        assert copy_run(file, database, "over") == "copied"
        assert copy_run(file, database, "over") == "copied", "it is there already, and the same"
        assert copy_run(file, database, "waits") == "moved"
        assert {run: list(database.read(run)) for run in ("over", "waits")} == before
        assert [each.run for each in file.runs()] == ["over"]
        with database.drive("waits"):
            assert database.append("waits", "RunResumed", "{}") == 3
        assert copy_run(database, file, "waits") == "moved"
        assert [each.run for each in file.runs()] == ["over", "waits"]
        database.delete("over")
        database.create("over")
        with database.drive("over"):
            database.append("over", "Another", "")
        with pytest.raises(JournalError, match="there is already another run 'over'"):
            copy_run(file, database, "over")
        with database.drive("over"), pytest.raises(DrivenError):
            copy_run(file, database, "over")


def test_what_a_database_says_is_told_in_words():
    refused = Exception({"S": "FATAL", "C": "53300", "M": 'too many connections for role "few"', "F": "miscinit.c"})
    assert _text_of(refused) == '53300: too many connections for role "few"'
    assert _text_of(ConnectionRefusedError(111, "Connection refused")) == "[Errno 111] Connection refused"
