"""Actions of a file that the model has in several versions: all that people see and write has the file's names."""

from __future__ import annotations

import asyncio
import json

import pytest

from executor import Executor, RunStatus, World
from executor.agent.foreign_plans.repair_plan import RepairStatus, repair_plan
from planner.errors import InputError
from planner.explain.plan_explanation import explain_plan
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.plan_files import read_plan, write_plan
from planner.model import Problem
from planner.plan_json import read_json_plan
from planner.solve import solve
from planner.validation.validate import validate

pytestmark = pytest.mark.filterwarnings("ignore::planner.language.pddl.syntax.FileWarning")

BY_PREFERENCE = """(define (domain rooms) (:types room)
 (:predicates (at ?x - room) (lit ?x - room) (door ?x ?y - room))
 (:action go :parameters (?x ?y - room)
  :precondition (and (at ?x) (door ?x ?y) (preference bright (lit ?y)))
  :effect (and (not (at ?x)) (at ?y)))
 (:action light :parameters (?x - room) :precondition (at ?x) :effect (lit ?x)))"""
BY_CHANCE = """(define (domain rooms) (:types room)
 (:predicates (at ?x - room) (lit ?x - room) (door ?x ?y - room) (lost))
 (:action go :parameters (?x ?y - room) :precondition (and (at ?x) (door ?x ?y))
  :effect (and (not (at ?x)) (at ?y) (probabilistic 0.4 (when (not (lit ?y)) (lost)))))
 (:action light :parameters (?x - room) :precondition (at ?x) :effect (lit ?x)))"""
ROOMS = """(define (problem one) (:domain rooms) (:objects a b c - room)
 (:init (at a) (lit b) (door a b) (door b c)) (:goal (at c)) {metric})"""
METRIC = "(:metric minimize (* 3 (is-violated bright)))"
PLAN = "(go a b)\n(go b c)\n"


def by_preference() -> Problem:
    return parse_problem(ROOMS.format(metric=METRIC), parse_domain(BY_PREFERENCE))


def by_chance() -> Problem:
    return parse_problem(ROOMS.format(metric=""), parse_domain(BY_CHANCE))


@pytest.fixture(params=[by_preference, by_chance], ids=["preference", "chance"])
def problem(request: pytest.FixtureRequest) -> Problem:
    found = request.param()
    assert isinstance(found, Problem)
    return found


def test_plans_in_text_and_json_name_the_action_of_the_file(problem: Problem) -> None:
    plan = solve(problem).expect_plan()
    assert len({step.action for step in plan.steps}) == 2
    assert {step["action"] for step in plan.to_dict()["steps"]} == {"go"}
    assert str(plan) == "1. go(a, b)\n2. go(b, c)"
    data = json.dumps(plan.to_dict())
    assert read_plan(PLAN, problem) == read_json_plan(data, problem, "plan.json")[0] == plan
    assert write_plan(plan).startswith(PLAN)
    internal = json.dumps([{"action": step.action, "arguments": step.arguments} for step in plan.steps])
    assert validate(problem, read_json_plan(internal, problem, "plan.json")[0].steps).valid


def test_costs_that_a_file_claims_stay_as_claimed() -> None:
    claim = json.dumps([{"action": "go", "arguments": ["a", "b"], "cost": 7}])
    assert read_json_plan(claim, by_preference(), "plan.json")[1] == 7


def test_explanations_and_objections_name_the_action_of_the_file(problem: Problem) -> None:
    plan = solve(problem).expect_plan()
    explanation = explain_plan(problem, plan)
    assert explanation.describe().splitlines() == [
        "1. go(a, b)",
        "   provides at(b), needed by 2. go(b, c) → the goal at(c)",
        "2. go(b, c)",
        "   provides at(c), needed by the goal",
    ]
    verdict = validate(problem, read_plan(PLAN + "(go b c)", problem))
    assert (verdict.failing_step, verdict.reason) == (
        3,
        "step 3 go(b, c): requires at(b), which was retracted by step 2 go(b, c)",
    )


def test_what_validates_needs_no_repair(problem: Problem) -> None:
    assert validate(problem, read_plan(PLAN, problem)).valid
    found = repair_plan(problem, PLAN)
    assert found.status is RepairStatus.VALID
    assert found.plan == read_plan(PLAN, problem)


def test_a_repair_keeps_the_steps_that_only_change_their_version(problem: Problem) -> None:
    found = repair_plan(problem, "(light a)\n(go b c)\n")
    assert (found.status, found.origins) == (RepairStatus.REPAIRED, (0, None, 1))
    assert found.plan is not None
    assert write_plan(found.plan).startswith("(light a)\n(go a b)\n(go b c)\n")
    assert validate(problem, found.plan).valid


def test_a_world_needs_the_versions_that_the_problem_makes() -> None:
    """Else a run could not be taken up again from a journal."""
    problem = by_preference()
    calls: list[tuple[str, str]] = []

    def world(domain: object) -> World:
        found = World(domain)

        @found.handler("go")
        async def go(x: str, y: str) -> None:
            calls.append((x, y))

        return found

    alone = Executor(world(parse_domain(BY_PREFERENCE)))
    for what in (problem, solve(problem).expect_plan()):
        with pytest.raises(
            InputError, match=r"preferences of 'go' that the problem counts; .* World\(problem\.domain\)"
        ):
            asyncio.run(alone.run(what))
    outcome = asyncio.run(Executor(world(problem.domain)).run(problem))
    assert outcome.status is RunStatus.UNVERIFIED
    assert calls == [("a", "b"), ("b", "c")]
