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
    assert len(lines) == 7, "create, restore, two marks, delete, the end of a mark; unharmed"
    for each in lines:
        assert len(each["killed"]) <= 1
        assert each["again"] == 0
        assert each["due"] == [each["places"][1]]
        assert each["events"] == [[], [1]]
        assert each["answers"] == ["yes"]


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
