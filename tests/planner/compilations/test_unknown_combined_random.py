"""Plans on suppositions beside numbers, constraints and irreversible steps, against all states of all cases."""

from __future__ import annotations

import heapq
from itertools import count

import pytest
from effort import share
from unknown_combined import counts_costs, draw_problem, value_of

from benchmarks.random_problems import key_of, successors
from planner import Status, solve, validate
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import Simulation
from planner.testing import enumerate_worlds

KINDS = [{}, {"careful": True}, {"numbers": False, "constraints": True}, {"constraints": True}]


@pytest.mark.drawn
@pytest.mark.parametrize("part", share(range(26), 2))
def test_plans_beside_numbers_and_constraints_work_wherever_what_they_suppose_holds(part) -> None:
    supposing = 0
    for seed in range(3 * part, 3 * part + 3):
        for kind in KINDS:
            problem = draw_problem(seed, **kind)
            supposing += check(problem, solve(problem, time_limit=20), is_careful="careful" in kind)
    assert supposing


def check(problem, result, *, is_careful=False) -> bool:
    """Check all that `result` claims, and return whether its plan supposes anything."""
    cases = [(world, least_cost(world)) for _, world in enumerate_worlds(problem)]
    costs = [cost for _, cost in cases if cost is not None]
    if result.plan is None:
        assert result.status is (Status.UNKNOWN if costs else Status.UNSOLVABLE) or is_careful
        assert is_careful or not costs
        assert not (result.status is Status.UNSOLVABLE and costs)
        return False
    assert result.lower_bound is None or result.lower_bound <= min(costs)
    supposed = result.plan.suppositions
    fitting = [world for world, _ in cases if all((each.fact in world.initial) is each.holds for each in supposed)]
    assert fitting
    assert all(validate(world, result.plan).valid for world in fitting)
    assert all(each.steps or each.goal for each in supposed)
    assert result.status is Status.SOLVED or (not supposed and result.cost == min(costs))
    verdict = validate(problem, result.plan)
    assert (verdict.valid, verdict.suppositions) == (True, supposed)
    assert validate(problem, result.plan.steps).valid
    return bool(supposed)


def least_cost(problem):
    """Return the least charge of a plan, by all reachable states; None where there is no plan."""
    ticket, start = count(), Simulation(problem)
    queue = [(0, next(ticket), start, ConstraintMonitors(start))]
    seen, best, first = set(), None, value_of(problem, start)
    while queue:
        cost, _, state, watches = heapq.heappop(queue)
        key = key_of(state), watches.key
        if key in seen or watches.broken:
            continue
        seen.add(key)
        if state.holds(problem.goal.hard) and not any(watches.unmet):
            total = value_of(problem, state) - first + (cost if counts_costs(problem) else 0)
            best = total if best is None else min(best, total)
        for step, after in successors(state):
            looks = watches.copy()
            looks.look(state, step)
            looks.look(after)
            price = sum(problem.domain.actions[step.action].cost)
            heapq.heappush(queue, (cost + price, next(ticket), after, looks))
    return best
