"""The way through a foreign plan as a choice: each of its steps is kept or skipped, and new ones come in anywhere.

    stage 0 ── keep or skip step 0 ─→ stage 1 ── … ─→ stage n, and the goal

What is inserted leaves the pointer where it is.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from planner.model import Action, Problem
from planner.normalise.stages import moving, staged
from planner.plan import Step
from planner.repair.stages import Choice, instance

KEEP = "@keep-"
_SKIP = "@skip-"


def keeping(plain: Problem, fitting: Mapping[int, Step], number: int) -> Choice:
    """Return the choice of what is kept of a plan of `number` steps, of which those in `fitting` can be, by place.

    What is kept costs nothing, what is skipped has a penalty of 1.
    """
    special: list[Action] = []
    steps: dict[str, tuple[Step, ...]] = {}
    for place in range(number):
        skip, keep = f"{_SKIP}{place}", f"{KEEP}{place}"
        special.append(moving(Action(skip), skip, place, place + 1, 0))
        steps[skip] = ()
        if place in fitting:
            step = fitting[place]
            action = instance(plain.domain.actions[step.action], step)
            special.append(moving(action, keep, place, place + 1, 0))
            steps[keep] = (step,)
    problem = staged(plain, special, plain.goal.hard, number, first_only=False)
    return Choice(problem, steps, {name: 1 for name, taken in steps.items() if not taken})


def keeping_all(fitting: Container[int], number: int) -> list[str]:
    """Return the names of the special actions that keep what is at the places of `fitting`, and skip the rest."""
    return [f"{KEEP if place in fitting else _SKIP}{place}" for place in range(number)]
