"""What may be hoped for in states of a decision process, by kernels."""

from __future__ import annotations

from array import array

from planner.compiled.process import ProcessBoard
from planner.kernels import numbers as n
from planner.kernels.data import INFINITE
from planner.task import INFINITY, State
from planner.uncertain.aims import FINE, IMPOSSIBLE


class KernelHopes:
    """Lower bounds as `planner.uncertain.aims.Hopes` has them, by the kernels of `board`."""

    def __init__(self, board: ProcessBoard) -> None:
        self.board = board

    def luckiest(self, state: State) -> int:
        """Return a lower bound on what the goal costs with luck."""
        value = self._hoped(self.board.prices.lucky, state)
        return INFINITY if value == INFINITE else value

    def expected(self, state: State) -> float:
        """Return a lower bound on the expected cost of reaching the goal; `IMPOSSIBLE` where no outcomes lead to it."""
        value = self._hoped(self.board.prices.average, state)
        return IMPOSSIBLE if value == INFINITE else value / FINE

    def _hoped(self, costs: array[int], state: State) -> int:
        board = self.board
        relaxed, number = board.relaxed._replace(cost=costs), board.number
        coding, hoped = board.space.coding, board.entries["hoped"]
        return hoped(number[n.KIND], number, relaxed, board.room, board.guess, coding, board.pack(state), 0)
