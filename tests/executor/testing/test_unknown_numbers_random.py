"""Carry out random tasks with unknown numbers in simulated worlds, where steps and observers tell them."""

from __future__ import annotations

import pytest
from unread_tasks import know, make_task

from executor import Executor, RunStatus
from executor.testing import Observe, SimulatedWorld, run_virtual
from planner import solve
from planner.errors import NoPlan
from planner.model.unknown_numbers import find_unread

OBSERVED = {"none": Observe(("open", "done0", "done1", "extra0", "extra1", "total")), "all": Observe()}


@pytest.mark.parametrize("observed", OBSERVED)
@pytest.mark.parametrize("seed", range(40))
def test_goal_is_reached_where_it_can_be(seed: int, observed: str) -> None:
    task = make_task(seed)
    simulated = SimulatedWorld(task, seed=seed, observe=OBSERVED[observed])
    drawn = simulated.truth.declared.values
    can_be = solve(know(task, {term: drawn[term] for term in find_unread(task)}))
    try:
        outcome = run_virtual(Executor(simulated.world).run(task))
    except NoPlan:
        assert not can_be.has_plan
        return
    done = {RunStatus.SUCCEEDED} if observed == "all" else {RunStatus.SUCCEEDED, RunStatus.UNVERIFIED}
    assert (outcome.status in done) is can_be.has_plan, outcome.reason
    assert simulated.truth.holds(task.goal.hard) is can_be.has_plan
    assert not simulated.refusals
