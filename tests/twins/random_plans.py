"""Random plans of random problems: random walks, whole and spoiled."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.random_problems import Features, instances, random_problem
from planner.model import Goal, Not
from planner.model.formulas import conjunction
from planner.plan import Plan
from planner.semantics.simulation import Simulation


def random_plan(rng, features=Features(), longest=9):  # noqa: B008 - frozen
    """Return a random valid plan: a random walk, with a goal that holds where it ends."""
    problem = random_problem(rng, features)
    state, steps = Simulation(problem), []
    for _ in range(rng.randint(2, longest)):
        choices = [step for step in state.applicable() if changes(state, step)]
        if not choices:
            break
        steps.append(rng.choice(choices))
        state.apply(steps[-1])
    atoms = instances(problem.domain.predicates.values(), problem.all_objects)
    literals = [atom if state.holds(atom) else Not(atom) for atom in rng.sample(atoms, min(len(atoms), 3))]
    return Plan(tuple(steps), replace(problem, goal=Goal(conjunction(literals))))


def changes(state, step):
    """Return whether the step would do anything."""
    found = state.changes(step)
    return bool(found.added or found.removed or found.modified)


def spoiled(plan, rng):
    """Return the plan with a step left out, repeated or exchanged for its neighbour; often no plan any more."""
    steps = list(plan.steps)
    if not steps:
        return plan
    place = rng.randrange(len(steps))
    match rng.randrange(3):
        case 0:
            del steps[place]
        case 1:
            steps.insert(rng.randrange(len(steps) + 1), steps[place])
        case _:
            steps.insert(max(0, place - 1), steps.pop(place))
    return Plan(tuple(steps), plan.problem)
