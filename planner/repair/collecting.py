"""What is to be restored as a choice: steps first, and then each item is found as it was, or is given up.

    stage 0 ── steps ─→ stage 0 ── item 0 is as it was, or is given up ─→ stage 1 ── … ─→ stage n

So soft goals are compiled away (Keyder and Geffner, 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.annotations import Final
from planner.model import TRUE, Action, Atom, Formula, Problem
from planner.model.formulas import conjunction
from planner.plan import Step
from planner.repair.stages import Choice, moving, staged

_AS_BEFORE: Final = "@as-before-"


def collecting(plain: Problem, wishes: Sequence[Formula], kept: Sequence[Atom]) -> Choice:
    """Return the choice of which `wishes` hold in the end, as all of `kept` do; a penalty is one that is given up."""
    special: list[Action] = []
    for place, wish in enumerate(wishes):
        for name, condition in ((_name(place, holds=True), wish), (_name(place, holds=False), TRUE)):
            special.append(moving(Action(name, requires=condition), name, place, place + 1, 0))
    steps: dict[str, tuple[Step, ...]] = {action.name: () for action in special}
    penalties = {_name(place, holds=False): 1 for place in range(len(wishes))}
    return Choice(staged(plain, special, conjunction(kept), len(wishes), first_only=True), steps, penalties)


def settled(holding: Iterable[bool]) -> list[str]:
    """Return the names of the special actions that find each wish as this says, without any step before them."""
    return [_name(place, holds=holds) for place, holds in enumerate(holding)]


def as_before(names: Iterable[str]) -> frozenset[int]:
    """Return the places of the wishes that the special actions of `names` find to hold."""
    return frozenset([int(name.removeprefix(_AS_BEFORE)) for name in names if name.startswith(_AS_BEFORE)])


def _name(place: int, *, holds: bool) -> str:
    return f"{_AS_BEFORE}{place}" if holds else f"@give-up-{place}"
