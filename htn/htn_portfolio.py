"""The searches for a hierarchical problem: which of them run, how they share time, and in which order.

No search is best for all problems. Greedy searches are fast where the estimate is right, weighted ones where it
misleads, and depth-first search where the estimate is of no use. So they take turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import cast

from htn import kernels
from htn.grounding.ground_htn import GroundHtn
from htn.lifted.depth_first import DEPTH_FIRST, LimitsWithDescent
from htn.model import HtnProblem
from htn.search.decomposition_kernel import BLIND, DEFERRED
from htn.search.htn_incumbent import HtnIncumbent
from htn.search.packed_hierarchy import PackedHierarchy
from htn.search.plan_windows import PlanWindows
from htn.search.progression import Progression
from htn.search.task_networks import NetworkProgression
from planner.lightweight import Final
from planner.options import SolveOptions
from planner.portfolio.tiers import Contender, contain_errors, run_until_plan, take_turns
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import tier_of

SEARCHES: Final = ("depth-first", "greedy", "weighted", "astar", "uniform")
ONE_PLAN_SEARCHES: Final = ("depth-first", "greedy")
"""Searches that stop at the first plan."""
HEURISTICS: Final = ("composition", "blind")

FIRST_WEIGHT: Final = 2
"""Weight of the estimate against the cost so far, in a search for a first plan."""
WEIGHTS: Final = (5, 3, 2, 1)
"""Weights of the estimate in a series of searches for ever better plans."""
GUIDED_SECONDS: Final = 0.2
"""Processor time, in seconds, for searches with an estimate before searches without one have a turn."""
BLIND_SECONDS: Final = 0.25
"""Processor time, in seconds, for searches without an estimate: they find a plan within milliseconds or not soon."""
GUIDED_SHARE: Final = 20
"""Share of time of guided searches after that, where others have 1."""
STRAIGHT_SHARE: Final = 1000
"""Share of time of a descent that has never had to backtrack."""

PROGRESSION: Final = ("progression", "composition")
PARTIAL: Final = ("partial", "composition")

Search = Progression | NetworkProgression
MakeSearch = Callable[[PackedHierarchy, int, int, int], Search]
"""Makes a search in the order of `past` · cost + `future` · estimate, which counts `own` for each method."""


def select_search(
    ground: GroundHtn, problem: HtnProblem, incumbent: HtnIncumbent, options: SolveOptions, limits: LimitsWithDescent
) -> Steps:
    """Return the search for `ground`: by labels where there are budgets, the one that was asked for, or a portfolio."""
    if ground.task.allowances:
        from htn.resources import search_within_budgets

        return search_within_budgets(ground, problem, incumbent, options)
    search, heuristic = options.names
    if search is not None:
        return run_named_search(ground, incumbent, search, heuristic or "composition", build=not options.plain)
    return run_portfolio(ground, options.mode, incumbent, limits)


def run_named_search(
    ground: GroundHtn, incumbent: HtnIncumbent, search: str, heuristic: str, *, build: bool = True
) -> Steps:
    """Run one search by its name; depth-first search is none of these, as it needs no `ground` problem.

    Unless machine code is to be built, kernels without it run in plain Python.
    """
    run, packed = incumbent.run, PackedHierarchy(ground, kernels.load_kernels(build=build), incumbent.limits.check)
    run.by = search, heuristic
    run.note_tier(tier_of(packed.entries, *kernels.OWN))
    ordered = ground.is_ordered and packed.fits_words
    make: type[Search] = Progression if ordered else NetworkProgression
    if heuristic == "blind" or search == "uniform":
        past = int(search != "greedy")
        blind = Progression(packed, past, 0, 0, kind=BLIND) if ordered else make(packed, past, 0, 0)
        return (yield from blind.steps(run, first=not past))
    if search in ("weighted", "astar"):
        return (yield from _lower_weights(make, packed, WEIGHTS if search == "weighted" else (1,), run))
    return (yield from make(packed, 0, 1, 1).steps(run, first=True))


def run_portfolio(ground: GroundHtn, mode: str, incumbent: HtnIncumbent, limits: LimitsWithDescent) -> Steps:
    """Find a first plan soon, then better ones until none is left; the descent of `limits` goes on until the first."""
    run, packed = incumbent.run, PackedHierarchy(ground, kernels.load_kernels(), limits.check)
    run.note_tier(tier_of(packed.entries, *kernels.OWN))
    if ground.root is not None:
        run.raise_bound(packed.hierarchy.least[ground.root])
    if not packed.fits_words:
        return (yield from _lower_weights(NetworkProgression, packed, WEIGHTS if mode == "anytime" else (1,), run))
    if mode != "optimal":
        ending = yield from run_until_plan(_search_first_plan(packed, run, limits), run)
        if ending is Ending.EXHAUSTED:
            return ending
        yield  # the first plan may be all that is wanted
    weights = WEIGHTS if mode == "anytime" else (1,)
    contenders = [Contender(_lower_weights(Progression, packed, weights, run), 1, by=PROGRESSION)]
    if mode == "anytime":
        flat = partial(Progression, nested=False)
        contenders.append(Contender(_lower_weights(flat, packed, weights, run), 1, by=PROGRESSION))
        if PlanWindows.fits(packed):
            windows = PlanWindows(packed, run, incumbent.moves)
            contenders.append(Contender(windows.steps(), 2, by=("windows", "composition")))
    if not ground.is_ordered:
        contenders.append(Contender(_lower_weights(NetworkProgression, packed, weights, run), 1, by=PARTIAL))
    ending = yield from take_turns(contenders, run)
    if ground.is_ordered and ending is Ending.INCOMPLETE:  # values left 64 bits
        ending = yield from NetworkProgression(packed, 1, 1, 0).steps(run)
    return ending


def _search_first_plan(packed: PackedHierarchy, run: Run, limits: LimitsWithDescent) -> Steps:
    """Search for a first plan: guided searches at first, then blind ones, then all in turns.

    The estimate solves easy problems best. In a large problem no estimate may lead to a plan within milliseconds; most
    of the time then goes to the searches that get nearer.
    """
    flat = partial(Progression, packed, nested=False)

    def contend(make: Callable[[], Search], share: int, by: tuple[str, str] = PROGRESSION) -> Contender:
        return Contender(_run_to_first_plan(make, run), share, by=by)

    greedy = contend(lambda: flat(0, 1, 1), 2)
    guided = [greedy, contend(lambda: Progression(packed, 1, FIRST_WEIGHT, 0), 2)]
    guided.append(contend(lambda: flat(0, 1, 1, kind=DEFERRED), 1))
    blind = [contend(lambda: flat(0, 0, 0, kind=BLIND), 1, ("progression", "blind"))]
    descent = None
    if limits.steps is not None:
        descent = Contender(_continue_descent(limits), 1, by=DEPTH_FIRST)
        blind.insert(0, descent)
    if not packed.ground.is_ordered:
        guided.append(contend(lambda: NetworkProgression(packed, 0, 1, 1), 2, PARTIAL))
    if not limits.is_straight:
        turns = _run_for(GUIDED_SECONDS, take_turns(guided, run))
        if (yield from contain_errors(turns, run)) is Ending.EXHAUSTED:
            return Ending.EXHAUSTED
    if (yield from _run_for(BLIND_SECONDS, take_turns(blind, run))) is Ending.EXHAUSTED:
        return Ending.EXHAUSTED
    for one in (*guided, *blind):
        good = any(one is other for other in guided) and one is not greedy
        one.share, one.spent = GUIDED_SHARE if good else 1, 0.0
    if descent is not None and limits.is_straight:
        descent.share = STRAIGHT_SHARE
    return (yield from take_turns([*guided, *blind], run))


def _run_for(seconds: float, steps: Steps) -> Steps:
    """Go through `steps` for so many seconds of processor time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        try:
            next(steps)
        except StopIteration as stop:
            return cast("Ending", stop.value)
        yield
    return Ending.INCOMPLETE


def _continue_descent(limits: LimitsWithDescent) -> Steps:
    """Go on with the descent, unless it came to its end while a check of the limits ran it."""
    while limits.steps is not None:
        try:
            next(limits.steps)
        except StopIteration as stop:
            limits.steps = None
            return cast("Ending", stop.value)
        yield
    return Ending.INCOMPLETE


def _run_to_first_plan(make: Callable[[], Search], run: Run) -> Steps:
    """Run a search to its first plan; it is made when its turn comes."""
    return (yield from make().steps(run, first=True))


def _lower_weights(make: MakeSearch, packed: PackedHierarchy, weights: tuple[int, ...], run: Run) -> Steps:
    """Search with ever less weight on the estimate, each time from the start; the last search has the proof."""
    for weight in weights:
        if (yield from make(packed, 1, weight, 0).steps(run)) is Ending.EXHAUSTED:
            return Ending.EXHAUSTED
    return Ending.INCOMPLETE
