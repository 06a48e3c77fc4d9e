"""A plan of a compiled problem maps back to a plan of the declared one; a compilation that keeps steps loses none."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from random_tasks import with_random_constraints, with_random_wishes

from benchmarks.random_problems import ALL, random_problem
from planner import Status, load, solve, validate
from planner.compilations import Compiled
from planner.compilations.object_creation import compile_object_creation
from planner.compilations.passes import compile_away
from planner.compilations.soft_goals import compile_wishes
from planner.model.constructs import CONSTRAINED, Construct
from planner.options import ANY_PLAN
from planner.solve import answer


def same_steps(problem, *removed):
    return Compiled(compile_away(problem, *removed), lambda plan: plan)


COMPILATIONS = {
    "adl": lambda problem: same_steps(problem, Construct.CHANGES),
    "constraints": lambda problem: same_steps(problem, Construct.CHANGES, *CONSTRAINED),
    "wishes": compile_wishes,
}


@pytest.mark.parametrize("name", COMPILATIONS)
@pytest.mark.parametrize("block", range(3))
def test_plans_of_compiled_problems_map_back(name, block):
    seen: Counter[Status] = Counter()
    for seed in range(40 * block, 40 * block + 40):
        rng = random.Random(seed)
        problem = with_random_constraints(random_problem(rng), rng, ALL, soft=0.0 if name == "constraints" else 0.5)
        problem = problem if name != "wishes" else with_random_wishes(problem, rng, ALL)
        compiled = COMPILATIONS[name](problem)
        found = answer(compiled.problem, ANY_PLAN)
        seen[found.status] += 1
        if found.plan is None:
            assert found.status is Status.UNSOLVABLE
            assert solve(problem, time_limit=10).plan is None, seed
        else:
            plan = compiled.lift(found.plan)
            assert plan.problem is problem or name != "wishes"
            verdict = validate(problem, plan.steps)
            assert verdict.valid, (seed, verdict.reason)
    assert seen[Status.SOLVED] + seen[Status.OPTIMAL] > 5


def test_plans_with_placeholders_map_back():
    problem = load("helpdesk", "new-account")
    compiled = compile_object_creation(problem, 3)
    plan = compiled.lift(solve(compiled.problem, time_limit=10).expect_plan())
    assert plan.problem is problem
    assert validate(problem, plan).valid
