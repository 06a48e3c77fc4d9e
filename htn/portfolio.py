"""Which searches are run for a hierarchical problem, and in which order.

No search is the best for all: greedy ones are quick where the estimate is right, weighted ones where it misleads, and
going down the first methods that can be applied where it is of no use at all. So they take turns.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import cast

from htn import kernels
from htn.compilations.soft_goals import without_constraints
from htn.grounding.ground import GroundHtn, ground
from htn.incumbent import HtnAnswer
from htn.lifted.depth_first import DEPTH_FIRST, Descent, Enough, Meanwhile
from htn.model import HtnProblem, sealed
from htn.search.decomposition_kernel import BLIND, DEFERRED
from htn.search.ground_hierarchy import Board
from htn.search.plan_neighborhood import Windows
from htn.search.progression import Progression
from htn.search.task_networks import Partial
from planner.errors import InputError, UnsupportedError
from planner.lightweight import Final
from planner.limits import Budget, check_limits
from planner.model.domain import creates_objects
from planner.plan import Progress, Result
from planner.portfolio.incumbent import intended, unsupported
from planner.portfolio.portfolio import MODES, checked_name
from planner.portfolio.tiers import Contender, take_turns, until_plan
from planner.resources.resource_portfolio import unlabelled
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


def chosen(ground: GroundHtn, answer: HtnAnswer, search: str, heuristic: str) -> Steps:
    """Search by itself what was asked for: not depth first, which needs no `ground` problem."""
    run = answer.run
    board = Board(ground, kernels.entries(), answer.budget.check)
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
    board = Board(ground, kernels.entries(), meanwhile.check)
    if ground.root is not None:
        run.proved(board.hierarchy.least[ground.root])
    if mode != "optimal":
        ending = yield from until_plan(_first(board, run, meanwhile), run)
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
    """Go on with the descent, unless it has come to its end while somebody asked the budget."""
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


def solve_plainly(
    problem: HtnProblem,
    *,
    mode: str = "anytime",
    search: str | None = None,
    heuristic: str | None = None,
    engine: str | None = None,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> Result:
    """Return the answer as `solve` does, but for why there is no decomposition."""
    check_limits(time_limit, memory_limit)
    if creates_objects(problem.classical.domain):
        from htn.compilations.object_creation import solve_with_creation

        options = {"mode": mode, "search": search, "heuristic": heuristic, "engine": engine, "on_progress": on_progress}
        return solve_with_creation(problem, solve_plainly, Budget(time_limit, memory_limit, cancel), **options)
    if problem.classical.wishes and not problem.classical.unknown:
        from htn.compilations.soft_goals import solve_with_wishes

        named = {"mode": mode, "search": search, "heuristic": heuristic, "engine": engine, "on_progress": on_progress}
        limits = {"time_limit": time_limit, "memory_limit": memory_limit, "cancel": cancel}
        return solve_with_wishes(problem, solve_plainly, **named, **limits)
    if engine is not None:
        from planner.unified_planning import solve_with

        return solve_with(
            sealed(problem),
            engine,
            time_limit=time_limit,
            memory_limit=memory_limit,
            on_progress=on_progress,
            cancel=cancel,
        )
    checked_name("mode", mode, MODES)
    checked_name("search for hierarchical problems", search, SEARCHES)
    checked_name("heuristic for hierarchical problems", heuristic, HEURISTICS)
    refused = unsupported(problem.classical, takes=("budgets",))
    if refused is None and search is not None and problem.classical.budgets:
        refused = unlabelled(search, "count what budgets limit")
    if refused is not None:
        return refused
    answer = HtnAnswer(problem, Budget(time_limit, memory_limit, cancel), on_progress)
    free = without_constraints(problem)
    found = answer.within_limits(lambda: _solve(free, answer, mode, search, heuristic))
    return intended(problem.classical.domain, found)


def _solve(problem: HtnProblem, answer: HtnAnswer, mode: str, search: str | None, heuristic: str | None) -> Result:
    if problem.classical.budgets:
        return _limited(problem, answer, mode, search, heuristic)
    if mode == "optimal" and search in STOPPING:
        answer.caveat = f"{search} search stops at the first plan, which it does not prove optimal as astar does"
    if search == "depth-first":
        return _depth_first(problem, answer, heuristic)
    if search or heuristic:
        found = ground(problem, answer.budget)
        return _searched(found, answer, mode, chosen(found, answer, search or "astar", heuristic or "composition"))
    descent = None if mode == "optimal" else Descent(problem, answer)
    meanwhile = Meanwhile(answer.budget, descent, answer.run, enough=mode == "first")
    try:
        found = ground(problem, meanwhile)
        return _searched(found, answer, mode, automatic(found, mode, answer, meanwhile))
    except Enough:
        return answer.ended(Ending.FIRST_PLAN)


def _limited(problem: HtnProblem, answer: HtnAnswer, mode: str, search: str | None, heuristic: str | None) -> Result:
    from htn.resources import within_budgets

    """Solve a problem with budgets."""
    asked = search or heuristic or mode == "optimal"
    descent = None if asked else Descent(problem, answer)
    found = ground(problem, Meanwhile(answer.budget, descent, answer.run, enough=False))
    return _searched(
        found, answer, mode, within_budgets(found, problem, answer, mode, search=search, heuristic=heuristic)
    )


def _depth_first(problem: HtnProblem, answer: HtnAnswer, heuristic: str | None) -> Result:
    if heuristic not in (None, "blind"):
        raise InputError(f"depth-first search does not use the heuristic '{heuristic}'", hint="leave it out")
    descent = Descent(problem, answer)
    result = answer.of(descent.steps(), "first")
    if descent.unfit:
        raise UnsupportedError(f"{descent.unfit} in depth-first search", "leave --search out, and others search")
    return result


def _searched(found: GroundHtn, answer: HtnAnswer, mode: str, steps: Steps) -> Result:
    """Return the answer that the `steps` of a search lead to, if there is anything to search for."""
    answer.hierarchy(found)
    if found.unreachable_goal is not None:
        return answer.unreachable()
    return answer.ended(Ending.EXHAUSTED) if found.root is None else answer.of(steps, mode)
