"""Numbers change at the end of a declared step, and nobody reads them until then."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from planner import Domain, Limits, Problem, Status, check_problem, solve, validate
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.plan import Step, StepTime
from planner.semantics.snap_actions import make_snap_problem
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning
from planner.validation.timed_replay import TimedReplay
from planner.validation.verdict import Verdict


def stock(*, low: int | None = None, high: int | None = None, value: int = 10, **actions: dict[str, Any]) -> Problem:
    """Return a problem with a number `level`, and steps of these actions of 5 s."""
    domain = Domain("stock")
    domain.function("level", low=low, high=high)
    domain.function("weight")
    domain.action("pack", modifies="weight += 1", duration=1)
    for name, fields in actions.items():
        domain.action(name, duration=5, **{"provides": f"done-{name}", **fields})
    return domain.problem(
        initial=[f"level = {value}", "weight = 2"], goal=[f"done-{name}" for name in actions], objective="makespan"
    )


def judge(problem: Problem, *steps: tuple[str, Any, Any]) -> Verdict:
    times = [StepTime(start, duration) for _, start, duration in steps]
    return TimedReplay(problem, [Step(name) for name, _, _ in steps], times).judge(None)


ADD: dict[str, Any] = {"modifies": "level += 3"}
TAKE: dict[str, Any] = {"modifies": "level -= 3"}
SET: dict[str, Any] = {"modifies": "level := 3"}
READ: dict[str, Any] = {"requires": "level >= 1"}


@pytest.mark.parametrize("change", [ADD, TAKE, SET], ids=str)
@pytest.mark.parametrize(
    "reader",
    [
        READ,
        {"throughout": "level >= 1"},
        {"modifies": "weight += level"},
        {"modifies": "weight := 2 * level"},
        {"modifies": "level *= 2"},
        {"modifies": "level := 4"},
    ],
    ids=str,
)
def test_nobody_reads_a_number_that_a_step_will_change(change: dict[str, Any], reader: dict[str, Any]) -> None:
    problem = stock(change=change, reader=reader)
    verdict = judge(problem, ("change", 0, 5), ("reader", 1, 5))
    assert not verdict.valid
    assert "that no other step changes level" in verdict.reason, verdict.reason
    plan = solve(problem, mode="first").expect_plan()
    assert validate(problem, plan).valid
    assert plan.makespan > 5


@pytest.mark.parametrize(
    ("one", "two", "bounds", "overlap"),
    [
        (ADD, ADD, {}, True),
        (ADD, TAKE, {}, True),
        (ADD, TAKE, {"low": 0}, False),
        (ADD, TAKE, {"high": 20}, False),
        (ADD, ADD, {"high": 20}, True),
        (TAKE, TAKE, {"low": 0}, True),
        (SET, SET, {}, False),
        ({"modifies": "level += weight"}, ADD, {"high": 20}, False),
        ({"modifies": "level += weight"}, TAKE, {}, True),
    ],
    ids=str,
)
def test_steps_that_add_overlap(one: Any, two: Any, bounds: dict[str, int], overlap: bool) -> None:
    problem = stock(one=one, two=two, **bounds)  # type: ignore[arg-type]
    assert judge(problem, ("one", 0, 5), ("two", 1, 5)).valid is overlap
    result = solve(problem)
    assert validate(problem, result.expect_plan()).valid
    assert (result.expect_plan().makespan == 5) is overlap
    assert result.status is Status.OPTIMAL or not overlap


def test_a_number_changes_at_the_end_and_keeps_its_bounds_there() -> None:
    problem = stock(take=TAKE, low=0, value=4)
    assert judge(problem, ("take", 0, 5)).valid
    verdict = judge(problem, ("take", 0, 5), ("take", 1, 5))
    assert "ends at 6" in verdict.reason
    verdict = judge(stock(take=TAKE, read=READ, value=3), ("take", 0, 5), ("read", 6, 5))
    assert "level is 0" in verdict.reason


def test_amounts_are_those_of_the_start() -> None:
    problem = stock(add={"modifies": "level += weight"}, look={"requires": "level == 12"})
    assert judge(problem, ("add", 0, 5), ("pack", 1, 1), ("look", 6, 5)).valid
    assert not judge(problem, ("pack", 0, 1), ("add", Decimal("0.5"), 5), ("look", 6, 5)).valid


def test_steps_that_add_overlap_themselves() -> None:
    domain = Domain("bakery")
    domain.function("loaves")
    domain.action("bake", duration=20, modifies="loaves += 1", provides="warm", holds={"oven": 1})
    domain.action("sell", duration=1, requires=["loaves >= 2"], modifies="loaves -= 2", provides=["sold", "not warm"])
    problem = domain.problem(initial="loaves = 0", goal="sold", capacity={"oven": 2}, objective="makespan")
    result = solve(problem)
    assert result.expect_plan().makespan < 22
    assert validate(problem, result.expect_plan()).valid
    bakes = [("bake", 0, 20), ("bake", 2, 20)]
    assert not judge(problem, *bakes, ("sell", 21, 1)).valid
    assert judge(problem, *bakes, ("sell", 23, 1)).valid


@pytest.mark.parametrize("reader", [READ, {"modifies": "weight += level"}, {"modifies": "level += 1"}], ids=str)
def test_exports_keep_the_optimum(reader: dict[str, Any]) -> None:
    problem = stock(take=TAKE, reader=reader)
    least = solve(problem).expect_plan().makespan
    files = export(problem)
    back = solve(parse_problem(files.problem, parse_domain(files.domain)), mode="optimal")
    assert abs(back.expect_plan().makespan - least) <= Decimal("0.001")
    pytest.importorskip("unified_planning")
    converted = to_unified_planning(problem).problem
    assert abs(solve(from_unified_planning(converted).problem).expect_plan().makespan - least) <= Decimal("0.001")


def test_check_tells_what_changes_at_the_end_and_how_to_change_it_at_the_start() -> None:
    problem = stock(take=TAKE, read=READ)
    (found,) = [each for each in check_problem(problem, Limits()) if each.rule == "changed-at-end"]
    assert "level at its end" in found.message
    assert "at_start: {modifies: 'level -= 3'}" in str(found.hint)
    early = stock(take={"at_start": {"modifies": "level -= 3"}}, read=READ)
    assert not [each for each in check_problem(early, Limits()) if each.rule == "changed-at-end"]
    assert judge(early, ("take", 0, 5), ("read", 1, 5)).valid


def test_nothing_is_added_for_numbers_that_nobody_reads() -> None:
    snap = make_snap_problem(stock(one=ADD, two=ADD, high=20)).problem
    assert not [name for name in (*snap.domain.predicates, *snap.domain.functions) if " to " in name]
