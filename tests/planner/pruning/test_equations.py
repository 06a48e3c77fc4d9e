"""Counting how often actions are used: what it proves of tasks that are made without a plan, and how that is told."""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path
from random import Random

import pytest
from search_twins import finished

from benchmarks.unsolvable.unsolvable_tasks import WrittenTask, bridges, cover, lamps, packing, pegs, ring, tiles, tour
from planner import Problem, Status, StoppedBy, load, solve
from planner.grounding.ground import ground
from planner.jit import library
from planner.limits import Limits
from planner.portfolio import portfolio as strategy
from planner.portfolio.workplace import NO_NUMBERS, Workplace
from planner.pruning.h2 import Pruning
from planner.pruning.state_equation import Equation, disprove, find_weights, is_proof, write_equation
from planner.search import Ending, Run, Space

PLAIN = library.ENTRIES


def problem_of(written: WrittenTask, folder: Path) -> Problem:
    written.write(folder)
    found = load(folder / written.name / "domain.pddl", folder / written.name / "problem.pddl")
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize(
    ("written", "by"),
    [
        (packing(4), "weights"),
        (cover(4), "weights"),
        (tour(3, 3), "weights"),
        (bridges(4), "weights"),
        (pegs(4, 5, (0, 0)), "parity"),
        (lamps(4, (0, 0)), "parity"),
        (lamps(2, (0, 0)), ""),
        (tiles(2, 2), ""),
        (ring(5, 3), ""),
    ],
    ids=lambda each: getattr(each, "name", each),
)
def test_what_counting_proves(written: WrittenTask, by: str, tmp_path: Path) -> None:
    pruning = Pruning(ground(problem_of(written, tmp_path), Limits()))
    for _ in pruning.steps():
        pass
    assert pruning.result().solvable
    assert finished(disprove(pruning.values, pruning.pairs, None)) == by


def test_it_is_told_that_no_numbers_of_actions_are_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "PATIENCE", 0.0)
    result = solve(problem_of(packing(5), tmp_path), mode="optimal")
    assert (result.status, result.stopped_by) == (Status.UNSOLVABLE, StoppedBy.EXHAUSTED)
    assert (result.statistics.search, result.reason) == ("weights", NO_NUMBERS)


def test_it_is_told_which_search_was_exhausted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = chain([0.0, 0.0], repeat(1.0))  # so that it is looked for what no plan needs after one step
    monkeypatch.setattr(strategy, "work_seconds", lambda: next(clock))
    task, run = ground(problem_of(ring(7, 4), tmp_path), Limits()), Run()
    assert finished(strategy.prove(Workplace(task, Space(task), run, lambda: None))) is Ending.EXHAUSTED
    assert run.by in {("uniform", ""), ("astar", "lmcut")}


def test_weights_show_that_nothing_solves_an_equation() -> None:
    fuel = Equation(2, (((0, 1), (1, -1)),), ((0, 3), (1, -2)))
    assert finished(find_weights(fuel, PLAIN, 1.0)) is not None
    assert is_proof(fuel, [1, 1])
    assert not is_proof(fuel, [1, 0])
    assert not is_proof(fuel, [-1, -1])
    enough = Equation(2, fuel.columns, ((0, 3), (1, -3)))
    assert finished(find_weights(enough, PLAIN, 1.0)) is None


def test_looking_for_weights_ends_in_time() -> None:
    steps = find_weights(random_equation(Random(1)), PLAIN, 0.0, work=0)
    assert finished(steps) is None


def test_machine_code_finds_the_same_weights() -> None:
    entries = library.load()
    if entries is None:
        pytest.skip("there is no machine code")
    rng, found = Random(2), 0
    for _ in range(100):
        asked = random_equation(rng)
        plain = finished(find_weights(asked, PLAIN, 10.0))
        assert (finished(find_weights(asked, entries, 10.0)) is None) is (plain is None)
        found += plain is not None
    assert 10 < found < 90


def random_equation(rng: Random) -> Equation:
    """Return an equation of actions that make some values others."""
    rows = rng.randint(4, 12)
    columns = [
        {rng.randrange(rows): rng.choice([-2, -1, 1, 2]) for _ in range(rng.randint(1, 4))}
        for _ in range(rng.randint(4, 16))
    ]
    right = {rng.randrange(rows): rng.choice([-1, 1]) for _ in range(2)}
    return Equation(rows, tuple(tuple(sorted(each.items())) for each in columns), tuple(sorted(right.items())))


@pytest.mark.parametrize("most", [10, 50])
def test_large_tasks_are_left_alone(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.pruning.state_equation.MOST", most)
    pruning = Pruning(ground(problem_of(packing(5), tmp_path), Limits()))
    assert (pruning.values.size > most) is (most == 10)
    assert finished(write_equation(pruning.values, pruning.pairs.needed, lambda _: True)) is None
    assert finished(disprove(pruning.values, pruning.pairs, None)) == ""
