"""The slow and obvious twins of repair: every reachable state, every re-entry, every choice of what is kept."""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import count

from planner.model import Atom
from planner.plan import exact_sum
from planner.testing import TooManyStates
from planner.testing.brute import key_of, successors
from planner.validate import Simulation


def taken(steps):
    """Return the actions that `steps` take, whatever they cost."""
    return {(step.action, step.arguments) for step in steps}


def stands_after(problem, steps):
    """Return `problem` when `steps` have had their effects."""
    simulation = Simulation(problem)
    for step in steps:
        simulation.apply(step)
    ran = (*problem.ran, *(Atom(step.action, step.arguments) for step in steps))
    return replace(problem, initial=tuple(simulation.facts), ran=ran)


def distances(problem, forbidden, not_first, most):
    """Yield what it costs to reach each state, the state, and whether a step was taken to reach it."""
    ticket = count()
    queue = [(0, next(ticket), Simulation(problem), False)]
    closed = set()
    while queue:
        cost, _, state, begun = heapq.heappop(queue)
        key = (key_of(state), begun)
        if key in closed:
            continue
        if len(closed) > most:
            raise TooManyStates
        closed.add(key)
        yield cost, state, begun
        barred = forbidden if begun else forbidden | not_first
        for step, after in successors(state):
            if (step.action, step.arguments) not in barred:
                heapq.heappush(queue, (cost + step.cost, next(ticket), after, True))


def follows(state, steps):
    """Return whether `steps` lead from `state` to the goal."""
    state = state.copy()
    for step in steps:
        if state.objection(step) is not None:
            return False
        state.apply(step)
    return state.holds(state.problem.goal.hard)


def best_reentry(problem, remaining, weight, *, forbidden=(), not_first=(), most=300):
    """Return the least objective of any patch, and the fewest dropped steps at that; None where nothing leads there."""
    forbidden, not_first = taken(forbidden), taken(not_first)
    simulation, found = Simulation(problem), []
    for cost, state, begun in distances(problem, forbidden, not_first, most):
        for place in range(len(remaining) + 1):
            kept = remaining[place:]
            allowed = not taken(kept) & forbidden and (begun or not taken(kept[:1]) & not_first)
            if allowed and not any(simulation.rules.misfit(step) for step in kept) and follows(state, kept):
                costs = [simulation.cost(step) for step in kept]
                found.append((exact_sum([cost, *costs, weight * place]), place))
    return min(found, default=None)
