"""The searches of the compiled tier, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from planner.heuristics.search_guide_compiled import Guide
from planner.portfolio.tiers import Contender, take_turns
from planner.search.astar_compiled import CompiledAstar
from planner.search.best_first_width_compiled import CompiledWidth
from planner.search.lazy_best_first_compiled import CompiledLazy
from planner.search.mcts_compiled import CompiledMcts
from planner.search.plan_neighborhood import PartSearch
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import Board
from planner.search.weighted_astar import falling
from planner.task.ground_task import State, facts_of

PART: Final = 400_000
"""Steps of inner loops between two pauses of a search for a part of a plan."""
UNIT: Final = 500
"""Evaluations before greedy search is begun again in another order, beside the first."""
TURN: Final = 0.01
"""Seconds that each of these has at least."""


def compiled_search(
    board: Board, search: str, heuristic: str, costs: list[int], *, states: int | None = None, landmarks: bool = False
) -> Callable[[Run], Steps]:
    """Return the search of that name on `board`.

    Its estimates count `costs`. With `states`, it gives up after so many.
    """
    if search in {"astar", "uniform"}:
        return CompiledAstar(board, heuristic or "blind", states=states).steps
    guide = Guide(board, costs, milestones=landmarks or search == "bfws")
    if search == "mcts":
        return lambda run: CompiledMcts(guide, run).steps()
    if search == "bfws":
        return CompiledWidth(guide).steps
    lazy = CompiledLazy(guide)
    if search == "weighted":
        return lambda run: falling(lambda weight: lazy.weighted(run, weight))
    return (lambda run: _varied(guide, run)) if landmarks else lazy.greedy


def part_search(board: Board, costs: list[int]) -> PartSearch:
    """Return a search for parts of plans on `board`, whose estimates count `costs`."""
    guide = Guide(board, costs, milestones=False)

    def search(state: State, goal: State, run: Run) -> Steps:
        part = guide.between(board.packed.pack(facts_of(state)), facts_of(goal))
        return (yield from CompiledLazy(part, work=PART).weighted(run, 1))

    return search


def _varied(guide: Guide, run: Run) -> Steps:
    """Search greedily, and when that lasts, by turns also in other orders, and by novelty.

    How long it takes to a plan is much a matter of luck, and one search is lucky where another one is not. It ends with
    the first plan, whoever finds it.
    """
    first, before = CompiledLazy(guide).greedy(run), run.evaluated
    while run.evaluated - before < UNIT:
        try:
            next(first)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        yield
    restarting, width = CompiledLazy(guide).restarting(run, UNIT), CompiledWidth(guide).steps(run)
    shares = ((restarting, 1), (first, 2), (width, 1))
    turns = take_turns([Contender(steps, share, by=run.by) for steps, share in shares], run, shortest=TURN)
    while run.plan is None:
        try:
            next(turns)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        yield
    return Ending.FIRST_PLAN
