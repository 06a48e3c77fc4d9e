"""Random problems with resources and budgets, and the slow, obvious twin of planning within them."""

from __future__ import annotations

import heapq
from dataclasses import replace
from decimal import Decimal
from itertools import count, permutations

from brute_force import TooManyStates

from benchmarks.random_problems import key_of, random_problem, successors
from planner.model import COST, Action, Atom, DomainModel, Goal, Not, Object, Predicate, Problem, Variable
from planner.semantics.simulation import Simulation

RESOURCES = ("money", "tokens", "calls")


def limited_problem(rng, features, resources=2):
    """Return a random problem whose actions use up to so many resources, some of them with a budget."""
    problem = random_problem(rng, features)
    names = RESOURCES[: rng.randint(1, resources)]
    actions = {
        name: replace(action, uses={each: _terms(rng, problem) for each in names if rng.random() < 0.8})
        for name, action in problem.domain.actions.items()
    }
    budgets = {each: _amount(rng) * rng.randint(0, 4) for each in names if rng.random() < 0.9}
    if rng.random() < 0.3:
        budgets[COST] = rng.randint(0, 9)
    used = {COST, *(each for action in actions.values() for each in action.uses)}
    budgets = {name: limit for name, limit in budgets.items() if name in used}
    return replace(problem, domain=replace(problem.domain, actions=actions), budgets=budgets)


def _terms(rng, problem):
    fees = [key for key in problem.values if not key.args]
    return rng.choice([(_amount(rng),), (_amount(rng), *fees[:1])])


def _amount(rng):
    return rng.choice([0, 0, 1, 2, 3, Decimal("0.5")])


def cheapest_within(problem, most=600):
    """Return the least cost of a plan within the budgets, None where there is none: every state, with what was used.

    Raises `TooManyStates` for more than `most` of them.
    """
    names = [name for name in problem.budgets if name != COST]
    ticket = count()
    queue = [(0, next(ticket), Simulation(problem), (0,) * len(names))]
    closed = set()
    while queue:
        cost, _, state, used = heapq.heappop(queue)
        if cost > problem.budgets.get(COST, cost):
            return None
        if (key_of(state), used) in closed:
            continue
        if state.holds(problem.goal.hard):
            return cost
        closed.add((key_of(state), used))
        if len(closed) > most:
            raise TooManyStates(f"more than {most}")
        for step, after in successors(state):
            uses = state.uses(step)
            total = tuple(before + uses.get(name, 0) for before, name in zip(used, names, strict=True))
            if all(amount <= problem.budgets[name] for amount, name in zip(total, names, strict=True)):
                heapq.heappush(queue, (cost + step.cost, next(ticket), after, total))
    return None


def routes(rng):
    """Return a problem of getting somewhere on roads that are short or without toll, with a budget for tolls."""
    places = [Atom("at", (f"o{number}",)) for number in range(7)]
    actions = {}
    for one, other in permutations(range(7), 2):
        if other == one + 1 or rng.random() < 0.3:
            name, miles = f"drive-{one}-{other}", rng.randint(1, 9)
            provides = (places[other], Not(places[one]))
            toll = {"money": (max(0, 9 - miles + rng.randint(-2, 2)),)}
            actions[name] = Action(name, requires=places[one], provides=provides, cost=(miles,), uses=toll)
    domain = DomainModel("routes", predicates={"at": Predicate("at", (Variable("?x"),))}, actions=actions)
    objects = tuple([Object(f"o{number}") for number in range(7)])
    budget = {"money": rng.randint(2, 20)}
    return Problem("routes", domain, objects, tuple(places[:1]), Goal(places[-1]), budgets=budget)
