"""Random problems with numbers as classical tasks, against searches over the declared states."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pytest
from numeric_problems import TooManyStates, Unbounded, find_least_cost, key_of, random_numeric_problem

from planner.errors import PlanError, UnsupportedError
from planner.grounding.ground_numeric import ground_numeric
from planner.limits import Limits
from planner.model import Problem
from planner.model.arithmetic import exact_value
from planner.plan import Plan
from planner.portfolio.workplace import Workplace
from planner.search import Ending, Run, Space
from planner.semantics.simulation import Simulation, price_steps
from planner.task.numbers_as_facts import NO_ACTION, NumberEnumeration
from planner.task.numeric_invariants import bound_variables
from planner.task.numeric_pricing import price_by_state
from planner.task.numeric_task import NumericTask
from planner.validation.validate import check_steps

BLOCK = 20
"""Random problems of one test."""


def ground(problem: Problem) -> tuple[NumericTask, list[int]] | None:
    """Return the numeric task and the weights of its variables in the costs of steps; None where costs may fall."""
    limits = Limits(None)
    try:
        source = ground_numeric(problem, limits)
        if source.task.unreachable_goal is not None:
            return None
        if source.is_priced:
            return source, []
        pricing = price_by_state(ground_numeric(problem, limits, with_metric=True))
    except UnsupportedError:
        return None
    return None if pricing is None or len(pricing.prices.end) else (pricing.source, [*pricing.prices.step])


def find_best_plan(problem: Problem, source: NumericTask, numbers: NumberEnumeration) -> Plan | None:
    """Return a cheapest plan by search of the classical task; None where there is none."""
    assert numbers.result is not None
    run, task = Run(), numbers.result.task
    endings = []

    def search() -> Iterator[None]:
        endings.append((yield from Workplace(task, Space(task), run, lambda: None, plain=True).search("astar", "hmax")))

    deque(search(), maxlen=0)
    assert endings == [Ending.EXHAUSTED]
    if run.plan is None:
        return None
    actions = [numbers.result.actions[action] for action in run.plan]
    return Plan(
        price_steps(problem, [source.task.actions[each].step for each in actions if each != NO_ACTION]), problem
    )


@pytest.mark.parametrize("block", range(24))
def test_plans_of_the_classical_task_are_the_cheapest_ones(block: int) -> None:
    compared = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        problem = random_numeric_problem(seed)
        grounded = ground(problem)
        if grounded is None:
            continue
        source, weights = grounded
        numbers = NumberEnumeration(source, weights)
        for _ in numbers.steps():
            pass
        assert (numbers.result is None) == bool(numbers.reason), seed
        if numbers.result is None:
            continue
        try:
            least = find_least_cost(problem, 800)
        except (TooManyStates, Unbounded, PlanError):  # PlanError: some step changes the metric by what is no decimal
            continue
        plan = find_best_plan(problem, source, numbers)
        assert (plan is None) == (least is None), seed
        if plan is not None:
            assert check_steps(problem, plan).valid, seed
            assert sum([step.cost for step in plan.steps]) == least, seed
        compared += 1
    assert compared >= 2


@pytest.mark.parametrize("block", range(12))
def test_no_reachable_value_is_outside_of_the_bounds(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        problem = random_numeric_problem(seed)
        grounded = ground(problem)
        if grounded is None:
            continue
        source = bound_variables(grounded[0], range(len(grounded[0].variables)))
        for values in find_values(problem, 300):
            for variable in source.variables:
                value = values.get(variable.fluent)
                if value is not None:
                    scaled = exact_value(value) * variable.scale
                    assert variable.low is None or variable.low <= scaled, seed
                    assert variable.high is None or scaled <= variable.high, seed


def find_values(problem: Problem, most: int) -> list[dict]:
    """Return the values in reachable states, of which at most so many are visited."""
    start = Simulation(problem)
    queue, seen = [start], {key_of(start)}
    for simulation in queue:
        if len(queue) > most:
            break
        for step in list(simulation.applicable()):
            after = simulation.copy()
            try:
                after.apply(step)
            except PlanError:
                continue
            if key_of(after) not in seen:
                seen.add(key_of(after))
                queue.append(after)
    return [dict(simulation.values) for simulation in queue]
