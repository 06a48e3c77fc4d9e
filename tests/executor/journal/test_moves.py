"""Runs move from one journal to another: wherever the move is killed, at most one journal has the run due."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from executor.errors import JournalError, MovingError
from executor.events.stored_runs import Retention, copy_run, delete_expired
from executor.journal import Journal, open_journal
from executor.ledger.records import Entry, Flight, Outcome
from planner.cli import main


def forethought(*words):
    """Run a command in this process; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return ended.value.code


PROGRAM = Path(__file__).parents[2] / "killed_copies.py"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", ["file to file", "file to database", "database to file"])
def test_a_move_that_is_killed_at_any_write_is_finished_by_the_same_copy(tmp_path, request, way):
    def place(kind, name):
        if kind == "file":
            return str(tmp_path / f"{name}-{{}}.db")
        return request.getfixturevalue("postgres").address(f"moves_{way.split()[0]}_{{}}")

    kinds = way.split(" to ")
    places = place(kinds[0], "source"), place(kinds[1], "target")
    made = subprocess.run([sys.executable, PROGRAM, *places], check=False, capture_output=True, text=True, timeout=170)
    lines = [json.loads(each) for each in made.stdout.splitlines()]
    assert made.returncode == 0, made.stderr
    assert [each["code"] for each in lines] == [-9] * (len(lines) - 1) + [0]
    assert len(lines) == 9, "create, a flight, an entry, restore, two marks, delete, the end of a mark; unharmed"
    for each in lines:
        assert len(each["killed"]) <= 1
        assert each["again"] == 0
        assert each["due"] == [each["places"][1]]
        assert each["events"] == [[], [1]]
        assert each["answers"] == ["yes"]
        assert each["ledger"] == [["lost"], 1]


@pytest.fixture
def broken(tmp_path, monkeypatch):
    """Return the two journals of a move that broke off before the run was deleted where it was."""
    source, target = tmp_path / "a.db", tmp_path / "b.db"

    def refuse(*_, **__):
        raise JournalError(source, "the disk is full", "make room")

    with Journal(source) as old, Journal(target) as new:
        old.create("r")
        with old.drive("r"):
            old.append("r", "RunStarted", '{"plan": {"id": "p"}}', status="ACTIVE", at=5.0)
        monkeypatch.setattr(old, "delete", refuse)
        with pytest.raises(JournalError, match="the disk is full"):
            copy_run(old, new, "r")
    return source, target


def test_nobody_drives_or_deletes_a_run_whose_move_broke_off(broken):
    for place, way in zip(broken, ("to", "from"), strict=True):
        with open_journal(place) as journal:
            finish = f"a move of run 'r' {way} .* broke off; finish it: forethought runs copy {broken[0]} {broken[1]} r"
            with pytest.raises(MovingError, match=finish), journal.drive("r"):
                pass
            with pytest.raises(MovingError, match=finish):
                journal.delete("r")
            assert journal.free(["ACTIVE"]) == []
            assert delete_expired(journal, Retention(unfinished=1)) == []


def test_commands_show_a_broken_move_and_finish_it(broken, capsys):
    assert forethought("runs", "list", broken[0]) == 0
    shown = capsys.readouterr().out
    assert f"a move of run 'r' to {broken[1]} broke off; finish it: forethought runs copy" in shown
    assert forethought("runs", "list", broken[1], "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["move"] == f"from {broken[0]}"
    assert forethought("runs", "copy", *broken) == 0
    assert capsys.readouterr().out == "moved r\n"
    assert forethought("runs", "list", broken[0]) == 0
    assert capsys.readouterr().out == ""


def test_a_run_whose_other_journal_is_lost_is_kept(broken, capsys):
    assert forethought("runs", "keep", broken[0], "r") == 0
    assert capsys.readouterr().out == "kept r\n"
    with open_journal(broken[0]) as journal:
        assert [each.run for each in journal.free(["ACTIVE"])] == ["r"]


def test_a_broken_move_goes_on_to_the_same_journal_only(broken, tmp_path):
    with Journal(broken[0]) as old, Journal(tmp_path / "c.db") as other:
        with pytest.raises(MovingError, match="broke off; finish it"):
            copy_run(old, other, "r")
        assert other.free(["ACTIVE"]) == []


def make_entry(run, at, outcome=Outcome.DONE):
    return Entry("pay", "pay()", outcome, run, "s1", f"key {at}", at)


@pytest.fixture
def journals(tmp_path):
    """Two journals; the first one has a run that is over, and another one that waits."""
    with Journal(tmp_path / "a.db") as old, Journal(tmp_path / "b.db") as new:
        for run, status in (("over", "SUCCEEDED"), ("waits", "WAITING")):
            old.create(run)
            with old.drive(run):
                old.append(run, "RunStarted", '{"plan": {}, "world": "shop"}', status="ACTIVE")
                old.append(run, "RunEnded", "{}", status=status)
        yield old, new


def test_the_entries_of_a_copied_run_are_copied_once_and_the_newer_ones_stay_the_latest(journals):
    old, new = journals
    copied, refused = make_entry("over", 5.0), make_entry("over", 6.0, Outcome.REFUSED)
    newer, other = make_entry("there", 7.0), make_entry("stays", 8.0)
    for each in (copied, refused, other):
        old.ledger.add(each)
    new.ledger.add(newer)
    for _ in range(2):
        assert copy_run(old, new, "over") == "copied"
    assert new.ledger.read("pay")[1] == new.ledger.entries() == [copied, refused, newer]
    assert len(old.ledger.entries()) == 3


def test_a_flight_moves_with_its_run_and_is_settled_where_the_run_is(journals):
    old, new = journals
    flight = Flight("pay", "pay()", "waits", "s1", "k", 5.0, doubt="reset")
    old.ledger.take(flight)
    assert copy_run(old, new, "waits") == "moved"
    assert new.ledger.flights() == [flight]
    assert [each.doubt for each in old.ledger.flights()] == [f"its run was moved to {new.place}"]
    new.ledger.end(flight, make_entry("waits", 9.0))
    assert copy_run(new, old, "waits") == "moved"
    assert old.ledger.read("pay") == (None, [make_entry("waits", 9.0)])


def test_a_flight_that_another_run_has_there_is_not_replaced(journals):
    old, new = journals
    old.ledger.take(Flight("pay", "pay()", "waits", "s1", "k", 5.0, doubt="reset"))
    other = Flight("pay", "pay()", "there", "s1", "k", 6.0, doubt="reset")
    new.ledger.take(other)
    with pytest.raises(JournalError, match=r"pay\(\) of run 'waits' is .* in doubt, and so it is in run 'there' there"):
        copy_run(old, new, "waits")
    assert new.ledger.flights() == [other]
    new.ledger.end(other, None)
    assert copy_run(old, new, "waits") == "moved"


def test_a_run_from_before_the_ledger_goes_only_where_its_effects_are_read(tmp_path):
    with Journal(tmp_path / "a.db") as old, Journal(tmp_path / "b.db") as new:
        old.create("r")
        with old.drive("r"):
            old.append("r", "RunStarted", '{"plan": {}, "domain": "shop"}', status="SUCCEEDED")
        new.ledger.fill(["shop"], [], [])
        with pytest.raises(JournalError, match="run 'r' is from before the ledger of effects"):
            copy_run(old, new, "r")
        old.ledger.fill(["shop"], [], [make_entry("r", 5.0)])
        assert copy_run(old, new, "r") == "copied"
        assert new.ledger.entries() == [make_entry("r", 5.0)]


def test_a_journal_is_not_copied_to_itself(tmp_path, monkeypatch, capsys):
    place = tmp_path / "runs.db"
    with open_journal(place) as journal:
        journal.create("r")
    (tmp_path / "link.db").symlink_to(place)
    monkeypatch.chdir(tmp_path)
    for target in ("runs.db", "./runs.db", place, "link.db"):
        assert forethought("runs", "copy", "runs.db", target) != 0
        assert f"{place} is the source and the target; name another journal to copy to" in capsys.readouterr().err
