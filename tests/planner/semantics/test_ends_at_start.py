"""What a declared step ends, it ends at its start: one bed is not booked twice at once, in time as without it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from planner import Domain, Limits, Status, check_problem, load, solve, validate
from planner.language.documents import write_yaml
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.lint.findings import Level
from planner.model import Problem
from planner.plan import Plan, Step, StepTime
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning

ADMIT_BOTH = [Step("admit", ("kim", "b1")), Step("admit", ("lee", "b1"))]


def beds(number: int = 1, *, discharge: bool = False, objective: str | None = "makespan", **admit: object) -> Problem:
    """Return a problem with two patients and so many beds; `admit` has other fields of the action."""
    domain = Domain("beds", types=["patient", "bed"])
    provides = ["in(x, b)", "lodged(x)", *([] if admit else ["not free(b)"])]
    domain.action(
        "admit", {"x": "patient", "b": "bed"}, requires="free(b)", provides=provides, duration=300, **admit
    )  # fmt: skip
    if discharge:
        domain.action(
            "discharge", {"x": "patient", "b": "bed"}, requires="in(x, b)",
            provides=["free(b)", "well(x)", "not in(x, b)"], duration=100,
        )  # fmt: skip
    names = [f"b{place}" for place in range(1, number + 1)]
    people = dict.fromkeys(["kim", "lee"], "patient")
    goal = [f"{'well' if discharge else 'lodged'}({each})" for each in people]
    more = {} if objective is None else {"objective": objective}
    return domain.problem(
        objects={**people, **dict.fromkeys(names, "bed")},
        initial=[f"free({each})" for each in names],
        goal=goal,
        **more,
    )


def test_one_bed_is_not_booked_twice() -> None:
    assert solve(beds()).status is Status.UNSOLVABLE
    assert solve(beds(objective=None)).status is Status.UNSOLVABLE


def test_two_beds_are_taken_at_once() -> None:
    result = solve(beds(2))
    assert result.status is Status.OPTIMAL
    plan = result.expect_plan()
    assert plan.makespan == 300
    assert validate(beds(2), plan).valid


def test_the_steps_of_a_plan_in_time_are_a_plan_without_time() -> None:
    problem = beds(discharge=True)
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    plan = result.expect_plan()
    assert validate(problem, plan).valid
    assert validate(beds(discharge=True, objective=None), plan.steps).valid
    taken = [time for step, time in zip(plan.steps, plan.times, strict=True) if step.action == "admit"]
    assert all(later.start >= earlier.start + 400 for earlier, later in pairwise(taken))


@pytest.mark.parametrize("second", [0, 150])
def test_validation_names_the_step_that_has_taken_the_bed(second: int) -> None:
    plan = Plan(tuple(ADMIT_BOTH), beds(), times=(StepTime(0, 300), StepTime(second, 300)))
    verdict = validate(beds(), plan)
    assert not verdict.valid
    assert verdict.failing_step == 2
    assert "requires free(b1), which was retracted by step 1 admit(kim, b1)" in verdict.reason


def test_an_end_at_the_end_has_to_be_said() -> None:
    problem = beds(at_end={"provides": "not free(b)"})
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    plan = result.expect_plan()
    assert plan.makespan == 300
    assert [time.start for time in plan.times] == [0, 0]
    assert validate(problem, plan).valid


def test_a_fact_of_its_own_start_ends_at_its_end() -> None:
    domain = Domain("watch")
    domain.action("watch", duration=60, at_start={"provides": "awake"}, provides="not awake")
    domain.action("call", throughout="awake", provides="called", duration=50)
    problem = domain.problem(goal=["called", "not awake"], objective="makespan")
    plan = solve(problem).expect_plan()
    assert validate(problem, plan).valid
    assert {each.action for each in plan.steps} == {"watch", "call"}


PDDL = """(define (domain beds) (:requirements :typing :durative-actions) (:types patient bed)
 (:predicates (free ?b - bed) (in ?x - patient ?b - bed))
 (:durative-action admit :parameters (?x - patient ?b - bed) :duration (= ?duration 300)
  :condition (at start (free ?b)) :effect (and (at end (in ?x ?b)) (at MOMENT (not (free ?b))))))"""
NIGHT = """(define (problem night) (:domain beds) (:objects kim lee - patient b1 - bed) (:init (free b1))
 (:goal (and (in kim b1) (in lee b1))) (:metric minimize (total-time)))"""


@pytest.mark.parametrize(("moment", "status"), [("start", Status.UNSOLVABLE), ("end", Status.OPTIMAL)])
def test_pddl_keeps_its_own_meaning(moment: str, status: Status, tmp_path: Path) -> None:
    problem = parse_problem(NIGHT, parse_domain(PDDL.replace("MOMENT", moment)))
    result = solve(problem)
    assert result.status is status
    files = export(problem)
    assert f"(at {moment} (not (free" in files.domain
    assert solve(parse_problem(files.problem, parse_domain(files.domain))).status is status
    path = tmp_path / "beds.yaml"
    path.write_text(write_yaml(problem))
    again = load(path)
    assert isinstance(again, Problem)
    assert solve(again).status is status
    if result.plan is not None:
        assert validate(problem, result.plan).valid
        assert validate(again, replace(result.plan, problem=again)).valid


def test_exports_end_it_at_the_start() -> None:
    files = export(beds(2))
    assert "(at start (not (free ?b)))" in files.domain
    back = solve(parse_problem(files.problem, parse_domain(files.domain)))
    assert back.status is Status.OPTIMAL
    assert back.expect_plan().makespan == solve(beds(2)).expect_plan().makespan
    one = export(beds())
    assert solve(parse_problem(one.problem, parse_domain(one.domain))).status is Status.UNSOLVABLE


@pytest.mark.parametrize(("number", "status"), [(1, Status.UNSOLVABLE), (2, Status.OPTIMAL)])
def test_unified_planning_gets_the_same_moments(number: int, status: Status) -> None:
    pytest.importorskip("unified_planning")
    converted = to_unified_planning(beds(number)).problem
    assert solve(from_unified_planning(converted).problem).status is status


def test_check_names_what_others_read_meanwhile() -> None:
    domain = Domain("wash", types=["thing"])
    washed = ["clean(x)", "not dirty(x)"]
    domain.action("wash", {"x": "thing"}, requires="dirty(x)", provides=washed, duration=300)
    domain.action("photograph", {"x": "thing"}, requires="dirty(x)", provides="shown(x)", duration=10)
    stated = {"objects": {"a": "thing"}, "initial": "dirty(a)", "goal": ["clean(a)", "shown(a)"]}
    timed = check_problem(domain.problem(**stated, objective="makespan"), Limits())
    (found,) = [each for each in timed if each.rule == "ended-at-start"]
    assert found.level is Level.HINT
    assert "it ends dirty(x) at its start" in found.message
    assert "action photograph" in found.message
    assert not [each for each in check_problem(domain.problem(**stated), Limits()) if each.rule == "ended-at-start"]


def test_check_knows_that_a_step_cannot_need_throughout_what_it_ends() -> None:
    domain = Domain("wash", types=["thing"])
    domain.action("wash", {"x": "thing"}, throughout="wet(x)", provides=["clean(x)", "not wet(x)"], duration=300)
    stated = {"objects": {"a": "thing"}, "initial": "wet(a)", "goal": ["clean(a)"]}
    problem = domain.problem(**stated, objective="makespan")
    assert solve(problem).status is Status.UNSOLVABLE
    (found,) = [each for each in check_problem(problem, Limits()) if each.rule == "contradicting-requires"]
    assert found.level is Level.ERROR
    assert "ends that at its own start" in found.message
