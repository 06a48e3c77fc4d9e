"""The re-entry into a plan as a choice: new steps first, and then, from some step on, exactly the old ones.

    stage 0 ── new steps ──┬─ enter at i ─→ stage i+1 ── step i+1 ─→ … ─→ stage n, and the goal
                           └─ drop all ───────────────────────────────→ stage n, and the goal

Each old step is an action of its own with its declared condition and effects, so that conditional effects, axioms and
staleness are what they are anywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.model import Action, Number, Problem
from planner.normalise.stages import moving, staged
from planner.plan import Step, exact_sum
from planner.repair.stages import Choice, instance


def reentry(plain: Problem, old: Sequence[Step], weight: Number, firsts: Sequence[Step] = ()) -> Choice:
    """Return the choice of a re-entry into the steps `old`, which have their costs, or behind the last of them.

    The action that enters costs `weight` for each step that is dropped, beside its own cost; a penalty is how many
    these are. Of the actions of `firsts`, only these steps are there.
    """
    last, others = len(old), {step.action for step in firsts}
    special: list[Action] = [moving(Action("@drop"), "@drop", 0, last, exact_sum([weight * last]))]
    steps: dict[str, tuple[Step, ...]] = {"@drop": ()}
    penalties = {"@drop": last}
    for number, step in enumerate(firsts):
        special.append(moving(_instance(plain, step), f"@first-{number}", 0, 0, step.cost))
        steps[f"@first-{number}"] = (step,)
    for place, step in enumerate(old):
        action = _instance(plain, step)
        enter, follow = f"@enter-{place}", f"@step-{place}"
        special.append(moving(action, enter, 0, place + 1, exact_sum([step.cost, weight * place])))
        if place:
            special.append(moving(action, follow, place, place + 1, step.cost))
        steps |= {enter: (step,), follow: (step,)}
        penalties[enter] = place
    problem = staged(plain, special, plain.goal.hard, last, first_only=True, without=others)
    return Choice(problem, steps, penalties)


def entering(place: int, number: int) -> list[str]:
    """Return the names of the special actions that enter at `place`, of so many steps, without anything new."""
    if place == number:
        return ["@drop"]
    return [f"@enter-{place}", *(f"@step-{later}" for later in range(place + 1, number))]


def _instance(plain: Problem, step: Step) -> Action:
    return instance(plain.domain.actions[step.action], step)
