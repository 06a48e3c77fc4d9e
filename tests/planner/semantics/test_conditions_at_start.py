"""The condition of an effect of a declared step is about the state in which the step begins."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from planner import Domain, Limits, Problem, When, check_problem, solve, validate
from planner.compilations.sequential_steps import compile_sequential
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.plan import Step, StepTime
from planner.semantics.snap_actions import make_snap_problem
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning
from planner.validation.timed_replay import TimedReplay
from planner.validation.verdict import Verdict


def oven(when: When, goal: list[str], **fields: Any) -> Problem:
    """Return a problem in which `roast` lasts 3 s and has an effect under a condition."""
    domain = Domain("oven", types=["dish"])
    domain.function("meals")
    domain.predicate("raw", x="dish")
    domain.action("roast", duration=3, when=when, **{"provides": "roasted", **fields})
    domain.action("heat", duration=1, at_start={"provides": "hot"}, provides="not hot")
    domain.action("count", duration=1, requires="meals >= 1", provides="counted")
    domain.action("cool", duration=1, requires="not crisp", provides="cooled")
    return domain.problem(
        objects={"a": "dish", "b": "dish"}, initial=["meals = 0", "raw(a)", "fresh"], goal=goal, objective="makespan"
    )


def judge(problem: Problem, *steps: tuple[str, Any, Any]) -> Verdict:
    times = [StepTime(Decimal(str(start)), duration) for _, start, duration in steps]
    return TimedReplay(problem, [Step(name) for name, _, _ in steps], times).judge(None)


CRISP = When("hot", "crisp")


def test_what_held_at_the_start_counts_at_the_end() -> None:
    problem = oven(CRISP, ["crisp"])
    assert judge(problem, ("heat", 0, 1), ("roast", 0.5, 3)).valid
    assert not judge(problem, ("roast", 0, 3), ("heat", 2.5, 1)).valid
    plan = solve(problem, mode="first").expect_plan()
    assert validate(problem, plan).valid
    assert [each.action for each in plan.steps] == ["heat", "roast"]


def test_what_ends_under_a_condition_ends_at_the_start() -> None:
    problem = oven(When("hot", "not fresh"), ["not fresh"])
    assert judge(problem, ("heat", 0, 1), ("roast", 0.5, 3)).valid
    ended = make_snap_problem(problem).problem.domain.actions["roast starts"].when
    assert [str(each.provides[0]) for each in ended] == ["not fresh"]


def test_the_contrary_waits_where_the_condition_held() -> None:
    problem = oven(CRISP, ["roasted", "cooled"])
    cool = ("cool", 2, 1)
    assert judge(problem, ("roast", 0, 3), cool).valid
    verdict = judge(problem, ("heat", 0, 1), ("roast", 0.5, 3), cool)
    assert "that no other step brings crisp" in verdict.reason


def test_numbers_wait_where_the_condition_held() -> None:
    problem = oven(When("hot", modifies="meals += 1"), ["counted"])
    heated = [("heat", 0, 1), ("roast", 0.5, 3)]
    assert judge(problem, *heated, ("count", 4, 1)).valid
    assert not judge(problem, *heated, ("count", 3, 1)).valid


def test_effects_for_all_objects() -> None:
    problem = oven(When("raw(x)", ["done(x)", "not raw(x)"], variables={"x": "dish"}), ["done(a)", "not done(b)"])
    result = solve(problem)
    assert validate(problem, result.expect_plan()).valid
    assert result.expect_plan().makespan == 3


@pytest.mark.parametrize(
    ("when", "goal"),
    [(CRISP, ["crisp"]), (When("hot", modifies="meals += 1"), ["counted"]), (CRISP, ["roasted", "cooled", "crisp"])],
    ids=str,
)
def test_exports_keep_the_optimum(when: When, goal: list[str]) -> None:
    problem = oven(when, goal)
    least = solve(problem, time_limit=5).expect_plan().makespan
    files = export(problem)
    back = solve(parse_problem(files.problem, parse_domain(files.domain)), time_limit=5)
    assert back.expect_plan().makespan == least
    pytest.importorskip("unified_planning")
    converted = from_unified_planning(to_unified_planning(problem).problem).problem
    assert solve(converted, time_limit=5).expect_plan().makespan == least


def test_conditions_that_never_change_need_no_memory() -> None:
    problem = oven(When("salted", "crisp"), ["crisp"])
    snap = make_snap_problem(problem).problem
    assert not [name for name in snap.domain.predicates if "is due" in name]


def test_check_tells_conditions_that_may_change() -> None:
    problem = oven(CRISP, ["crisp"])
    (found,) = [each for each in check_problem(problem, Limits()) if each.rule == "condition-at-start"]
    assert "the state in which the step begins" in found.message
    late = oven(When("salted", "crisp"), ["hot"], at_end={"when": [CRISP]})
    assert not [each for each in check_problem(late, Limits()) if each.rule == "condition-at-start"]


def test_sequences_change_numbers_where_the_condition_holds() -> None:
    problem = oven(When("hot", modifies="meals += 1"), ["counted"])
    (counted,) = compile_sequential(problem).domain.actions["roast"].when
    assert str(counted.requires) == "hot"
    assert [str(each) for each in counted.numbers] == ["meals += 1"]
