"""Monte-Carlo tree search for policies by kernels."""

from __future__ import annotations

from typing import Any

from planner.compiled.accounts import WORK
from planner.compiled.arrays import empty_index, lengthened, reals, zeros
from planner.compiled.process import ProcessBoard
from planner.compiled.states import first_registry, with_table
from planner.kernels import numbers as n
from planner.kernels import sweeps as kernel
from planner.kernels.bandit import Bandit
from planner.kernels.mcts import MOST
from planner.kernels.process import Met, Options, Outlook
from planner.kernels.sweeps import Swept
from planner.kernels.trials import ROOT, Arms
from planner.search.bandit import LOGARITHM_OF_2, LOGARITHMS, LOW_BITS
from planner.uncertain.exact import Check
from planner.uncertain.mcts import EXPLORATION, FIRST_SWEEP
from planner.uncertain.sweeps import ROUNDS


class CompiledTrials:
    """The search on `board`, with random numbers from `seed`."""

    def __init__(self, board: ProcessBoard, seed: int, *, work: int = WORK, room: int = 1024) -> None:
        self.board, self._work = board, work
        self.number = board.number
        self.number[n.RANDOM] = seed & LOW_BITS
        left = board.aim.process.purse.full
        self.registry = first_registry(board.initial, room, board.entries)
        self.met = Met(zeros(room), zeros(room), empty_index(room), _floats(room))
        self.rows = first_registry([0, *left], room, board.entries)
        parts = room * (board.aim.rewards + 1)
        nodes = [zeros(room), zeros(room), *[empty_index(room) for _ in range(7)]]
        self.outlook = Outlook(_floats(parts), _floats(parts), _floats(parts), *nodes)
        self.options = Options(
            empty_index(room),
            _floats(room),
            zeros(room),
            empty_index(room),
            empty_index(room),
            _floats(room),
            empty_index(room),
        )
        most = len(board.found)
        self._arms = Arms(
            empty_index(most), _floats(3 * max(2, most)), _floats(most), empty_index(most), empty_index(room)
        )
        places = [empty_index(room) for _ in range(4)]
        self._swept = Swept(places[0], places[1], places[2], places[3], reals([board.far]))
        self._bandit = Bandit(reals(LOGARITHMS), reals([LOGARITHM_OF_2, EXPLORATION]))
        self._sweep = FIRST_SWEEP
        self.hoped: list[float] = []
        """What the initial node may be worth at best, once that was computed."""
        self.number[n.STATES] = self.number[n.NODES] = 1

    @property
    def simulations(self) -> int:
        """How many simulations were made."""
        return self.number[n.SIMULATIONS]

    @property
    def values(self) -> list[float]:
        """What is expected of each reward, and of the cost, from the initial node on."""
        return list(self.outlook.value[: self.board.aim.rewards + 1])

    @property
    def is_settled(self) -> bool:
        """Whether the values of the initial node are exact."""
        return bool(self.number[n.ENTERED]) and bool(self.outlook.settled[ROOT])

    def simulate(self, simulations: int | None, check: Check) -> None:
        """Go on until so many simulations were made in all, or all is settled; `check` raises to give up."""
        number, limit = self.number, MOST if simulations is None else simulations
        while True:
            number[n.MOST_SIMULATIONS] = min(limit, self._sweep)
            outcome = self._call()
            check()
            if outcome == n.FULL:
                self._grow()
            elif outcome in (n.DONE, n.EXHAUSTED):
                if number[n.SIMULATIONS] == self._sweep:
                    self.sweep(check)
                    self._sweep += self._sweep // 2
                if self.is_settled or number[n.SIMULATIONS] >= limit:
                    return

    def _call(self) -> int:
        board = self.board
        return board.entries["trials"](
            self._work,
            self.number,
            board.space,
            board.choices,
            board.aims,
            self.registry,
            self.met,
            self.rows,
            self.outlook,
            self.options,
            self._arms,
            self._bandit,
            board.relaxed,
            board.prices,
            board.room,
            board.guess,
            board.found,
            board.stack,
        )

    def sweep(self, check: Check) -> None:
        """Bring all values up to date, and note what is settled, and what may be hoped for at best."""
        if self._solve(kernel.HOPEFUL, check):
            self.hoped = self.values
            self._ask(kernel.SETTLE)
            while not self._ask(kernel.DOUBT):
                check()
        outlook, nodes = self.outlook, self.number[n.NODES]
        if any(made < total for made, total in zip(outlook.made[:nodes], outlook.total[:nodes], strict=True)):
            self._solve(kernel.LIKELY, check)

    def close(self, check: Check) -> None:
        """Let all values, and the best options, be what is known: nothing is hoped for where nobody has looked."""
        self._solve(kernel.CLOSED, check)

    def _solve(self, mode: int, check: Check) -> bool:
        """Find the values of all nodes that are not settled; return whether all of them were found."""
        self._ask(kernel.BEGIN, mode=mode)
        rewards, found = self.board.aim.rewards, True
        for part in range(rewards + 1):
            self._ask(kernel.START, part)
            found = self._rest(part, check) and found
            if part < rewards:
                self._ask(kernel.KEEP, part)
        return found

    def _rest(self, part: int, check: Check) -> bool:
        """Let one part of the values come to rest; return whether it does."""
        for _ in range(ROUNDS):
            check()
            if self._ask(kernel.ROUND, part):
                return True
        return False

    def _ask(self, asked: int, part: int = 0, *, mode: int = 0) -> int:
        sweep = self.board.entries["sweep"]
        return sweep(asked, part, mode, self.number, self.outlook, self.options, self._swept)

    def _grow(self) -> None:
        """Lengthen what is short."""
        number, board, outlook = self.number, self.board, self.outlook
        new = number[n.WIDE] * number[n.MOST_BRANCHES] + 3
        states, nodes = number[n.STATES] + new, number[n.NODES] + new
        words, row, parts = board.packed.words, 1 + number[n.BUDGETS], board.aim.rewards + 1
        length = _all(self.met, states)
        _all([self.registry.state], length * words)
        self.registry = with_table(self.registry, number[n.STATES], states, words, board.entries)
        length = _all(outlook[3:], nodes)
        _all(outlook[:3], length * parts)
        _all([self.rows.state], length * row)
        self.rows = with_table(self.rows, number[n.NODES], nodes, row, board.entries)
        _all([self._arms.path, *self._swept[:3]], length)
        length = _all(self.options[:5], number[n.OPTIONS] + len(board.found))
        _all([self._swept.option], length)
        _all(self.options[5:], number[n.BRANCHES] + new)


def _floats(length: int) -> Any:
    return reals([0.0]) * length


def _all(arrays: Any, length: int) -> int:
    """Lengthen `arrays`, which are of one length, if they are shorter; return what their length is then."""
    for each in arrays:
        if length > len(each):
            lengthened(each, length)
    return len(arrays[0])
