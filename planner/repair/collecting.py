"""What is to be restored as a choice: steps first, and then each item is found as it was, or is given up.

    stage 0 ── steps ─→ stage 0 ── item 0 is as it was, or is given up ─→ stage 1 ── … ─→ stage n

So soft goals are compiled away (Keyder and Geffner, 2009).
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.model import TRUE, Action, Formula, Problem
from planner.plan import Step
from planner.repair.stages import Choice, moving, staged


def collecting(plain: Problem, wishes: Sequence[Formula]) -> Choice:
    """Return the choice of which `wishes` hold in the end; a penalty is one that is given up."""
    special: list[Action] = []
    for place, wish in enumerate(wishes):
        for name, condition in ((f"@as-before-{place}", wish), (f"@give-up-{place}", TRUE)):
            special.append(moving(Action(name, requires=condition), name, place, place + 1, 0))
    steps: dict[str, tuple[Step, ...]] = {action.name: () for action in special}
    penalties = {f"@give-up-{place}": 1 for place in range(len(wishes))}
    return Choice(staged(plain, special, TRUE, len(wishes), first_only=True), steps, penalties)
