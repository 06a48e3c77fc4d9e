"""Which searches are run for a hierarchical problem, and in which order.

No search is the best for all: greedy ones are quick where the estimate is right, weighted ones where it misleads, and
going down the first methods that can be applied where it is of no use at all. So they take turns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from htn.answer import HtnAnswer
from htn.grounding.ground import GroundHtn
from htn.lifted.turns import DEPTH_FIRST, Meanwhile
from htn.search.arrays import Board
from htn.search.partial import Partial
from htn.search.progression import Progression
from htn.search.windows import Windows
from planner.annotations import Final
from planner.compiled import library
from planner.kernels.decompose import BLIND, DEFERRED
from planner.search.run import Ending, Run, Steps
from planner.turns import Contender, take_turns, until_plan

FIRST_WEIGHT: Final = 2
"""What the estimate counts against the cost so far, in a search for a first plan."""
WEIGHTS: Final = (5, 3, 2, 1)
"""The same in a row of searches for ever better plans."""
ALMOST_ALL: Final = 1000
"""The share of a search that had nothing to give up so far."""
SOON: Final = 0.12
"""The same for the searches without grounding."""


PROGRESSION: Final = ("progression", "composition")
PARTIAL: Final = ("partial", "composition")
SEARCHES: Final = ("depth-first", "greedy", "weighted", "astar", "uniform")
HEURISTICS: Final = ("composition", "blind")


def chosen(ground: GroundHtn, answer: HtnAnswer, search: str, heuristic: str) -> Steps:
    """Search by itself what was asked for: not depth first, which needs no `ground` problem."""
    run = answer.run
    board = Board(ground, library.loaded() or library.ENTRIES, answer.budget.check)
    run.by = search, heuristic
    make: type[Progression | Partial] = Progression if ground.is_ordered else Partial
    if heuristic == "blind" or search == "uniform":
        past = int(search != "greedy")
        found = Progression(board, past, 0, 0, kind=BLIND) if ground.is_ordered else Partial(board, past, 0, 0)
        return (yield from found.steps(run, first=not past))
    if search == "weighted":
        return (yield from _falling(make, board, WEIGHTS, run))
    if search == "astar":
        return (yield from _falling(make, board, (1,), run))
    return (yield from make(board, 0, 1, 1).steps(run, first=True))


def automatic(ground: GroundHtn, mode: str, answer: HtnAnswer, meanwhile: Meanwhile) -> Steps:
    """Find a plan soon, then better ones, until none is left; until there is one, what `meanwhile` runs goes on."""
    run = answer.run
    board = Board(ground, library.loaded() or library.ENTRIES, meanwhile.check)
    if ground.root is not None:
        run.proved(board.hierarchy.least[ground.root])
    if mode != "optimal":
        ending = yield from until_plan(take_turns(_first(board, run, meanwhile), run), run)
        if ending is Ending.EXHAUSTED:
            return ending
        yield  # the first plan may be all that is wanted
    weights = WEIGHTS if mode == "anytime" else (1,)
    contenders = [Contender(_falling(Progression, board, weights, run), 1, by=PROGRESSION)]
    if mode == "anytime":
        flat = partial(Progression, nested=False)
        contenders.append(Contender(_falling(flat, board, weights, run), 1, by=PROGRESSION))
        if Windows.fits(board):
            contenders.append(Contender(Windows(board, run, answer.moves).steps(), 2, by=("windows", "composition")))
    if not ground.is_ordered:
        contenders.append(Contender(_falling(Partial, board, weights, run), 1, by=PARTIAL))
    return (yield from take_turns(contenders, run))


def _first(board: Board, run: Run, meanwhile: Meanwhile) -> list[Contender]:
    """Return searches for a first plan.

    Some find one within milliseconds or not at all: they have a little time in advance (a negative account), and then
    a small share. Most is left to those that go on getting nearer.
    """
    searches: list[tuple[Callable[[], Progression | Partial], int, float]] = [
        (lambda: Progression(board, 0, 1, 1, nested=False), 1, -0.2),
        (lambda: Progression(board, 0, 0, 0, kind=BLIND, nested=False), 1, -0.08),
        (lambda: Progression(board, 1, FIRST_WEIGHT, 0), 20, 0.0),
        (lambda: Progression(board, 0, 1, 1, kind=DEFERRED, nested=False), 23, 0.0),
    ]
    contenders = [Contender(_begun(search, run), share, spent, PROGRESSION) for search, share, spent in searches]
    if meanwhile.steps is not None:
        contenders.append(Contender(meanwhile.steps, ALMOST_ALL if meanwhile.is_straight else 2, -0.06, DEPTH_FIRST))
    if not board.ground.is_ordered:
        contenders.append(Contender(_begun(lambda: Partial(board, 0, 1, 1), run), 20, by=PARTIAL))
    return contenders


def _begun(search: Callable[[], Progression | Partial], run: Run) -> Steps:
    """Run a search, made when its turn comes, to its first plan."""
    return (yield from search().steps(run, first=True))


def _falling(
    search: Callable[[Board, int, int, int], Progression | Partial], board: Board, weights: tuple[int, ...], run: Run
) -> Steps:
    """Search with ever less weight on the estimate, each time from the start; the last one has the proof."""
    for weight in weights:
        found = search(board, 1, weight, 0)
        if (yield from found.steps(run)) is Ending.EXHAUSTED:
            return Ending.EXHAUSTED
    return Ending.INCOMPLETE
