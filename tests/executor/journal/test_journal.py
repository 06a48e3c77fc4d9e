"""The journal: what is appended is there, in its order, and stays; one at a time drives a run."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sqlite3
import subprocess
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from executor.errors import DamagedError, DrivenError, JournalError
from executor.events.stored_runs import copy_run
from executor.journal import Journal, RunRecord, open_journal
from planner.errors import ForethoughtError, InputError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.db"


@pytest.fixture
def file(path):
    with Journal(path) as opened:
        yield opened


def kinds(journal, run):
    return [entry.kind for entry in journal.read(run)]


def filled(place, runs=("r1",), events=3):
    with open_journal(place) as journal:
        for run in runs:
            journal.create(run)
            with journal.drive(run):
                for number in range(events):
                    journal.append(run, "Step", json.dumps({"n": number}))


def test_what_is_appended_is_read_in_its_order(journal):
    journal.create("r1")
    with journal.drive("r1"):
        assert journal.append("r1", "RunStarted", '{"plan": []}') == 1
        assert journal.extend("r1", [("A", "1", None), ("B", "2", None)]) == 3
        assert journal.extend("r1", []) == 3
    assert [(entry.seq, entry.kind, entry.data) for entry in journal.read("r1")] == [
        (1, "RunStarted", '{"plan": []}'),
        (2, "A", "1"),
        (3, "B", "2"),
    ]
    times = [entry.time for entry in journal.read("r1")]
    assert times == sorted(times)


def test_a_journal_that_is_opened_again_goes_on_where_it_was(place):
    filled(place)
    with open_journal(place, durability="power") as journal, journal.drive("r1"):
        assert journal.append("r1", "Later", "") == 4
        assert kinds(journal, "r1") == ["Step", "Step", "Step", "Later"]


def test_several_events_are_kept_together_or_not_at_all(journal):
    journal.create("r1")
    with journal.drive("r1"):
        with pytest.raises(JournalError, match=r"half a character near .*ud800.*nothing was appended"):
            journal.extend("r1", [("A", "fine", None), ("B", "half \ud800", None)])
        assert kinds(journal, "r1") == []
        assert journal.append("r1", "C", "") == 1


def test_events_longer_than_a_batch_and_larger_than_a_page_are_read(journal):
    journal.create("r1")
    texts = [str(number) * (5000 if number % 50 == 0 else 1) for number in range(300)]
    with journal.drive("r1"):
        journal.extend("r1", [("K", text, None) for text in texts])
        journal.append("r1", "K", "x" * 3_000_000)
    assert [entry.data for entry in journal.read("r1")] == [*texts, "x" * 3_000_000]


def test_runs_are_listed_with_their_last_status(journal):
    for run in ("r1", "r2", "r3"):
        journal.create(run)
    with journal.drive("r2"):
        journal.append("r2", "RunStarted", "{}", status="ACTIVE")
        journal.append("r2", "Step", "{}")
    with journal.drive("r3"):
        journal.extend("r3", [("RunStarted", "{}", "ACTIVE"), ("RunEnded", "{}", "FAILED")])
    found = journal.runs()
    assert [(each.run, each.events, each.status) for each in found] == [
        ("r1", 0, ""),
        ("r2", 2, "ACTIVE"),
        ("r3", 2, "FAILED"),
    ]
    assert all(isinstance(each, RunRecord) and each.created <= each.updated for each in found)


def test_the_status_of_a_run_outlives_the_journal(place):
    with open_journal(place) as journal:
        journal.create("r1")
        with journal.drive("r1"):
            journal.append("r1", "RunStarted", "{}", status="ACTIVE")
    with open_journal(place) as journal, journal.drive("r1"):
        journal.append("r1", "Step", "{}")
        assert [each.status for each in journal.runs()] == ["ACTIVE"]


def test_goals_and_plans_are_listed_as_they_were_saved_last(place):
    with open_journal(place) as journal:
        journal.save_plan("p1", "first", status="PROPOSED")
        journal.save_goal("g1", "a goal")
        journal.save_plan("p2", "second")
        journal.save_plan("p1", "better", status="ACTIVE")
        expected = [("p1", "ACTIVE", "better"), ("p2", "", "second")]
        assert [(each.name, each.status, each.data) for each in journal.plans()] == expected
    with open_journal(place) as journal:
        assert [(each.name, each.status, each.data) for each in journal.plans()] == expected
        assert [(each.name, each.data) for each in journal.goals()] == [("g1", "a goal")]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET data = 'other'",
        "DELETE FROM events",
        "INSERT OR REPLACE INTO events SELECT run, seq, time, kind, 'other', status, checksum FROM events",
        "INSERT INTO events SELECT run, seq + 7, time, kind, data, status, checksum FROM events",
        "UPDATE runs SET name = 'other'",
        "DELETE FROM runs",
        "INSERT OR REPLACE INTO runs SELECT number, name, 0, 0 FROM runs",
        "INSERT INTO runs VALUES (9, 'r9', 0, 0)",
        "UPDATE documents SET data = 'other'",
        "DELETE FROM documents",
        "INSERT OR REPLACE INTO documents SELECT number, sort, name, time, status, 'x', 0 FROM documents",
        "INSERT INTO documents VALUES (9, 'plan', 'p9', 0, '', '', 0)",
    ],
)
def test_no_program_changes_what_is_kept(path, statement):
    filled(path)
    with Journal(path) as journal:
        journal.save_plan("p1", "{}")
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match=r"append-only|follow each other"):
        connection.execute(statement)
    connection.close()


def test_only_who_drives_a_run_appends_to_it(journal):
    journal.create("r1")
    with pytest.raises(JournalError, match="nobody drives run 'r1' here"):
        journal.append("r1", "A", "")
    with journal.drive("r1"):
        journal.append("r1", "A", "")
    with pytest.raises(JournalError, match="nobody drives"):
        journal.append("r1", "B", "")
    assert kinds(journal, "r1") == ["A"]


def test_a_run_is_driven_once_in_a_process_also_through_two_journals(place, journal):
    journal.create("r1")
    journal.create("r2")
    with open_journal(place) as other:
        with journal.drive("r1"):
            for each in (journal, other):
                with pytest.raises(DrivenError, match="this process drives run 'r1' already"), each.drive("r1"):
                    pass
            with other.drive("r2"):
                assert other.append("r2", "A", "") == 1
            assert journal.append("r1", "A", "") == 1
        with other.drive("r1"):
            assert other.append("r1", "B", "") == 2


def test_a_run_is_free_after_an_error_and_after_closing(place):
    with open_journal(place) as journal:
        journal.create("r1")
        with pytest.raises(ZeroDivisionError), journal.drive("r1"):
            _ = 1 / 0
        driving = journal.drive("r1")
        driving.__enter__()
        journal.close()
        driving.__exit__(None, None, None)
    with open_journal(place) as journal, journal.drive("r1"):
        journal.append("r1", "A", "")


def test_a_thousand_runs_need_a_few_descriptors(journal):
    for number in range(1000):
        journal.create(f"r{number}")
    gc.collect()  # what earlier tests left open is not counted
    before = len(list(Path("/dev/fd").iterdir()))
    with ExitStack() as driven:
        for number in range(1000):
            driven.enter_context(journal.drive(f"r{number}"))
        for number in range(1000):
            journal.append(f"r{number}", "A", "")
        assert len(list(Path("/dev/fd").iterdir())) <= before + 4  # a pool may open some connections
    assert {each.events for each in journal.runs()} == {1}


def test_who_appends_past_the_lock_is_found_out(path, file):
    file.create("r1")
    with file.drive("r1"):
        connection = sqlite3.connect(path)
        connection.execute("INSERT INTO events VALUES (1, 1, 0, 'Foreign', '', '', 0)")
        connection.commit()
        connection.close()
        with pytest.raises(JournalError, match="somebody else has appended"):
            file.append("r1", "A", "")


def test_a_rate_counts_the_starts_of_all_processes(place, journal):
    with open_journal(place) as other:
        number, delay = journal.rates.reserve("mail", 2, 60, None)
        assert delay == 0
        assert other.rates.reserve("mail", 2, 60, None)[1] == 0
        assert 59 < journal.rates.reserve("mail", 2, 60, None)[1] <= 60
        refused, delay = other.rates.reserve("mail", 2, 60, 5)
        assert refused is None
        assert 59 < delay <= 60
        assert other.rates.reserve("other mail", 2, 60, 5)[1] == 0
        journal.rates.give_back(number)


def test_threads_take_turns(journal):
    runs = [f"r{number}" for number in range(4)]
    for run in runs:
        journal.create(run)

    def work(run):
        with journal.drive(run):
            for number in range(50):
                journal.extend(run, [("A", str(number), None), ("B", str(number), None)])

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [kinds(journal, run) for run in runs] == [["A", "B"] * 50] * 4


def test_names_of_runs_are_unique_and_known(journal):
    with pytest.raises(JournalError, match="there is no run 'x'; this journal has none"), journal.drive("x"):
        pass
    journal.create("tuesday")
    journal.create("tuesday")  # whoever was to begin it may have died
    with journal.drive("tuesday") as events:
        assert events == 0
        journal.append("tuesday", "A", "{}")
    with journal.drive("tuesday") as events:
        assert events == 1
    with pytest.raises(JournalError, match="there is already a run 'tuesday'; resume it"):
        journal.create("tuesday")
    with pytest.raises(JournalError, match="there is no run 'teusday'; did you mean 'tuesday'"):
        journal.read("teusday").__next__()
    with pytest.raises(JournalError, match="there is no run 'x'; its runs are tuesday"), journal.drive("x"):
        pass
    assert len(journal.runs()) == 1


def test_a_closed_journal_says_so(place):
    journal = open_journal(place)
    journal.create("r1")
    journal.close()
    journal.close()
    for use in (journal.runs, lambda: journal.create("r2"), lambda: list(journal.read("r1"))):
        with pytest.raises(JournalError, match="this journal is closed; open it again"):
            use()


def test_a_pipe_is_no_journal(path):
    os.mkfifo(path)
    with pytest.raises(JournalError, match="this is a pipe or a device; name a plain file"):
        Journal(path)


def test_a_file_of_two_names_is_one_journal(path, tmp_path):
    with Journal(path) as journal:
        journal.create("one")
        (tmp_path / "link.db").symlink_to(path)
        with Journal(tmp_path / "link.db") as other, journal.drive("one"):
            with pytest.raises(DrivenError), other.drive("one"):
                pass
            with pytest.raises(InputError, match="is the source and the target"):
                copy_run(other, journal, "one")
        assert [each.run for each in journal.runs()] == ["one"]
    (tmp_path / "hard.db").hardlink_to(path)
    with pytest.raises(JournalError, match=r"another name .a hard link.*remove one of the names"):
        Journal(path)


@pytest.mark.parametrize(
    ("prepare", "found", "hint"),
    [
        (lambda path: path.write_text("notes of mine, which are no database"), "no SQLite database", "another file"),
        (lambda path: path.mkdir(), "this is a folder", "name a file"),
        (lambda path: foreign(path, "CREATE TABLE t(x)"), "another program", "not touched"),
        (lambda path: foreign(path, "PRAGMA application_id = 7"), "another program .application_id 7", "not touched"),
        (lambda path: altered(path, "PRAGMA user_version = 2"), "version 2, and this forethought reads 1", "newer"),
        (lambda path: altered(path, "PRAGMA user_version = 0"), "version 0, and", "restore"),
        (lambda path: altered(path, "DROP TRIGGER events_stay"), "its TRIGGER events_stay is missing", "restore"),
        (
            lambda path: replaced(path, b"BEFORE DELETE", b"BEFORE DELE\xd4E"),
            "something else where text should",
            "restore",
        ),
        (
            lambda path: replaced(path, b"checksum INTEGER", b"checksum INTEGOR"),
            "its TABLE .* is missing, or not",
            "restore",
        ),
        (lambda path: altered(path, "ALTER TABLE events ADD COLUMN x"), "its TABLE events is missing", "restore"),
    ],
)
def test_what_is_no_journal_is_refused_and_left_alone(path, prepare, found, hint):
    prepare(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(JournalError, match=f"{path}.*{found}.*; .*{hint}"):
        Journal(path)
    assert before == (path.read_bytes() if path.is_file() else None)


def foreign(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


def replaced(path, old, new):
    filled(path)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))


def altered(path, statement):
    filled(path)
    foreign(path, statement)


def test_other_mistakes_are_told(tmp_path):
    with pytest.raises(JournalError, match=r"there is no folder .*missing; make it"):
        Journal(tmp_path / "missing" / "journal.db")
    with pytest.raises(JournalError, match="durability 'none' is unknown; say 'process' or 'power'"):
        Journal(tmp_path / "journal.db", durability="none")
    with pytest.raises(JournalError, match="a journal is a file"):
        Journal(":memory:")
    assert list(tmp_path.iterdir()) == []
    assert issubclass(DamagedError, JournalError)
    assert issubclass(DrivenError, JournalError)
    assert issubclass(JournalError, ForethoughtError)


def test_an_empty_file_becomes_a_journal(path):
    path.touch()
    filled(path)
    with Journal(path) as journal:
        assert len(kinds(journal, "r1")) == 3


def test_a_journal_that_somebody_locks_is_told(path, file):
    file.create("r1")
    file._store.connection.execute("PRAGMA busy_timeout = 20")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    with file.drive("r1"):
        with pytest.raises(JournalError, match="another process kept it locked"):
            file.append("r1", "A", "")
        connection.execute("ROLLBACK")
        connection.close()
        assert file.append("r1", "A", "") == 1


def test_a_full_database_loses_nothing(file):
    file.create("r1")
    connection = file._store.connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 3}")
    done = []
    with file.drive("r1"):
        with pytest.raises(JournalError, match=r"the disk is full .SQLITE_FULL.*make room and try again"):
            done.extend(file.extend("r1", [("A", "x" * 700, None), ("B", "", None)]) for _ in range(1000))
        assert done
        assert kinds(file, "r1") == ["A", "B"] * len(done)
        connection.execute(f"PRAGMA max_page_count = {pages + 100}")
        assert file.append("r1", "C", "") == done[-1] + 1


def test_a_journal_that_was_emptied_or_deleted_is_no_new_one(path):
    filled(path, runs=("r1", "r2"))
    path.write_bytes(b"")
    with pytest.raises(DamagedError, match=r"0 runs are left of 2 .*accept the loss by deleting .*journal.db-lock"):
        Journal(path)
    path.unlink()
    with pytest.raises(DamagedError, match="0 runs are left of 2"):
        Journal(path)
    path.with_name("journal.db-lock").unlink()
    filled(path)


def test_an_older_copy_is_found_out(path, tmp_path):
    filled(path)
    shutil.copy(path, tmp_path / "copy")
    with Journal(path) as journal:
        journal.save_plan("p1", "")
        with journal.drive("r1"):
            journal.append("r1", "Payment", "")
    shutil.copy(tmp_path / "copy", path)
    with Journal(path) as journal:
        for use in (journal.runs, lambda: list(journal.read("r1")), lambda: journal.drive("r1").__enter__()):
            with pytest.raises(DamagedError, match="3 events of run 'r1' are left of 4"):
                use()
        with pytest.raises(DamagedError, match="0 goals and plans are left of 1"):
            list(journal.plans())


def test_a_log_without_its_database_is_not_thrown_away(path):
    log = path.with_name("journal.db-wal")
    log.write_bytes(b"what is left of a journal")
    for _ in range(2):
        with pytest.raises(DamagedError, match=r"it is empty or missing, but journal.db-wal is not"):
            Journal(path)
        path.write_bytes(b"")
    assert log.read_bytes()


@pytest.mark.parametrize(
    ("deleted", "found"),
    [("journal.db", "deleted, moved or replaced while it was open"), ("journal.db-lock", "deleted or replaced")],
)
def test_no_run_begins_in_a_file_that_was_deleted(path, file, deleted, found):
    file.create("r1")
    path.with_name(deleted).unlink()
    with pytest.raises(JournalError, match=found), file.drive("r1"):
        pass


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the command is not installed")
def test_the_sqlite_command_reads_what_happened(path):
    filled(path)
    command = ["sqlite3", path, "SELECT run, seq, kind, json_extract(data, '$.n') FROM history"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == ["r1|1|Step|0", "r1|2|Step|1", "r1|3|Step|2"]
