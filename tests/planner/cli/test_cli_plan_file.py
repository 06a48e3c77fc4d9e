"""Plan files of `forethought solve`: plans are written as they are found, and nothing that was found is lost."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from planner import Plan, Problem, Progress, Result, Statistics, Status, Step, StoppedBy, load, validate
from planner.cli import Exit, main
from planner.cli.options import read_plan_file
from planner.cli.output import write_atomically

CORRIDOR = """
domain: corridor
types: {room: object}
actions:
  move:
    parameters: {origin: room, target: room}
    requires: ["at(origin)", "door(origin, target)"]
    provides: ["at(target)"]
    modifies: ["at(_)"]
---
problem: walk
objects: {a: room, b: room, c: room}
initial: ["at(a)", "door(a, b)", "door(b, a)", "door(b, c)"]
goal: ["at(c)"]
"""
DIRECT = (("a", "b"), ("b", "c"))
DETOUR = (("a", "b"), ("b", "a"), *DIRECT)
WANDERING = (*DETOUR[:2], *DETOUR)

Found = Callable[[Problem, Callable[[Progress], None]], Result]


def plan_of(problem: Problem, moves: tuple[tuple[str, str], ...]) -> Plan:
    return Plan(tuple(Step(problem.domain.actions["move"].name, move, 1) for move in moves), problem)


def progress_of(plan: Plan | None, bound: int = 1) -> Progress:
    return Progress(plan, bound, 0.1, Statistics())


@pytest.fixture
def solve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run `forethought solve` with these options and a search that does what it is told."""
    (tmp_path / "corridor.yaml").write_text(CORRIDOR, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(search: Found | None, *options: str) -> tuple[int, str, str]:
        def pretend(problem: Problem, *, on_progress: Callable[[Progress], None], **_: Any) -> Result:
            assert search is not None
            return search(problem, on_progress)

        if search is not None:
            monkeypatch.setattr(import_module("planner.solve"), "solve", pretend)
        with pytest.raises(SystemExit) as ended:
            main(["solve", "corridor.yaml", "--memory-limit", "none", *options])
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run


def moves_in(path: Path) -> int:
    """Return the number of steps of the valid plan in the file at `path`."""
    problem = load("corridor.yaml")
    plan = read_plan_file(path, problem)[0]
    assert validate(problem, plan).valid
    return len(plan)


def improve(*files: str) -> Found:
    """Return a search that finds three plans, checks that `files` hold them by then, and is interrupted."""

    def search(problem: Problem, report: Callable[[Progress], None]) -> Result:
        report(progress_of(None))
        for file, moves in zip(files, (WANDERING, DETOUR, DIRECT), strict=True):
            report(progress_of(plan_of(problem, moves)))
            report(progress_of(plan_of(problem, moves), bound=2))
            assert moves_in(Path(file)) == len(moves)
        raise KeyboardInterrupt

    return search


def test_each_better_plan_is_written_when_it_is_found(solve: Callable[..., Any], tmp_path: Path) -> None:
    code, out, _ = solve(improve("plan", "plan", "plan"), "--plan-file", "plan")
    assert code == Exit.INTERRUPTED
    assert (tmp_path / "plan").read_text(encoding="utf-8") == out
    assert {path.name for path in tmp_path.iterdir()} == {"corridor.yaml", "plan"}


def test_every_plan_gets_a_file_with_its_number(solve: Callable[..., Any], tmp_path: Path) -> None:
    solve(improve("plan.1", "plan.2", "plan.3"), "--plan-file", "plan", "--every-plan")
    assert {path.name for path in tmp_path.iterdir()} == {"corridor.yaml", "plan.1", "plan.2", "plan.3"}
    lengths = [moves_in(tmp_path / f"plan.{number}") for number in (1, 2, 3)]
    assert all(longer > shorter for longer, shorter in pairwise(lengths))


@pytest.mark.parametrize("options", [["--mode", "first"], ["--mode", "optimal"], ["--proved"]], ids=" ".join)
def test_a_plan_that_may_not_be_wanted_is_not_written_on_the_way(
    solve: Callable[..., Any], tmp_path: Path, options: list[str]
) -> None:
    def search(problem: Problem, report: Callable[[Progress], None]) -> Result:
        report(progress_of(plan_of(problem, DETOUR)))
        assert not (tmp_path / "plan").exists()
        return Result(Status.OPTIMAL, StoppedBy.EXHAUSTED, plan_of(problem, DIRECT), 2)

    assert solve(search, "--plan-file", "plan", *options)[0] == Exit.OK
    assert moves_in(tmp_path / "plan") == len(DIRECT)


def test_a_plan_without_proof_is_withheld_where_a_proof_is_demanded(solve: Callable[..., Any], tmp_path: Path) -> None:
    def search(problem: Problem, _: Callable[[Progress], None]) -> Result:
        return Result(Status.SOLVED, StoppedBy.TIME, plan_of(problem, DETOUR), 2)

    code, out, err = solve(search, "--plan-file", "plan", "--proved")
    assert (code, out) == (Exit.NO_VERDICT, "")
    assert "solved: cost 4, 4 steps; lower bound 2" in err
    assert not (tmp_path / "plan").exists()


def test_a_disk_that_is_full_for_a_while_loses_no_plan(
    solve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("planner.cli.solve")
    write = module.write_atomically
    full = [True]

    def write_if_there_is_room(path: Path, text: str) -> None:
        if full[0]:
            raise OSError(28, "No space left on device", str(path))
        write(path, text)

    def search(problem: Problem, report: Callable[[Progress], None]) -> Result:
        report(progress_of(plan_of(problem, DETOUR)))
        full[0] = False
        return Result(Status.SOLVED, StoppedBy.TIME, plan_of(problem, DETOUR), 2)

    monkeypatch.setattr(module, "write_atomically", write_if_there_is_room)
    assert solve(search, "--plan-file", "plan", "--every-plan")[0] == Exit.OK
    assert moves_in(tmp_path / "plan.1") == len(DETOUR)


def test_an_interrupt_while_a_plan_is_written_leaves_no_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "plan").write_text("the plan before", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "plan", "a better plan")
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["the plan before"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--every-plan"], "--every-plan is for plan files"),
        (["--mode", "first", "--proved"], "--proved goes without --mode first"),
        (["--candidates", "2", "--proved"], "--candidates goes without --proved"),
        (["--plan-file", "nowhere/plan", "--every-plan"], "nowhere/plan: No such file or directory"),
        (["--plan-file", "", "--every-plan"], ".: Is a directory"),
        (["--plan-file", "/", "--candidates", "2"], "/: Is a directory"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_options_that_make_no_sense_together_are_refused(
    solve: Callable[..., Any], options: list[str], message: str
) -> None:
    code, _, err = solve(None, *options)
    assert code == Exit.USAGE
    assert message in err
