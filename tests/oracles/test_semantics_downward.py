"""Random declared problems: our optimum is Fast Downward's, and that of brute force over the declarations.

Fast Downward gets the exported PDDL, so the test also says that `modifies`, `stale_with` and `after` mean there what
they mean here. ORACLE_TASKS=1000 makes it more than the 40 problems that every run has.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace

import pytest
from brute_force import TooManyStates, brute_force
from downward import optimal_plans

from benchmarks.random_problems import Features, random_problem
from planner.language.pddl.export import export
from planner.plan import Status
from planner.solve import solve
from planner.validation.validate import validate

BLOCK = 20
TASKS = int(os.environ.get("ORACLE_TASKS", "40"))
FEATURES = Features(universal_recursion=False)


def small_problems(block):
    """Yield the problems of a block that have few states, with their seed and the cost of a cheapest plan."""
    for seed in range(1000 + BLOCK * block, 1000 + BLOCK * (block + 1)):
        problem = random_problem(seed, replace(FEATURES, decimals=seed % 4 == 0))
        with contextlib.suppress(TooManyStates):
            yield seed, problem, brute_force(problem, max_states=200)


@pytest.mark.parametrize("block", range(TASKS // BLOCK))
def test_optima_agree(block, tmp_path):
    tasks = list(small_problems(block))
    assert len(tasks) >= BLOCK // 2
    exports = [export(problem, "adl" if seed % 3 == 0 else None) for seed, problem, _ in tasks]
    foreign = optimal_plans(tmp_path, [(each.domain, each.problem) for each in exports])
    for (seed, problem, optimum), written, text in zip(tasks, exports, foreign, strict=True):
        ours = solve(problem, mode="optimal", time_limit=20)
        assert ours.status is (Status.UNSOLVABLE if optimum is None else Status.OPTIMAL), seed
        assert ours.cost == optimum, seed
        assert (text is None) is (optimum is None), seed
        if optimum is not None:
            assert validate(problem, ours.expect_plan()).valid, seed
            plan = written.read_plan(text)
            verdict = validate(problem, plan)
            assert verdict.valid, (seed, verdict.reason)
            assert plan.cost == optimum, seed
