"""Progression search where tasks are partially ordered: whatever nothing comes before may be next.

The readable twin of the kernels, too, for total orders. What a method requires is checked as soon as it holds: a check
stands in the network, before the subtasks, as long as it does not.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice

from htn.search.arrays import Board
from htn.search.guide import Guide
from htn.search.networks import Network, network_of, replaced
from planner.annotations import Final, TypeVar
from planner.compiled.arrays import empty_index, words
from planner.compiled.lists import list_of
from planner.kernels.data import INFINITE
from planner.records import replace
from planner.search.run import Ending, Run, Steps
from planner.search.space import Space
from planner.task import State, bits, facts_of

BATCH: Final = 1000
"""So many actions and methods are made before the budget is looked at."""
Node = tuple[State, Network]
Way = tuple[Node, int]
"""The node before, and the move; see `htn.search.trees`."""


class Partial:
    """A search in the order of `past` · cost so far + `future` · estimate, which counts `own` for every method.

    With `past` 0 it is greedy, and counts steps and not costs.
    """

    def __init__(self, board: Board, past: int, future: int, own: int) -> None:
        ground = board.ground
        self._board, self._past, self._future = board, past, future
        self._space = Space(replace(ground.task, actions=tuple(_watched(ground.task.actions, board.check))))
        self._actions = len(board.costs)
        self._checks = self._actions + len(ground.compounds)
        """The number of the check of method 0."""
        self._required = [bits(method.precondition) for method in _watched(ground.methods, board.check)]
        self._networks: list[Network | None] = [None] * len(ground.methods)
        self._guide = Guide.of(board, board.costs if past else None, own)
        self._least = board.hierarchy.least
        self._wanted = empty_index(board.relaxation.facts)
        self._kinds = len(ground.methods) + 1
        self._plans = 0

    @property
    def initial(self) -> Node:
        """The initial state, with all to be done."""
        root = self._board.ground.root
        assert root is not None  # noqa: S101 - nothing to search for otherwise
        return self._space.initial, ((root, 0),)

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""
        return self._space.is_goal(state)

    def is_method(self, move: int) -> bool:
        """Return whether `move` does a task by a method; else it is an action."""
        return bool(move % self._kinds)

    def steps(self, run: Run, *, first: bool = False) -> Steps:
        """Search for plans cheaper than `run.limit`, and report their moves; the `first` one may be the last."""
        start = self.initial
        self._cost, self._way = {start: 0}, dict[Node, Way]()
        tickets = count()
        queue = [(0, 0, start)]
        closed: dict[Node, int] = {}
        while queue:
            _, _, node = heapq.heappop(queue)
            cost = self._cost[node]
            if closed.get(node, INFINITE) <= cost or cost + self._left(node[1]) >= run.limit:
                continue
            closed[node] = cost
            run.expanded += 1
            for child, move in self.successors(node):
                new = cost + (self._board.costs[self.task(node, move)] if not self.is_method(move) else 0)
                if new >= self._cost.get(child, INFINITE) or new + self._left(child[1]) >= run.limit:
                    continue
                self._cost[child], self._way[child] = new, (node, move)
                run.generated += 1
                if not child[1]:
                    if self.is_goal(child[0]):
                        run.found(self._moves(child), new)
                        if first:
                            return Ending.FIRST_PLAN
                    continue
                estimate = self.estimate(child, run)
                if estimate < INFINITE:
                    key = self._past * new + self._future * estimate
                    heapq.heappush(queue, (key, -next(tickets), child))
                yield
            yield
        run.proved(run.limit)
        return Ending.EXHAUSTED

    def successors(self, node: Node) -> list[tuple[Node, int]]:
        """Return `(next node, move)` for all that can be done now; for moves see `htn.search.trees`."""
        state, network = node
        full = self._space.closed(state)
        found: list[tuple[Node, int]] = []
        for place, (task, before) in enumerate(network):
            if before or task >= self._checks:
                continue
            listed = self._place(network, place) * self._kinds
            if task >= self._actions:
                for method in self._board.ground.methods_of[task - self._actions]:
                    after = replaced(network, place, self._subtasks(method))
                    found.append((self._checked(state, after), listed + method + 1))
            elif not self._space.preconditions[task] & ~full:
                after = replaced(network, place, ())
                found.append((self._checked(self._space.apply(task, state), after), listed))
        return found

    def _place(self, network: Network, place: int) -> int:
        """Return the place of a task without counting checks."""
        return sum([task < self._checks for task, _ in network[:place]])

    def task(self, node: Node, move: int) -> int:
        """Return the task that `move` is about."""
        return [task for task, _ in node[1] if task < self._checks][move // self._kinds]

    def _subtasks(self, method: int) -> Network:
        """Return what takes the place of a task when `method` does it."""
        known = self._networks[method]
        if known is None:
            source = self._board.ground.methods[method]
            tasks, order = [*list_of(self._board.sequences, method)], self._board.order_of(method)
            if source.precondition:
                tasks = [self._checks + method, *tasks]
                order = [(one + 1, other + 1) for one, other in order] + [(0, each) for each in range(1, len(tasks))]
            known = self._networks[method] = network_of(tasks, order)
        return known

    def _checked(self, state: State, network: Network) -> Node:
        """Return the node, without the checks that can be made now."""
        full, place = self._space.closed(state), 0
        while place < len(network):
            task, before = network[place]
            if task >= self._checks and not before and not self._required[task - self._checks] & ~full:
                network = replaced(network, place, ())
                place = 0
            else:
                place += 1
        return state, network

    def _left(self, network: Network) -> int:
        """Return what `network` costs at least."""
        return sum([self._least[task] for task, _ in network if task < self._checks])

    def estimate(self, node: Node, run: Run) -> int:
        """Return what the relaxed composition makes of `node`; `INFINITE` for dead ends, which are ones."""
        board, guide, again = self._board, self._guide, 0
        tasks, facts = dict[int, None](), dict[int, None]()
        for task, _ in node[1]:
            if task >= self._checks:
                facts.update(dict.fromkeys(board.ground.methods[task - self._checks].precondition))
            elif task in tasks:
                again += self._least[task]
            else:
                tasks[task] = None
        for place, each in enumerate((*tasks, *facts)):
            self._wanted[place] = each
        self._plans += 1
        run.evaluated += 1
        estimate = board.entries["compose"](
            len(tasks),
            len(facts),
            self._plans,
            self._wanted,
            guide.relaxed,
            guide.room,
            guide.achievers,
            guide.reachable,
            board.space,
            board.hierarchy,
            guide.demands,
            words(board.packed.pack(facts_of(self._space.closed(node[0])))),
        )
        return estimate if estimate == INFINITE else estimate + again

    def _moves(self, node: Node) -> list[int]:
        moves: list[int] = []
        while node in self._way:
            node, move = self._way[node]
            moves.append(move)
        return moves[::-1]


Item = TypeVar("Item")


def _watched(items: Iterable[Item], check: Callable[[], None]) -> Iterator[Item]:
    """Yield `items`, which take their time to be made, and `check` now and then."""
    iterator = iter(items)
    while batch := [*islice(iterator, BATCH)]:
        check()
        yield from batch
