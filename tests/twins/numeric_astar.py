"""A* by kernels on a numeric space, as tests ask for it."""

from __future__ import annotations

from planner.heuristics.numeric_lmcut_compiled import bound_numeric
from planner.heuristics.numeric_state_equation_compiled import write_state_equation
from planner.jit.common_kernel import ENTRIES
from planner.search.astar_compiled import NO_PRICES, CompiledAstar
from planner.search.numeric_astar_estimates_compiled import NumericEstimates
from planner.search.search_run import Ending, Run
from planner.search.task_compiled import Board
from planner.task.numeric_pricing import Pricing
from planner.task.numeric_task_compiled import NumericSpace


def search_numbers(
    space: NumericSpace, heuristic: str, weight: int = 1, pricing: Pricing | None = None, *, symmetries: bool = False
) -> tuple[Ending, Run]:
    """Return how the search in plain Python ended, and what it found."""
    run, board = Run(), Board(space.source.task, ENTRIES, patient=True, numeric=space)
    costs = board.costs if pricing is None else pricing.least
    estimator = NumericEstimates(
        heuristic, costs, lambda: bound_numeric(space, costs), lambda: write_state_equation(space, costs)
    )
    prices, pruning = NO_PRICES if pricing is None else pricing.prices, ("symmetries",) if symmetries else ()
    search = CompiledAstar(board, estimator=estimator, weight=weight, prices=prices, pruning=pruning, room=4)
    steps = search.steps(run)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value, run
