"""How steps come out in a simulated world that is as uncertain as its actions declare."""

from __future__ import annotations

import random

from planner.model import Action, Outcome


def drawn(action: Action, arguments: tuple[str, ...], dice: random.Random) -> tuple[bool, Outcome | None]:
    """Return whether an attempt at a step works, and in which of the declared outcomes it ends; None: as intended."""
    risk, odds = action.odds(arguments)
    works = dice.random() >= risk
    if not action.outcomes:
        return works, None
    return works, dice.choices(action.outcomes, [float(each) for each in odds])[0]
