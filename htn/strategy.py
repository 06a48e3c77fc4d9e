"""Which searches are run for a hierarchical problem, and in which order."""

from __future__ import annotations

from htn.answer import HtnAnswer
from htn.grounding.ground import GroundHtn
from htn.search.arrays import Board
from htn.search.progression import Progression
from planner.annotations import Final
from planner.compiled import library
from planner.search.run import Ending, Steps

WEIGHTS: Final = (5, 3, 2, 1)
"""What the estimate counts against the cost so far, in a row of searches for ever better plans."""


def automatic(ground: GroundHtn, mode: str, answer: HtnAnswer) -> Steps:
    """Find a plan soon, then better ones, until none is left."""
    run = answer.run
    board = Board(ground, library.loaded() or library.ENTRIES, answer.budget.check)
    if mode != "optimal":
        run.by = ("progression", "composition")
        ending = yield from Progression(board, 0, 1, 1).steps(run, first=True)
        if ending is Ending.EXHAUSTED:
            return ending
    for weight in WEIGHTS if mode == "anytime" else (1,):
        if (yield from Progression(board, 1, weight, 0).steps(run)) is Ending.EXHAUSTED:
            return Ending.EXHAUSTED
    return Ending.INCOMPLETE
