"""Monte-Carlo tree search for policies by kernels; the policy found is read off as a graph of the reference tier."""

from __future__ import annotations

import contextlib
import time
from itertools import islice
from typing import Any, Final

from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, lengthen, reals, zeros
from planner.jit.common_kernel import DONE, EXHAUSTED, FULL
from planner.policies import value_iteration_kernel as kernel
from planner.policies.lao_star import Bounds, Check
from planner.policies.markov_decision_process import OPEN, STOP, Graph, Left, Option
from planner.policies.mdp_compiled import KernelHopes, ProcessBoard
from planner.policies.mdp_kernel import Met, Options, Outlook
from planner.policies.policy_iteration import Solution
from planner.policies.policy_mcts import EXPLORATION, FIRST_SWEEP, best_known
from planner.policies.policy_mcts_kernel import ROOT, Arms
from planner.policies.value_iteration import ROUNDS
from planner.policies.value_iteration_kernel import Swept
from planner.search.mcts import LOGARITHM_OF_2, LOGARITHMS, LOW_BITS
from planner.search.mcts_kernel import MOST, Bandit
from planner.search.task_compiled import WORK, enlarge_table, new_registry
from planner.task.ground_task import State


class CompiledTrials:
    """The search on `board`, with random numbers from `seed`."""

    def __init__(self, board: ProcessBoard, seed: int, *, work: int = WORK, room: int = 1024) -> None:
        self.board, self._work = board, work
        self.number = board.number
        self.number[slot.RANDOM] = seed & LOW_BITS
        left = board.aim.process.purse.full
        self.registry = new_registry(board.initial, room, board.entries)
        self.met = Met(zeros(room), zeros(room), empty_index(room), _floats(room))
        self.rows = new_registry([0, *left], room, board.entries)
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
        self.number[slot.STATES] = self.number[slot.NODES] = 1

    @property
    def simulations(self) -> int:
        """How many simulations were made."""
        return self.number[slot.SIMULATIONS]

    @property
    def values(self) -> list[float]:
        """What is expected of each reward, and of the cost, from the initial node on."""
        return list(self.outlook.value[: self.board.aim.rewards + 1])

    @property
    def is_settled(self) -> bool:
        """Whether the values of the initial node are exact."""
        return bool(self.number[slot.ENTERED]) and bool(self.outlook.settled[ROOT])

    def simulate(self, simulations: int | None, check: Check) -> None:
        """Go on until so many simulations were made in all, or all is settled; `check` raises to give up."""
        number, limit = self.number, MOST if simulations is None else simulations
        while True:
            number[slot.MOST_SIMULATIONS] = min(limit, self._sweep)
            outcome = self._call()
            check()
            if outcome == FULL:
                self._grow()
            elif outcome in (DONE, EXHAUSTED):
                if number[slot.SIMULATIONS] == self._sweep:
                    self.sweep(check)
                    self._sweep += self._sweep // 2
                if self.is_settled or number[slot.SIMULATIONS] >= limit:
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
        outlook, nodes = self.outlook, self.number[slot.NODES]
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
        new = number[slot.WIDE] * number[slot.MOST_BRANCHES] + 3
        states, nodes = number[slot.STATES] + new, number[slot.NODES] + new
        words, row, parts = board.packed.words, 1 + number[slot.BUDGETS], board.aim.rewards + 1
        length = _all(self.met, states)
        _all([self.registry.state], length * words)
        self.registry = enlarge_table(self.registry, number[slot.STATES], states, words, board.entries)
        length = _all(outlook[3:], nodes)
        _all(outlook[:3], length * parts)
        _all([self.rows.state], length * row)
        self.rows = enlarge_table(self.rows, number[slot.NODES], nodes, row, board.entries)
        _all([self._arms.path, *self._swept[:3]], length)
        length = _all(self.options[:5], number[slot.OPTIONS] + len(board.found))
        _all([self._swept.option], length)
        _all(self.options[5:], number[slot.BRANCHES] + new)


def _floats(length: int) -> Any:
    return reals([0.0]) * length


def _all(arrays: Any, length: int) -> int:
    """Lengthen `arrays`, which are of one length, if they are shorter; return what their length is then."""
    for each in arrays:
        if length > len(each):
            lengthen(each, length)
    return len(arrays[0])


SAME: Final = 1e-7
"""What a policy is worth and what was settled differ by no more than this part of it."""
FINISHING: Final = 0.2
"""When a limit is reached, what is known is made a policy in this part of the time that was spent."""
LEAST: Final = 0.1
"""And in so many seconds more."""


class _Enough(Exception):
    """There is no more time to make what is known a policy."""


def simulated_by_kernels(
    graph: Graph, bounds: Bounds, check: Check, simulations: int | None = None, seed: int = 0
) -> Solution:
    """Do what `planner.policies.policy_mcts.simulated` does; the hopes of the `graph` have the board."""
    assert isinstance(graph.aim.hopes, KernelHopes)
    search, began = CompiledTrials(graph.aim.hopes.board, seed), time.monotonic()
    try:
        search.simulate(simulations, check)
        if not search.is_settled:
            search.sweep(check)
    finally:
        bounds.simulations = search.simulations
        bounds.values = tuple(search.values if search.is_settled else search.hoped) or bounds.values
        if not search.is_settled:
            _close(search, time.monotonic() - began)
        take_over(graph, search)
    solution = best_known(graph, bounds, check)
    bounds.proved = all(
        abs(known[0] - value) <= SAME * max(1.0, abs(value))
        for known, value in zip(solution.values, bounds.values, strict=True)
    )
    return solution


def _close(search: CompiledTrials, seconds: float) -> None:
    """Let values and best options be what is known, as far as there is time."""
    until = time.monotonic() + FINISHING * seconds + LEAST

    def check() -> None:
        if time.monotonic() > until:
            raise _Enough

    with contextlib.suppress(_Enough):
        search.close(check)


def take_over(graph: Graph, search: CompiledTrials) -> None:
    """Give `graph` the nodes that the best options lead to from the initial one, with no other options than these."""
    explored = _Explored(graph, search)
    number: dict[int, int] = {}
    order, options = [ROOT], []
    number[ROOT] = 0
    for node in order:
        options.append(explored.options(node, number))
        order += [*islice(number, len(order), None)]
    inside = [here[0].choice == STOP for here in options]
    graph.abridge([explored.state(node) for node in order], [explored.left(node) for node in order], options, inside)


class _Explored:
    """Reads the arrays of `search`."""

    def __init__(self, graph: Graph, search: CompiledTrials) -> None:
        self._process, self._search = graph.process, search
        self._width = 1 + search.number[slot.BUDGETS]

    def options(self, node: int, number: dict[int, int]) -> list[Option]:
        """Return to stop, and the best option; or hope where nobody has looked. What is met gets a new `number`."""
        outlook, options = self._search.outlook, self._search.options
        if not outlook.inside[node]:
            return [self._end(OPEN, node)]
        found = [self._end(STOP, node)]
        if 0 < outlook.best[node] <= outlook.many[node]:
            option = outlook.first[node] + outlook.best[node] - 1
            places = range(options.start[option], options.end[option])
            branches = [(options.share[place], number.setdefault(options.node[place], len(number))) for place in places]
            choice = options.choice[option]
            found.append(Option(choice, self._process.choices[choice].cost, tuple(branches)))
        return found

    def _end(self, choice: int, node: int) -> Option:
        outlook, parts = self._search.outlook, self._search.board.aim.rewards + 1
        values = outlook.stop if choice == STOP else outlook.hope
        *rewards, cost = values[node * parts : (node + 1) * parts]
        return Option(choice, cost, (), tuple(rewards))

    def state(self, node: int) -> State:
        """Return the state of a node."""
        words = self._search.board.packed.words
        base = self._search.rows.state[node * self._width] * words
        return self._search.board.unpack(self._search.registry.state[base : base + words])

    def left(self, node: int) -> Left:
        """Return what is left of the budgets in a node."""
        return tuple(self._search.rows.state[node * self._width + 1 : (node + 1) * self._width])
