"""Plans that broke: somebody else did something while they ran."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from random import Random
from typing import Final

from planner import Atom, Plan, Problem, Step, solve
from planner.testing import Features, random_problem
from planner.validate import Simulation, validate

SIZES: Final = {"assistant": 8, "courier": 5, "elevator": 7, "runbook": 7, "secretary": 6, "stacking": 10, "random": 8}
"""The domains, and the size of problems from which a plan has a few dozen steps."""
MEDDLING: Final = 3
"""So many actions somebody else takes at most."""
TRIES: Final = 20
"""So often another break is tried for a plan that goes on working."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A plan that broke: `problem` as it stands, and the `remaining` steps, which do not work any more."""

    domain: str
    problem: Problem
    remaining: tuple[Step, ...]


def broken_plans(domain: str, size: int, wanted: int, seed: int, time_limit: float) -> Iterator[Broken]:
    """Yield so many broken plans of random problems; those for which no plan is found in `time_limit` are left out."""
    make = generator(domain)
    for number in range(seed, seed + 20 * wanted):
        if wanted == 0:
            return
        rng = Random(number)  # noqa: S311 - a benchmark wants seeds
        problem = make(number, size)
        plan = solve(problem, mode="first", time_limit=time_limit).plan
        found = None if plan is None or not plan.steps else broken(domain, plan, rng)
        if found is not None:
            wanted -= 1
            yield found


def generator(domain: str) -> Callable[[int, int], Problem]:
    """Return what makes problems of a shipped domain from a seed and a size, or of random domains."""
    if domain == "random":
        return lambda seed, size: random_problem(seed, Features(actions=size, objects=size))
    made: Callable[[int, int], Problem] = import_module(f"domains.{domain}.instances").generate
    return made


def broken(domain: str, plan: Plan, rng: Random) -> Broken | None:
    """Return `plan` broken somewhere, by actions that somebody else took; None where it always goes on working."""
    for _ in range(TRIES):
        place = rng.randrange(len(plan.steps))
        state = Simulation(plan.problem)
        for step in plan.steps[:place]:
            state.apply(step)
        for _ in range(rng.randint(1, MEDDLING)):
            choices = list(state.applicable())
            if choices:
                state.apply(rng.choice(choices))
        ran = tuple([Atom(step.action, step.arguments) for step in plan.steps[:place]])
        problem = replace(plan.problem, initial=tuple(sorted(state.facts, key=str)), ran=ran)
        if not validate(problem, plan.steps[place:]).valid:
            return Broken(domain, problem, plan.steps[place:])
    return None
