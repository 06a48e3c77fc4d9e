"""Policies for problems of several constructs at once, against an enumeration of their own states (`policy_pairs`)."""

from __future__ import annotations

import random

import pytest
from policy_pairs import Twin, as_problem, draw

from planner import Objective, Status, decide, evaluate, executions
from planner.policies.policy import Policy

BLOCK = 20
"""Problems of one test."""


def compare(seed: int, wanted: int) -> str:
    """Decide on a random problem, compare with its optimum, and return the status; "" for too many states."""
    rng = random.Random(seed)
    tiny = draw(rng, wanted)
    twin = Twin(tiny)
    if twin.options is None:
        return ""
    by_utility = bool(tiny.wishes or tiny.soft)
    success, worth, cost = twin.optimum(by_utility=by_utility)
    problem = as_problem(tiny)
    objective = Objective.UTILITY if by_utility else Objective.SUCCESS
    search = rng.choice([None, "lao", "vi", "mcts"])
    found = decide(problem, objective=objective, search=search, time_limit=20)
    name = f"{seed} {sorted(tiny.features)} {search}: {found.describe()}; optimum {success, worth, cost}"
    assert found.status is not Status.UNSUPPORTED, name
    if found.policy is None:
        is_unsure = found.status is Status.UNKNOWN and "one step after another" in found.reason
        assert success == 0 or is_unsure, name
        return found.status.name
    policy = found.policy
    assert found.success_bound >= success - 1e-6, name
    if found.status is Status.OPTIMAL:
        assert policy.success == pytest.approx(success, abs=1e-6), name
        assert not by_utility or policy.utility == pytest.approx(worth, abs=1e-5), name
        assert policy.cost == pytest.approx(cost, abs=1e-4), name
        assert found.validated, name
    else:
        assert policy.success <= success + 1e-6, name
    again = Policy.from_dict(policy.to_dict(), problem)
    assert evaluate(problem, again).success == pytest.approx(policy.success, abs=1e-6), name
    runs = [*executions(problem, policy, 3, seed)]
    assert policy.success < 1 or all(each.success for each in runs), name
    assert policy.success > 0 or not any(each.success for each in runs), name
    return found.status.name


@pytest.mark.parametrize("block", range(48))
def test_policies_are_as_good_as_the_enumeration(block: int) -> None:
    compared = [compare(seed, 2 + block % 3) for seed in range(block * BLOCK, (block + 1) * BLOCK)]
    proved = [each for each in compared if each in ("OPTIMAL", "UNSOLVABLE", "UNKNOWN")]
    assert len(proved) >= BLOCK // 4
    assert "OPTIMAL" in compared


@pytest.mark.slow
def test_many_policies_are_as_good_as_the_enumeration() -> None:
    compared = [compare(seed, 2 + seed % 3) for seed in range(100_000, 100_500)]
    assert len([each for each in compared if each]) >= 200
