"""What is to be restored as a choice: steps first, and then each item is found as it was, or is given up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.model import Atom, Formula, Problem
from planner.model.formulas import conjunction
from planner.normalise.stages import staged
from planner.normalise.wishes import forgone, granted, granting
from planner.plan import Step
from planner.repair.stages import Choice


def collecting(plain: Problem, wishes: Sequence[Formula], kept: Sequence[Atom]) -> Choice:
    """Return the choice of which `wishes` hold in the end, as all of `kept` do; a penalty is one that is given up."""
    special = granting(wishes, [0] * len(wishes), 0)
    steps: dict[str, tuple[Step, ...]] = {action.name: () for action in special}
    penalties = {forgone(place): 1 for place in range(len(wishes))}
    return Choice(staged(plain, special, conjunction(kept), len(wishes), first_only=True), steps, penalties)


def settled(holding: Iterable[bool]) -> list[str]:
    """Return the names of the special actions that find each wish as this says, without any step before them."""
    return [granted(place) if holds else forgone(place) for place, holds in enumerate(holding)]
