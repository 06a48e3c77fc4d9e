"""Validators that are not ours say of random plans, whole and spoiled, what the plan checker says.

unified-planning's covers all but axioms. Fast Downward covers axioms too: the plan is compiled into the task, so that
nothing else can be done in it.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from downward import binaries
from random_plans import random_plan, spoiled

from benchmarks.random_problems import Features
from benchmarks.validators.plan_checks import CHECKS
from planner.language.pddl.export import export
from planner.validation.validate import validate

TASKS = int(os.environ.get("ORACLE_TASKS", "40"))
BLOCK = 20


def check(name, seed, features, folder):
    """Compare our verdict on one plan with that of the validator `name`; return it, or "unsupported"."""
    rng = random.Random(seed)
    plan = random_plan(rng, features, longest=6)
    for _ in range(rng.choice([0, 2, 4])):
        plan = spoiled(plan, rng)
    written = export(plan.problem, "adl")
    words = {name: word for word, name in written._actions.items()}
    (folder / "domain.pddl").write_text(written.domain)
    (folder / "problem.pddl").write_text(written.problem)
    text = "".join(f"({' '.join((words[step.action], *step.arguments))})\n" for step in plan.steps)
    foreign = CHECKS[name](folder / "domain.pddl", folder / "problem.pddl", text)
    if foreign.said.startswith("unsupported"):
        return "unsupported"
    ours = validate(plan.problem, plan.steps)
    assert foreign.valid is ours.valid, (seed, foreign.said, ours.reason)
    assert foreign.valid or foreign.invalid, (seed, foreign.said)
    if ours.valid and foreign.cost is not None:
        assert foreign.cost == ours.cost * written.resolution, seed
    return ours.valid


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(TASKS // BLOCK // 2))
def test_unified_planning_agrees(block, tmp_path):
    features = Features(axioms=False)
    seeds = range(3000 + BLOCK * block, 3000 + BLOCK * (block + 1))
    said = Counter(check("unified-planning", seed, features, tmp_path) for seed in seeds)
    assert said[True]
    assert said[False]
    assert said["unsupported"] == 0


@pytest.mark.parametrize("block", range(max(1, TASKS // 400)))
def test_fast_downward_agrees(block, tmp_path):
    binaries()
    features = Features(universal_recursion=False)
    said = Counter(
        check("fast-downward", seed, features, tmp_path) for seed in range(4000 + 12 * block, 4012 + 12 * block)
    )
    assert said[True]
    assert said[False]
