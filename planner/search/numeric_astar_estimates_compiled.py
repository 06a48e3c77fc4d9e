"""The estimates of A* by kernels for tasks with numbers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final

from planner.heuristics.numeric_lmcut_compiled import MOST_COST as MOST_ACTION_COST
from planner.heuristics.numeric_lmcut_kernel import BoundRoom, NumericBounds
from planner.heuristics.numeric_state_equation_kernel import Equation, Tableau
from planner.search import astar_kernel as kernel
from planner.search.astar_estimates_compiled import Estimator

KINDS: Final = {
    "blind": kernel.BLIND,
    "hmax": kernel.NUMERIC_H_MAX,
    "lmcut": kernel.NUMERIC_LM_CUT,
    "equation": kernel.EQUATION,
    "equation+lmcut": kernel.EQUATION_AND_LM_CUT,
}
"""Estimates from facts and numbers, by name."""
Relax = Callable[[], tuple[NumericBounds, BoundRoom]]
Write = Callable[[], "tuple[Equation, Tableau] | None"]


class NumericEstimates(Estimator):
    """The named estimate from facts and numbers, by the relaxation of `relax` and the state equation of `write`.

    Where the equation is too large, "equation" gives up, and "equation+lmcut" uses LM-cut alone.
    """

    def __init__(self, heuristic: str, costs: Sequence[int], relax: Relax, write: Write) -> None:
        super().__init__(KINDS[heuristic])
        self._costs, self._relax, self._write = costs, relax, write

    def prepare(self) -> Generator[None, None, bool]:
        """Fill the arrays; return False where costs or the equation are too large."""
        if max(self._costs, default=0) > MOST_ACTION_COST:
            return False
        if self.kind >= kernel.EQUATION:
            written = self._write()
            if written is not None:
                self.arrays = self.arrays._replace(equation=written[0], tableau=written[1])
            elif self.kind == kernel.EQUATION:
                return False
            else:
                self.kind = kernel.NUMERIC_LM_CUT
            yield
        if self.kind not in (kernel.BLIND, kernel.EQUATION):
            bounds, room = self._relax()
            self.arrays = self.arrays._replace(bounds=bounds, bound_room=room)
            yield
        return True
