"""Repairs of plans for tasks beside one other feature each: what is found works, and what works is kept."""

from __future__ import annotations

import random

import pytest
from pairs.features import FEATURES, TASKS, make_sense
from pairs.services import Case

from htn.repair.subtree_repair import repair
from planner import Status, Step, validate
from planner.plan import Plan

PAIRS = [(name, tasks) for name in FEATURES for tasks in TASKS if name not in TASKS and make_sense((name, tasks))]


def solve_case(names: tuple[str, str]) -> tuple[Case, Plan] | None:
    case = Case(names, 3)
    return None if case.result.plan is None else (case, case.plan)


def judge(case: Case, found: object) -> None:
    """Check that the steps of a repair are a plan of the tasks."""
    plan = Plan(found.steps, case.problem, times=found.plan.times, suppositions=found.plan.suppositions)
    verdict = validate(case.problem, plan)
    assert verdict.valid, verdict.reason


@pytest.mark.parametrize("seed", range(48))
def test_a_plan_that_works_is_kept(seed: int) -> None:
    asked = solve_case(random.Random(seed).choice(PAIRS))
    if asked is None or asked[0].classical.domain.actions.get("print"):
        return
    case, plan = asked
    found = repair(case.problem, plan, time_limit=3)
    assert found.status in (Status.OPTIMAL, Status.SOLVED), found.reason
    assert not found.anew
    assert found.kept == len(plan.steps)
    judge(case, found)


@pytest.mark.parametrize("seed", range(96))
def test_a_plan_is_repaired_without_one_of_its_steps(seed: int) -> None:
    rng = random.Random(seed)
    asked = solve_case(rng.choice(PAIRS))
    if asked is None:
        return
    case, plan = asked
    place = rng.randrange(len(plan.steps))
    step = plan.steps[place]
    found = repair(case.problem, plan, failed=[place], forbidden=[Step(step.action, step.arguments)], time_limit=3)
    assert found.status is not Status.UNSUPPORTED, found.reason
    if found.steps is None:
        return
    assert all((each.action, each.arguments) != (step.action, step.arguments) for each in found.steps)
    judge(case, found)


def test_most_pairs_have_a_repair() -> None:
    found = 0
    for name in ("soft_goals", "unknown", "windows", "deadline", "resource_budget", "durations"):
        case = Case((name, "tasks_partial"), 3)
        steps = [each for each in case.plan.steps if each.action in ("go", "ride")]
        bans = [Step(each.action, each.arguments) for each in steps[:1]]
        found += repair(case.problem, case.plan, forbidden=bans, time_limit=3).steps is not None
    assert found >= 5
