"""Which searches are run for a hierarchical problem, and in which order."""

from __future__ import annotations

from htn.answer import HtnAnswer
from htn.grounding.ground import GroundHtn
from htn.search.arrays import Board
from htn.search.partial import Partial
from htn.search.progression import Progression
from planner.annotations import Final
from planner.compiled import library
from planner.search.run import Ending, Steps
from planner.turns import Contender, take_turns

WEIGHTS: Final = (5, 3, 2, 1)
"""What the estimate counts against the cost so far, in a row of searches for ever better plans."""


def automatic(ground: GroundHtn, mode: str, answer: HtnAnswer) -> Steps:
    """Find a plan soon, then better ones, until none is left."""
    board = Board(ground, library.loaded() or library.ENTRIES, answer.budget.check)
    ordered = Contender(_row(Progression, board, mode, answer), 1)
    if ground.is_ordered:
        return take_turns([ordered], answer.run)
    return take_turns([ordered, Contender(_row(Partial, board, mode, answer), 1)], answer.run)


def _row(search: type[Progression | Partial], board: Board, mode: str, answer: HtnAnswer) -> Steps:
    """Search greedily, unless the proof is all that is wanted; and then with falling weights."""
    run = answer.run
    run.by = (search.__name__.lower(), "composition")
    if mode != "optimal" and run.plan is None:
        ending = yield from search(board, 0, 1, 1).steps(run, first=True)
        if ending is Ending.EXHAUSTED:
            return ending
    for weight in WEIGHTS if mode == "anytime" else (1,):
        if (yield from search(board, 1, weight, 0).steps(run)) is Ending.EXHAUSTED:
            return Ending.EXHAUSTED
    return Ending.INCOMPLETE
