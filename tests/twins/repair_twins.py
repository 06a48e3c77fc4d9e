"""The slow and obvious twins of repair: every reachable state, every re-entry, every choice of what is kept."""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import count

from brute_force import TooManyStates

from benchmarks.random_problems import key_of, successors
from planner.model import OPEN, Atom
from planner.plan import exact_sum
from planner.semantics.simulation import Simulation


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


def distances(problem, forbidden, not_first, most, bars=lambda _state, _step: False):
    """Yield what it costs to reach each state, the state, and whether a step was taken to reach it.

    Steps that `bars(state, step)` are not taken.
    """
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
            if (step.action, step.arguments) not in barred and not bars(state, step):
                heapq.heappush(queue, (cost + step.cost, next(ticket), after, True))


def follows(state, steps):
    """Return whether `steps` lead from `state` to the goal."""
    state = state.copy()
    for step in steps:
        if state.find_objection(step) is not None:
            return False
        state.apply(step)
    return state.holds(state.problem.goal.hard)


def reentries(problem, remaining, *, forbidden=(), not_first=(), most=300):
    """Return the costs of the steps of every patch that begins with a cheapest way to a state, and what it drops."""
    forbidden, not_first = taken(forbidden), taken(not_first)
    simulation, found = Simulation(problem), []
    for cost, state, begun in distances(problem, forbidden, not_first, most):
        for place in range(len(remaining) + 1):
            kept = remaining[place:]
            allowed = not taken(kept) & forbidden and (begun or not taken(kept[:1]) & not_first)
            if allowed and not any(simulation.rules.misfit(step) for step in kept) and follows(state, kept):
                costs = [simulation.cost(step) for step in kept]
                found.append(([cost, *costs], place))
    return found


def best(found, weight):
    """Return the least objective of any patch, and the fewest dropped steps at that; None where nothing leads there."""
    return min([(exact_sum([*costs, weight * dropped]), dropped) for costs, dropped in found], default=None)


def best_mending(problem, steps, most=300, *, pays_kept=False):
    """Return the fewest steps that must be left out, and the least cost of what is then inserted; None for no plan.

    With `pays_kept`, it is the least cost of all steps.
    """
    ticket, known = count(), Simulation(problem)
    queue = [(0, 0, next(ticket), known, 0)]
    closed = set()
    while queue:
        left, cost, _, state, place = heapq.heappop(queue)
        if (key_of(state), place) in closed:
            continue
        if len(closed) > most:
            raise TooManyStates
        closed.add((key_of(state), place))
        if place == len(steps) and state.holds(problem.goal.hard):
            return left, cost
        for step, after in successors(state):
            heapq.heappush(queue, (left, cost + step.cost, next(ticket), after, place))
        if place < len(steps):
            heapq.heappush(queue, (left + 1, cost, next(ticket), state, place + 1))
            if state.find_objection(steps[place]) is None:
                after, price = state.copy(), state.cost(steps[place]) if pays_kept else 0
                after.apply(steps[place])
                heapq.heappush(queue, (left, cost + price, next(ticket), after, place + 1))
    return None


def differs(facts, before, item, exempt):
    """Return whether a fact that `item` covers, and none of `exempt`, is not as it was before."""
    changed = set(facts) ^ set(before)
    return any(item.matches(fact) and not any(each.matches(fact) for each in exempt) for fact in changed)


def covered(fact, items):
    """Return whether one of `items` covers `fact`."""
    return any(item.matches(fact) for item in items)


def rewrites(state, step, items):
    """Return whether `step` changes in place what none of `items` covers."""
    changes = state.changes(step)
    predicates = state.problem.domain.predicates.values()
    sources = {pattern.predicate for predicate in predicates for pattern in predicate.stale_with}
    again = [fact for fact in changes.provided if fact in state.facts and fact.predicate in sources]
    in_place = [item for item in changes.modified if OPEN not in item.args]
    return any(not covered(item, items) for item in (*again, *in_place))


def best_undoing(problem, before, items, exempt, most=300):
    """Return how many of `items` are not as before at the end, at best, and the least cost of that."""
    written = [*items, *exempt]
    kept = [fact for fact in Simulation(problem).facts if not covered(fact, written)]
    return min(
        (sum(differs(state.facts, before, item, exempt) for item in items), cost)
        for cost, state, _ in distances(problem, set(), set(), most, lambda *it: rewrites(*it, written))
        if all(fact in state.facts for fact in kept)
    )
