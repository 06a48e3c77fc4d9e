"""Random plans of random problems with numbers: random walks."""

from __future__ import annotations

import random
from dataclasses import replace

from numeric_problems import random_numeric_problem

from planner.errors import ForethoughtError
from planner.model import Arithmetic, Atom, Comparison, Goal, Not
from planner.model.formulas import conjunction
from planner.plan import Plan
from planner.semantics.simulation import Simulation


def random_plan(seed):
    """Return a random walk of a random problem, with a goal that holds at its end; None for a short one."""
    rng = random.Random(seed)
    problem = random_numeric_problem(seed)
    state, steps = Simulation(problem), []
    for _ in range(rng.randint(2, 6)):
        choices = list(changing_steps(state))
        if not choices:
            break
        steps.append(rng.choice(choices))
        state.apply(steps[-1])
    sums = [Arithmetic("+", (one, Arithmetic("*", (2, other)))) for one in state.values for other in state.values]
    terms = rng.sample([*state.values, *sums], min(2, len(state.values)))
    compared = [Comparison(term, rng.choice(["<", "<=", "=", ">=", ">"]), rng.randint(-1, 4)) for term in terms]
    facts = [fact if state.holds(fact) else Not(fact) for fact in instances_of(problem)]
    found = [each if state.holds(each) else Not(each) for each in compared]
    goal = Goal(conjunction([*found, *rng.sample(facts, min(1, len(facts)))]))
    return Plan(tuple(steps), replace(problem, goal=goal)) if len(steps) > 1 else None


def changing_steps(state):
    """Yield the steps that change anything now, and have a price."""
    for step in applicable_steps(state):
        made = state.changes(step)
        if made.added or made.removed or any(each.before != each.after for each in made.numbers):
            yield step


def applicable_steps(state):
    try:
        yield from state.applicable()
    except ForethoughtError:
        return


def instances_of(problem):
    return [
        Atom(each.name, (thing.name,) * len(each.parameters))
        for each in problem.domain.predicates.values()
        for thing in (problem.objects if each.parameters else problem.objects[:1])
    ]
