"""Until a declared step ends, no other step needs or makes the contrary of what it will bring."""

from __future__ import annotations

from typing import Any

import pytest

from planner import Domain, Problem, Status, load, solve, validate
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.plan import Step, StepTime
from planner.semantics.snap_actions import make_snap_problem
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning
from planner.validation.timed_replay import TimedReplay
from planner.validation.verdict import Verdict


def kitchen(other: dict[str, Any], *, goal: list[str] | None = None, **bake: Any) -> Problem:
    """Return a problem in which `bake` brings warm(x) after 5 s, beside the action `other` of 2 s."""
    domain = Domain("kitchen", types=["room", "oven"])
    domain.predicate("warm", x="room")
    more = {"provides": "warm(x)", **bake}
    domain.action("bake", {"x": "room", "o": "oven"}, duration=5, **more)
    domain.action("other", {"x": "room"}, **{"duration": 2, "provides": "shown(x)", **other})
    return domain.problem(
        objects={"hall": "room", "attic": "room", "o1": "oven", "o2": "oven"},
        goal=goal or ["warm(hall)", "shown(hall)"],
        objective="makespan",
    )


def judge(problem: Problem, *steps: tuple[str, Any, Any]) -> Verdict:
    """Return the verdict on a plan of steps, each with its start and its duration."""
    plan = [Step(text.partition("(")[0], tuple(text.partition("(")[2].strip(")").split(", "))) for text, _, _ in steps]
    times = [StepTime(start, duration) for _, start, duration in steps]
    return TimedReplay(problem, plan, times).judge(None)


NEEDS = {"requires": "not warm(x)"}
LASTS = {"throughout": "not warm(x)"}
MAKES = {"provides": ["shown(x)", "not warm(x)"]}
OPENS = {"modifies": "warm(_)"}


@pytest.mark.parametrize("other", [NEEDS, LASTS, MAKES, OPENS], ids=str)
def test_the_contrary_waits(other: dict[str, Any]) -> None:
    problem = kitchen(other)
    for start in (1, 4):
        verdict = judge(problem, ("bake(hall, o1)", 0, 5), ("other(hall)", start, 2))
        assert not verdict.valid
        assert "that no other step brings warm(" in verdict.reason, verdict.reason
        assert "began to bring warm(hall)" in verdict.reason
    free = judge(problem, ("bake(hall, o1)", 0, 5), ("other(attic)", 1, 2))
    assert free.valid is False
    assert ("goal" in free.reason) is (other is not OPENS)
    plan = solve(problem, mode="first").expect_plan()
    assert validate(problem, plan).valid
    assert plan.makespan >= 5


def test_a_step_that_runs_already_may_need_it_at_its_start() -> None:
    problem = kitchen(NEEDS)
    assert judge(problem, ("other(hall)", 0, 2), ("bake(hall, o1)", 1, 5)).valid
    assert not judge(kitchen(LASTS), ("other(hall)", 0, 2), ("bake(hall, o1)", 1, 5)).valid


def test_steps_that_bring_the_same_fact_overlap_and_each_keeps_the_contrary_away() -> None:
    problem = kitchen(NEEDS, goal=["warm(hall)"])
    assert judge(problem, ("bake(hall, o1)", 0, 5), ("bake(hall, o2)", 3, 5)).valid
    problem = kitchen(MAKES, goal=["warm(hall)"])
    verdict = judge(problem, ("bake(hall, o1)", 0, 5), ("bake(hall, o2)", 3, 5), ("other(hall)", 6, 1))
    assert not verdict.valid


def test_derived_facts_need_what_their_rules_need() -> None:
    domain = Domain("night", types=["room"])
    domain.predicate("warm", x="room")
    domain.derive("cold(x)", {"x": "room"}, "not warm(x)")
    domain.derive("bleak(x)", {"x": "room"}, "not mild(x)")
    domain.derive("mild(x)", {"x": "room"}, "(or (warm ?x) (sunny ?x))")
    domain.action("bake", {"x": "room"}, provides="warm(x)", duration=5)
    domain.action("freeze", {"x": "room"}, requires="cold(x)", provides="ice(x)", duration=2)
    domain.action("hang", {"x": "room"}, requires="bleak(x)", provides="hung(x)", duration=2)
    domain.action("stay", {"x": "room"}, throughout="not mild(x)", provides="stayed(x)", duration=2)
    for action, fact in (("freeze", "ice"), ("hang", "hung"), ("stay", "stayed")):
        problem = domain.problem(objects={"a": "room"}, goal=["warm(a)", f"{fact}(a)"], objective="makespan")
        assert not judge(problem, ("bake(a)", 0, 5), (f"{action}(a)", 1, 2)).valid
        assert judge(problem, (f"{action}(a)", 0, 2), ("bake(a)", 3, 5)).valid
        plan = solve(problem, mode="first").expect_plan()
        assert validate(problem, plan).valid


def edits() -> Domain:
    domain = Domain("office", types=["text"])
    domain.predicate("text", x="text")
    domain.predicate("summed", x="text", stale_with="text(x)")
    domain.action("edit", {"x": "text"}, requires="text(x)", modifies="text(x)", provides="edited(x)", duration=5)
    domain.action("sum_up", {"x": "text"}, requires="text(x)", provides="summed(x)", duration=2)
    domain.action("send", {"x": "text"}, requires="summed(x)", provides="sent(x)", duration=1)
    return domain


def test_what_goes_stale_ends_when_it_comes_and_nobody_needs_it_meanwhile() -> None:
    problem = edits().problem(
        objects={"t": "text"}, initial=["text(t)", "summed(t)"], goal=["edited(t)", "sent(t)", "summed(t)"],
        objective="makespan",
    )  # fmt: skip
    sent = ("send(t)", 2, 1)
    verdict = judge(problem, ("edit(t)", 0, 5), sent, ("sum_up(t)", 6, 2))
    assert "that no other step ends summed(t)" in verdict.reason
    assert judge(problem, ("send(t)", 0, 1), ("edit(t)", 2, 5), ("sum_up(t)", 8, 2)).valid
    plan = solve(problem).expect_plan()
    assert validate(problem, plan).valid
    assert [each.action for each in plan.steps][-1] == "sum_up"


PDDL = """(define (domain kitchen) (:requirements :durative-actions :negative-preconditions)
 (:predicates (warm) (shown) (end))
 (:durative-action bake :parameters () :duration (= ?duration 5) :condition () :effect (at end (warm)))
 (:durative-action show :parameters () :duration (= ?duration 2) :condition (at start (not (warm)))
  :effect (at end (shown))))"""
EVENING = """(define (problem evening) (:domain kitchen) (:init) (:goal (and (warm) (shown)))
 (:metric minimize (total-time)))"""


def test_pddl_keeps_its_own_rules() -> None:
    problem = parse_problem(EVENING, parse_domain(PDDL))
    assert not [name for name in make_snap_problem(problem).problem.domain.predicates if " to " in name]
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.expect_plan().makespan == 5
    again = load(export(problem).domain, export(problem).problem)
    assert isinstance(again, Problem)
    assert solve(again).expect_plan().makespan == 5


def test_nothing_is_added_where_nobody_needs_or_makes_the_contrary() -> None:
    for other in ({"requires": "warm(x)"}, {"modifies": "shown(x)"}):
        snap = make_snap_problem(kitchen(other)).problem
        assert not [name for name in snap.domain.predicates if " to " in name]
        assert len(snap.domain.axioms) == 0


@pytest.mark.parametrize("other", [NEEDS, MAKES], ids=str)
def test_exports_keep_the_optimum(other: dict[str, Any]) -> None:
    problem = kitchen({**other, "requires": [*([other["requires"]] if "requires" in other else []), "not shown(x)"]},
                      requires="not warm(x)")  # fmt: skip
    least = solve(problem).expect_plan().makespan
    files = export(problem)
    back = solve(parse_problem(files.problem, parse_domain(files.domain)))
    assert back.expect_plan().makespan == least
    pytest.importorskip("unified_planning")
    converted = to_unified_planning(problem).problem
    assert solve(from_unified_planning(converted).problem).expect_plan().makespan == least
