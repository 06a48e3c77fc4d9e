"""Which searches are run for a hierarchical problem, and in which order.

No search is the best for all: greedy ones are quick where the estimate is right, weighted ones where it misleads, and
going down the first methods that can be applied where it is of no use at all. So they take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import cast

from htn import kernels
from htn.grounding.ground import GroundHtn, ground
from htn.incumbent import HtnIncumbent
from htn.lifted.depth_first import DEPTH_FIRST, Descent, Enough, Meanwhile
from htn.model import HtnProblem
from htn.search.decomposition_kernel import BLIND, DEFERRED
from htn.search.ground_hierarchy import Board
from htn.search.plan_neighborhood import Windows
from htn.search.progression import Progression
from htn.search.task_networks import Partial
from planner.errors import InputError, UnsupportedError
from planner.lightweight import Final
from planner.options import SolveOptions
from planner.plan import Result
from planner.portfolio.tiers import Contender, run_until_plan, take_turns
from planner.search.search_run import Ending, Run, Steps

FIRST_WEIGHT: Final = 2
"""What the estimate counts against the cost so far, in a search for a first plan."""
WEIGHTS: Final = (5, 3, 2, 1)
"""The same in a row of searches for ever better plans."""
EASY: Final = 0.2
"""Seconds of processor time for searches with an estimate, before others have a turn."""
QUICK: Final = 0.25
"""The same for those without, which are done within milliseconds or not soon."""
LATER: Final = 20
"""The share of good searches then, where others have 1."""
ALMOST_ALL: Final = 1000
"""The share of a search that had nothing to give up so far."""

PROGRESSION: Final = ("progression", "composition")
PARTIAL: Final = ("partial", "composition")
SEARCHES: Final = ("depth-first", "greedy", "weighted", "astar", "uniform")
STOPPING: Final = ("depth-first", "greedy")
"""Those that stop at the first plan."""
HEURISTICS: Final = ("composition", "blind")


def run_named_search(ground: GroundHtn, incumbent: HtnIncumbent, search: str, heuristic: str) -> Steps:
    """Search by itself what was asked for: not depth first, which needs no `ground` problem."""
    run = incumbent.run
    board = Board(ground, kernels.entries(), incumbent.limits.check)
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


def run_portfolio(ground: GroundHtn, mode: str, incumbent: HtnIncumbent, meanwhile: Meanwhile) -> Steps:
    """Find a plan soon, then better ones, until none is left; until there is one, what `meanwhile` runs goes on."""
    run = incumbent.run
    board = Board(ground, kernels.entries(), meanwhile.check)
    if ground.root is not None:
        run.raise_bound(board.hierarchy.least[ground.root])
    if mode != "optimal":
        ending = yield from run_until_plan(_first(board, run, meanwhile), run)
        if ending is Ending.EXHAUSTED:
            return ending
        yield  # the first plan may be all that is wanted
    weights = WEIGHTS if mode == "anytime" else (1,)
    contenders = [Contender(_falling(Progression, board, weights, run), 1, by=PROGRESSION)]
    if mode == "anytime":
        flat = partial(Progression, nested=False)
        contenders.append(Contender(_falling(flat, board, weights, run), 1, by=PROGRESSION))
        if Windows.fits(board):
            contenders.append(Contender(Windows(board, run, incumbent.moves).steps(), 2, by=("windows", "composition")))
    if not ground.is_ordered:
        contenders.append(Contender(_falling(Partial, board, weights, run), 1, by=PARTIAL))
    return (yield from take_turns(contenders, run))


def _first(board: Board, run: Run, meanwhile: Meanwhile) -> Steps:
    """Search for a first plan.

    What is easy falls to the estimate, and is done best by it; what is large may fall to no estimate at all within
    milliseconds. Then most of the time is left to those that go on getting nearer.
    """
    greedy = Contender(_begun(lambda: Progression(board, 0, 1, 1, nested=False), run), 2, by=PROGRESSION)
    blind = Contender(
        _begun(lambda: Progression(board, 0, 0, 0, kind=BLIND, nested=False), run), 1, by=("progression", "blind")
    )
    weighted = Contender(_begun(lambda: Progression(board, 1, FIRST_WEIGHT, 0), run), 2, by=PROGRESSION)
    deferred = Contender(
        _begun(lambda: Progression(board, 0, 1, 1, kind=DEFERRED, nested=False), run), 1, by=PROGRESSION
    )
    guided, unguided, descent = [greedy, weighted, deferred], [blind], None
    if meanwhile.steps is not None:
        descent = Contender(_descending(meanwhile), 1, by=DEPTH_FIRST)
        unguided.insert(0, descent)
    if not board.ground.is_ordered:
        guided.append(Contender(_begun(lambda: Partial(board, 0, 1, 1), run), 2, by=PARTIAL))
    if not meanwhile.is_straight and (yield from _for(EASY, take_turns(guided, run))) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    if (yield from _for(QUICK, take_turns(unguided, run))) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    for one in (*guided, *unguided):
        good = any(one is other for other in guided) and one is not greedy
        one.share, one.spent = LATER if good else 1, 0.0
    if descent is not None and meanwhile.is_straight:
        descent.share = ALMOST_ALL
    return (yield from take_turns([*guided, *unguided], run))


def _for(seconds: float, steps: Steps) -> Steps:
    """Go through `steps` for so long, in processor time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        try:
            next(steps)
        except StopIteration as stop:
            return cast("Ending", stop.value)
        yield
    return Ending.INCOMPLETE


def _descending(meanwhile: Meanwhile) -> Steps:
    """Go on with the descent, unless it has come to its end while somebody checked the limits."""
    while meanwhile.steps is not None:
        try:
            next(meanwhile.steps)
        except StopIteration as stop:
            meanwhile.steps = None
            return cast("Ending", stop.value)
        yield
    return Ending.INCOMPLETE


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


def search_hierarchy(problem: HtnProblem, incumbent: HtnIncumbent, options: SolveOptions) -> Result:
    """Ground the compiled problem, and search it as the options ask; raises `LimitReached`."""
    mode, search, heuristic = options.mode, options.search, options.heuristic
    if problem.classical.budgets:
        return _within_budgets(problem, incumbent, options)
    if mode == "optimal" and search in STOPPING:
        incumbent.caveat = f"{search} search stops at the first plan, which it does not prove optimal as astar does"
    if search == "depth-first":
        return _depth_first(problem, incumbent, heuristic)
    if search or heuristic:
        found = ground(problem, incumbent.limits)
        steps = run_named_search(found, incumbent, search or "astar", heuristic or "composition")
        return _searched(found, incumbent, mode, steps)
    descent = None if mode == "optimal" else Descent(problem, incumbent)
    meanwhile = Meanwhile(incumbent.limits, descent, incumbent.run, enough=mode == "first")
    try:
        found = ground(problem, meanwhile)
        return _searched(found, incumbent, mode, run_portfolio(found, mode, incumbent, meanwhile))
    except Enough:
        return incumbent.result_of(Ending.FIRST_PLAN)


def _within_budgets(problem: HtnProblem, incumbent: HtnIncumbent, options: SolveOptions) -> Result:
    """Search a problem with budgets."""
    from htn.resources import within_budgets

    asked = options.search or options.heuristic or options.mode == "optimal"
    descent = None if asked else Descent(problem, incumbent)
    found = ground(problem, Meanwhile(incumbent.limits, descent, incumbent.run, enough=False))
    return _searched(found, incumbent, options.mode, within_budgets(found, problem, incumbent, options))


def _depth_first(problem: HtnProblem, incumbent: HtnIncumbent, heuristic: str | None) -> Result:
    """Search depth first, without grounding."""
    if heuristic not in (None, "blind"):
        raise InputError(f"depth-first search does not use the heuristic '{heuristic}'", hint="leave it out")
    descent = Descent(problem, incumbent)
    result = incumbent.improve(descent.steps(), "first")
    if descent.unfit:
        raise UnsupportedError(f"{descent.unfit} in depth-first search", "leave --search out, and others search")
    return result


def _searched(found: GroundHtn, incumbent: HtnIncumbent, mode: str, steps: Steps) -> Result:
    """Return the answer that the `steps` of a search lead to, if there is anything to search for."""
    incumbent.take_hierarchy(found)
    if found.unreachable_goal is not None:
        return incumbent.unreachable_result()
    return incumbent.result_of(Ending.EXHAUSTED) if found.root is None else incumbent.improve(steps, mode)
