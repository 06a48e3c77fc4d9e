"""A plan of a compiled problem maps back to a plan of the declared one; a compilation that keeps steps loses none."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from random_tasks import with_random_constraints, with_random_wishes

from benchmarks.random_problems import ALL, random_problem
from planner import Status, load, solve, validate
from planner.compilations.adl import compile_adl
from planner.compilations.object_creation import compile_object_creation
from planner.compilations.soft_goals import compile_wishes
from planner.compilations.trajectory_constraints import compile_constraints
from planner.options import ANY_PLAN
from planner.solve import answer

COMPILATIONS = {
    "adl": compile_adl,
    "constraints": lambda problem: compile_constraints(compile_adl(problem).problem),
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
            plan = compiled.map_back(found.plan)
            assert plan.problem is problem or name == "constraints"
            verdict = validate(problem, plan.steps)
            assert verdict.valid, (seed, verdict.reason)
    assert seen[Status.SOLVED] + seen[Status.OPTIMAL] > 5


def test_plans_with_placeholders_map_back():
    problem = load("helpdesk", "new-account")
    compiled = compile_object_creation(problem, 3)
    plan = compiled.map_back(solve(compiled.problem, time_limit=10).expect_plan())
    assert plan.problem is problem
    assert validate(problem, plan).valid
