"""The policy that a search by kernels has found, as a graph of the reference tier."""

from __future__ import annotations

import contextlib
import time
from itertools import islice
from typing import Final

from planner.compiled.hopes import KernelHopes
from planner.compiled.trials import CompiledTrials
from planner.kernels import numbers as n
from planner.kernels.trials import ROOT
from planner.task import State
from planner.uncertain.exact import Bounds, Check
from planner.uncertain.graph import OPEN, STOP, Graph, Option
from planner.uncertain.lexicographic import Solution
from planner.uncertain.mcts import best_known
from planner.uncertain.purse import Left

SAME: Final = 1e-7
"""What a policy is worth and what was settled differ by no more than this part of it."""
FINISHING: Final = 0.2
"""When a limit is reached, what is known is made a policy in this part of the time that was spent."""
LEAST: Final = 0.1
"""And in so many seconds more."""


class _Enough(Exception):  # noqa: N818 - it is no error
    """There is no more time to make what is known a policy."""


def simulated_by_kernels(
    graph: Graph, bounds: Bounds, check: Check, simulations: int | None = None, seed: int = 0
) -> Solution:
    """Do what `planner.uncertain.mcts.simulated` does; the hopes of the `graph` have the board."""
    assert isinstance(graph.aim.hopes, KernelHopes)  # noqa: S101 - whoever calls has seen to that
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
        self._width = 1 + search.number[n.BUDGETS]

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
