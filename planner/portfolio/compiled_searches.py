"""Creates the searches of the compiled tier by name."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from planner.heuristics.search_guide_compiled import Guide
from planner.portfolio.tiers import Contender, contend, run_until_plan, run_while, take_turns
from planner.search.astar_compiled import OWN_PRUNING, CompiledAstar
from planner.search.guided_search_compiled import CompiledLazy, CompiledMcts, CompiledWidth
from planner.search.lazy_best_first import lower_weights
from planner.search.plan_neighborhood import PartSearch
from planner.search.search_run import Run, Steps
from planner.search.task_compiled import Board
from planner.task.ground_task import State, facts_of

PART: Final = 400_000
"""Steps of inner loops between two pauses of a search for a window of a plan: about 1 ms."""
UNIT: Final = 500
"""Evaluations of the first greedy search before others join, and unit of the restarts of one of them."""
TURN: Final = 0.01
"""Seconds of the shortest turn of these searches."""


def compiled_search(
    board: Board,
    search: str,
    heuristic: str,
    costs: list[int],
    *,
    states: int | None = None,
    landmarks: bool = False,
    pruning: Collection[str] | None = None,
) -> Callable[[Run], Steps]:
    """Make the search of this name on `board`; its estimates add up `costs`, and it ends after so many `states`.

    With `landmarks`, greedy and weighted search count landmarks, and greedy search varies its order. A* uses only this
    `pruning`; None: all that is sound.
    """
    if search in {"astar", "uniform"}:
        kept = OWN_PRUNING if pruning is None else pruning
        return CompiledAstar(board, heuristic or "blind", states=states, pruning=kept).steps
    guide = Guide(board, costs, milestones=landmarks or search == "bfws")
    if search == "mcts":
        return lambda run: CompiledMcts(guide, run).steps()
    if search == "bfws":
        return CompiledWidth(guide).steps
    lazy = CompiledLazy(guide)
    if search == "weighted":
        return lambda run: lower_weights(lambda weight: lazy.weighted(run, weight))
    return (lambda run: _diversify_greedy(guide, run)) if landmarks else lazy.greedy


def part_search(board: Board, costs: list[int]) -> PartSearch:
    """Make a search for windows of plans on `board`; its estimates add up `costs`."""
    guide = Guide(board, costs, milestones=False)

    def search(state: State, goal: State, run: Run) -> Steps:
        part = guide.retarget(board.packed.pack(facts_of(state)), facts_of(goal))
        return (yield from CompiledLazy(part, work=PART).weighted(run, 1))

    return search


def _diversify_greedy(guide: Guide, run: Run) -> Steps:
    """Search greedily for a first plan; if that takes long, take turns with restarts in other orders and with BFWS.

    The time to a first plan varies much with the order of expansions, so that several orders are a better bet than one.
    """
    first, before = CompiledLazy(guide).greedy(run), run.evaluated
    ending = yield from run_while(first, lambda: run.evaluated - before < UNIT)
    if ending is not None:
        return ending
    by, width = run.by, ("bfws", run.by[1])
    contenders = [
        contend(run, lambda own, guard: CompiledLazy(guide.branch(guard)).restarting(own, UNIT), 1, by=by),
        Contender(first, 2, by=by),
        contend(run, lambda own, guard: CompiledWidth(guide.branch(guard)).steps(own), 1, by=width),
    ]
    turns = take_turns(contenders, run, shortest=TURN)
    return (yield from run_until_plan(turns, run))
