"""Runs are deleted, one by one or as they expire: in the journal, without one, and by the command."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import executor.events.stored_runs
from executor import (
    DamagedError,
    DrivenError,
    Executor,
    Journal,
    JournalError,
    NoRunError,
    Retention,
    RunError,
    RunStatus,
    Wait,
    World,
    learn,
)
from executor.cli.runs import app
from executor.events.stored_runs import PLANNING
from executor.journal import journal as deletion
from executor.journal import open_journal
from executor.testing import run_virtual
from planner import Domain
from planner.errors import InputError

AGE = 1000.0
SECRET = "4111 1111 1111 1111"


def one(handler=lambda: None):
    """Return the world of a domain with one action, and the problem to do it."""
    domain = Domain("one")
    domain.action("do", {}, provides=["done"], tags=["trusted"])
    world = World(domain)
    world.handler("do")(handler)
    return world, domain.problem(goal=["done"])


def filled(place, *runs, status="SUCCEEDED", data='{"n": 1}', age=0.0):
    """Make a journal with `runs`, of two events each, `age` seconds ago."""
    with open_journal(place) as journal:
        for run in runs:
            journal.create(run)
            with journal.drive(run):
                journal.extend(run, [("RunStarted", data, "ACTIVE"), ("RunEnded", data, status)], time.time() - age)
    return place


def names(journal):
    return [each.run for each in journal.runs()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


def test_a_deleted_run_is_gone_and_the_others_are_whole(place):
    with open_journal(filled(place, "a", "b", "c")) as journal:
        assert journal.delete("b")
        assert names(journal) == ["a", "c"]
        with pytest.raises(NoRunError, match="there is no run 'b'"):
            list(journal.read("b"))
        with pytest.raises(NoRunError), journal.drive("b"):
            pass
        with pytest.raises(NoRunError):
            journal.delete("b")
    with open_journal(place) as again:
        assert names(again) == ["a", "c"]
        assert [entry.seq for entry in again.read("c")] == [1, 2]


def test_the_name_of_a_deleted_run_is_free_again(place):
    with open_journal(filled(place, "a", "b")) as journal:
        journal.delete("a")
        journal.create("a")
        with journal.drive("a") as events:
            assert events == 0
            assert journal.append("a", "RunStarted", "{}") == 1
        assert names(journal) == ["b", "a"]


def test_nothing_of_a_deleted_run_is_left_in_the_file(path):
    with Journal(filled(path, "a", "b", data=json.dumps({"card": SECRET}))) as journal:
        journal.delete("a")
        journal.delete("b")
    assert SECRET.encode() not in path.read_bytes()


def test_a_journal_is_append_only_again_after_a_deletion(path):
    with Journal(filled(path, "a", "b")) as journal:
        journal.delete("a")
    connection = sqlite3.connect(path)
    for statement in ("DELETE FROM events", "UPDATE runs SET name = 'x'", "DELETE FROM runs"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    connection.close()


def test_a_run_that_is_lost_otherwise_is_still_noticed(path):
    with Journal(filled(path, "a", "b", "c")) as journal:
        journal.delete("a")
    connection = sqlite3.connect(path)
    triggers = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    connection.execute("DROP TRIGGER runs_last")
    connection.execute("DELETE FROM runs WHERE name = 'b'")
    connection.execute(triggers["runs_last"])
    connection.commit()
    connection.close()
    with pytest.raises(DamagedError, match="2 runs are left of 3"):
        Journal(path)


def test_a_deletion_that_fails_leaves_the_run_as_it_was(path, monkeypatch):
    with Journal(filled(path, "a")) as journal:
        monkeypatch.setattr(deletion, "compute_first_checksum", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            journal.delete("a")
        monkeypatch.undo()
        assert [entry.kind for entry in journal.read("a")] == ["RunStarted", "RunEnded"]
        with journal.drive("a"):
            journal.append("a", "RunResumed", "{}")


def test_a_run_that_is_driven_stays(place):
    with open_journal(filled(place, "a")) as journal, journal.drive("a"):
        with pytest.raises(DrivenError):
            journal.delete("a")
        assert names(journal) == ["a"]


DRIVE = """
import sys
from executor.journal import open_journal
with open_journal(sys.argv[1]) as journal, journal.drive("a"):
    print("driven", flush=True)
    sys.stdin.read()
"""


def test_a_run_that_another_process_drives_stays(place):
    filled(place, "a", "b", age=AGE)
    other = subprocess.Popen(
        [sys.executable, "-c", DRIVE, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline() == "driven\n"
        with open_journal(place) as journal:
            with pytest.raises(DrivenError):
                journal.delete("a")
            assert executor.events.stored_runs.delete_expired(journal, Retention(over=AGE / 2)) == ["b"]
            assert names(journal) == ["a"]
    finally:
        other.communicate("")


def test_a_run_with_news_since_it_was_listed_stays(place):
    with open_journal(filled(place, "a")) as journal:
        assert not journal.delete("a", events=1)
        assert names(journal) == ["a"]


def test_runs_expire_by_how_they_are(place):
    for run, status in (("over", "SUCCEEDED"), ("waits", "WAITING"), ("doubt", "IN_DOUBT")):
        filled(place, run, status=status, age=AGE)
    with open_journal(place) as journal:
        journal.create("never begun")
        delete = executor.events.stored_runs.delete_expired
        assert delete(journal, Retention()) == []
        assert delete(journal, Retention(over=2 * AGE, unfinished=2 * AGE)) == []
        assert delete(journal, Retention(over=AGE / 2)) == ["over"]
        assert delete(journal, Retention(unfinished=AGE / 2)) == ["waits", "doubt"]


def test_a_run_without_events_is_kept_as_long_as_it_may_be_planned():
    assert Retention(unfinished=0).seconds(RunStatus.PROPOSED) == PLANNING
    assert Retention(unfinished=2 * PLANNING).seconds(RunStatus.PROPOSED) == 2 * PLANNING


def test_a_run_that_was_read_half_and_is_deleted_then_says_so(place):
    with open_journal(place) as journal, open_journal(place) as other:
        journal.create("a")
        with journal.drive("a"):
            journal.extend("a", [("K", str(number), None) for number in range(100)])
        entries = journal.read("a")
        next(entries)
        other.delete("a")
        with pytest.raises(NoRunError, match="was deleted"):
            list(entries)


def test_what_was_learned_of_a_deleted_run_stays_and_a_new_one_of_its_name_counts(place):
    world, problem = one()
    done = Executor(world, place)
    run_virtual(done.run(problem, run="a"))
    known = learn(done.journal)
    assert known.of("do").count == 1
    done.delete("a")
    run_virtual(done.run(problem, run="a"))
    assert known.read(done.journal).of("do").count == 2


@pytest.mark.parametrize("kept", [True, False])
def test_an_executor_deletes_runs_that_wait_with_a_journal_and_without(place, kept):
    world, problem = one(lambda: Wait(event="never"))
    made = Executor(world, place if kept else None)

    async def main():
        waits = await made.run(problem, run="a")
        assert waits.status is RunStatus.WAITING
        made.delete("a")
        with pytest.raises(NoRunError if kept else RunError, match=r"there is no run 'a'|kept in a journal"):
            await made.resume("a")
        again = await made.run(problem, run="a")
        assert again.status is RunStatus.WAITING

    run_virtual(main())


@pytest.mark.parametrize("kept", [True, False])
def test_a_run_at_work_is_not_deleted(place, kept):
    world, problem = one(lambda: Wait(event="later"))
    made = Executor(world, place if kept else None, stay=True)

    async def main():
        run = made.start(problem, run="a")
        await anext(run.events())
        with pytest.raises(RunError, match="cancel it"):
            made.delete("a")
        assert made.delete_expired(Retention(over=0, unfinished=0)) == []
        run.cancel()
        assert (await run).status is RunStatus.CANCELLED

    run_virtual(main())


@pytest.mark.parametrize("kept", [True, False])
def test_an_executor_forgets_what_expires_by_itself(place, kept):
    world, problem = one(lambda: Wait(event="never"))
    made = Executor(world, place if kept else None, retention=Retention(over=0, unfinished=0))
    for _ in range(3):
        assert asyncio.run(made.run(problem)).status is RunStatus.WAITING
    assert not made._kept
    if kept:
        assert made.runs() == {}


def test_a_run_does_not_fail_where_what_expired_cannot_be_deleted(path, monkeypatch, caplog):
    def fails(*_):
        raise JournalError(path, "it is locked", "wait")

    monkeypatch.setattr("executor.executor.delete_expired", fails)
    world, problem = one()
    caplog.set_level("WARNING")
    outcome = asyncio.run(Executor(world, path, retention=Retention(over=0)).run(problem))
    assert outcome.succeeded
    assert "runs that have expired were not deleted" in caplog.text


@pytest.mark.parametrize(
    ("retention", "seconds"), [(Retention(), 3600), (Retention(100), 10), (Retention(10**6, 50), 5), (Retention(0), 0)]
)
def test_how_often_an_executor_looks_what_has_expired(retention, seconds):
    assert retention.pause == seconds


@pytest.mark.parametrize("value", [-1, "30d", float("nan"), True])
def test_a_retention_is_a_number_of_seconds(value):
    with pytest.raises(InputError, match="a number of seconds"):
        Retention(over=value)
    with pytest.raises(InputError, match="retention must be a Retention"):
        Executor(one()[0], retention=value)


def command(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_the_command_lists_runs(place):
    world, problem = one()
    plan = run_virtual(Executor(world, place).run(problem, run="a")).state.plan.id
    filled_line = command("list", place)
    assert filled_line.exit_code == 0
    assert filled_line.stdout.split()[:2] == ["a", "SUCCEEDED"]
    (listed,) = json.loads(command("list", place, "--json").stdout)
    assert (listed["run"], listed["status"], listed["plan"]) == ("a", "SUCCEEDED", plan)


def test_the_command_deletes_runs(place):
    done = command("delete", filled(place, "a", "b", "c"), "a", "c")
    assert (done.exit_code, done.stdout) == (0, "deleted a\ndeleted c\n")
    with open_journal(place) as journal:
        assert names(journal) == ["b"]


def test_the_command_says_which_runs_are_driven(place):
    with open_journal(filled(place, "a", "b")) as journal, journal.drive("a"):
        done = command("delete", place, "a", "b")
    assert done.exit_code == 10
    assert done.stdout.endswith("deleted b\n")


def test_the_command_deletes_what_is_older(place):
    filled(place, "a", age=AGE)
    filled(place, "b", status="WAITING", age=AGE)
    assert command("prune", place, "--over", "1h").stdout == ""
    assert command("prune", place, "--over", "10m").stdout == "deleted a\n"
    assert command("prune", place, "--unfinished", "10m").stdout == "deleted b\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("prune",), "nothing says which runs expire"),
        (("prune", "--over", "30"), "a number and a unit of time"),
        (("prune", "--over", "soon"), "a number and a unit of time"),
        (("delete", "x"), "there is no run 'x'"),
    ],
)
def test_the_command_refuses_what_means_nothing(path, arguments, said):
    filled(path, "a")
    found = command(arguments[0], path, *arguments[1:])
    assert said in str(found.exception)


def test_the_command_makes_no_journal(path):
    assert "there is no journal" in str(command("list", path).exception)
    assert not path.exists()
