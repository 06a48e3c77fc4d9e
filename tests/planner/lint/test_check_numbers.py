"""Lint of numbers: typical mistakes and the findings, and random problems whose findings are true."""

from __future__ import annotations

from pathlib import Path

import pytest
from effort import PART, PARTS, examples
from numeric_problems import TooManyStates, explore, key_of, random_numeric_problem

from planner import read_documents
from planner.errors import PlanError
from planner.grounding.value_ranges import ValueRanges
from planner.limits import Limits
from planner.lint.problem_lint import check_problem
from planner.model import Problem
from planner.model.arithmetic import as_fraction
from planner.semantics.simulation import Simulation

TEXT = """
domain: rounds
types: [robot, crate]
predicates: {on: [crate, robot], tested: []}
functions:
  fuel: {parameters: [robot], low: 0, high: 100}
  load: {parameters: [robot], low: 0}
  worn: {parameters: [robot], low: 0}
  tests: []
actions:
  refuel:
    parameters: {robot: robot}
    modifies: ["fuel(robot) += 10"]
  work:
    parameters: {robot: robot}
    modifies: ["fuel(robot) -= 8", "worn(robot) += 1"]
  take:
    parameters: {crate: crate, robot: robot}
    requires: ["not on(crate, robot)"]
    provides: ["on(crate, robot)"]
    modifies: ["load(robot) += 5"]
  leave:
    parameters: {crate: crate, robot: robot}
    requires: ["on(crate, robot)"]
    provides: ["not on(crate, robot)"]
    modifies: ["on(crate, robot)", "load(robot) -= 5"]
  test:
    parameters: {robot: robot}
    requires: ["fuel(robot) >= 50", "load(robot) < 5"]
    provides: [tested]
---
problem: day
objects: {r2: robot, box: crate}
values: {"fuel(r2)": 40, "load(r2)": 0, "worn(r2)": 0, tests: 0}
goal: ["fuel(r2) >= 60"]
"""
RULES = (
    "one-way-number",
    "unreachable-number",
    "constant-comparison",
    "unused-function",
    "never-read",
    "broken-bounds",
)
GOLDEN = Path(__file__).parents[2] / "golden" / "number_lint.txt"


def cases() -> list[object]:
    """Return the part of the text that is replaced, by what, and the findings."""
    found: list[object] = []
    for block in GOLDEN.read_text(encoding="utf-8").split("\n\n")[1:]:
        title, old, new, *findings = block.strip().split("\n")
        old, new = (line[2:].replace("\\n", "\n") for line in (old, new))
        found.append(pytest.param(old, new, [line[2:] for line in findings], id=title.replace(" ", "-")))
    return found


def findings_of(text: str) -> list[str]:
    (problem,) = read_documents(text).problems
    return [str(each) for each in check_problem(problem, Limits(2)) if each.rule in RULES]


def test_the_text_itself_gives_one_finding() -> None:
    assert findings_of(TEXT) == ["warning: function tests: it is used nowhere in the domain [unused-function]"]


@pytest.mark.parametrize(("old", "new", "findings"), cases())
def test_mistakes_and_their_findings(old: str, new: str, findings: list[str]) -> None:
    assert TEXT.count(old) == 1
    unused = "warning: function tests: it is used nowhere in the domain [unused-function]"
    assert [each for each in findings_of(TEXT.replace(old, new)) if each != unused] == findings


def states_of(problem: Problem, most: int) -> list[Simulation]:
    queue, seen = [Simulation(problem)], set()
    for simulation in queue:
        for step in list(simulation.applicable()):
            after = simulation.copy()
            after.apply(step)
            if (key := key_of(after)) not in seen:
                seen.add(key)
                queue.append(after)
        if len(seen) > most:
            break
    return queue


def test_no_state_leaves_the_ranges_of_values() -> None:
    compared = 0
    for seed in range(PART, 60, PARTS):
        problem = random_numeric_problem(seed)
        ranges = ValueRanges(problem)
        start = {(term.predicate, term.args): as_fraction(number) for term, number in problem.values.items()}
        try:
            states = states_of(problem, 100)
        except PlanError:  # the metric changes by what is no decimal
            continue
        compared += len(states)
        for simulation in states:
            for fluent, value in simulation.values.items():
                key = fluent.predicate, fluent.args
                interval, step = ranges.get(key), ranges.step(key)
                assert interval is not None, seed
                assert interval.low <= value <= interval.high, (seed, str(fluent))
                if step is not None and key in start:
                    moved = value - start[key]
                    assert moved % step == 0 if step else not moved, (seed, str(fluent))
    assert compared


def test_goals_that_are_called_unreachable_have_no_plan() -> None:
    reported = 0
    for seed in range(2 * examples(60)):
        problem = random_numeric_problem(seed)
        try:
            findings = check_problem(problem, Limits(10))
            if any(each.rule == "unreachable-number" and each.place == "goal" for each in findings):
                assert explore(problem, 250).plan is None, seed
                reported += 1
        except (TooManyStates, PlanError):
            continue
    assert reported
