"""What is reached where tasks are partially ordered: a state, and the network of what is left to do.

What a method requires is checked as soon as it holds: a check stands in the network, before the subtasks, as long as it
does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from htn.search.arrays import Board
from htn.search.guide import Guide
from htn.search.networks import Network, network_of, replaced
from planner.annotations import Final, TypeVar
from planner.compiled.arrays import empty_index, words
from planner.compiled.library import fixed
from planner.compiled.lists import list_of
from planner.kernels.data import INFINITE
from planner.records import replace
from planner.search.space import Space
from planner.task import State, bits, facts_of

BATCH: Final = 1000
"""So many actions and methods are made before the budget is looked at."""
Node = tuple[State, Network]


class Nodes:
    """The nodes of the problem on `board`, and what they are estimated at: `costs` are those of actions, None: 1 each.

    The estimate counts `own` for every method. Moves are those of `htn.search.trees`, whose number is `kinds` for each
    place; tasks from `checks` on are checks.
    """

    def __init__(self, board: Board, costs: Sequence[int] | None, own: int) -> None:
        ground = board.ground
        self._board = board
        self.space = Space(replace(ground.task, actions=tuple(_watched(ground.task.actions, board.check))))
        self._actions = len(board.costs)
        self.checks = self._actions + len(ground.compounds)
        """The number of the check of method 0."""
        self._required = [bits(method.precondition) for method in _watched(ground.methods, board.check)]
        self._networks: list[Network | None] = [None] * len(ground.methods)
        guide = Guide.of(board, costs, own)
        self._least = board.hierarchy.least
        self._wanted = empty_index(board.relaxation.facts)
        self._state = words([0] * board.packed.words)
        self._compose = fixed(
            board.entries["compose"],
            self._wanted,
            guide.relaxed,
            guide.room,
            guide.achievers,
            guide.reachable,
            board.space,
            board.hierarchy,
            guide.demands,
            self._state,
        )
        self.kinds = len(ground.methods) + 1
        self._plans = 0

    @property
    def initial(self) -> Node:
        """The initial state, with all to be done."""
        root = self._board.ground.root
        assert root is not None  # noqa: S101 - nothing to search for otherwise
        return self.space.initial, ((root, 0),)

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""
        return self.space.is_goal(state)

    def is_method(self, move: int) -> bool:
        """Return whether `move` does a task by a method; else it is an action."""
        return bool(move % self.kinds)

    def is_compound(self, task: int) -> bool:
        """Return whether `task` is done by methods."""
        return self._actions <= task < self.checks

    def available(self, network: Network) -> list[int]:
        """Return the places of the tasks that nothing comes before, checks left out."""
        return [place for place, (task, before) in enumerate(network) if not before and task < self.checks]

    def successors(self, node: Node) -> list[tuple[Node, int]]:
        """Return `(next node, move)` for all that can be done now; for moves see `htn.search.trees`."""
        return [each for place in self.available(node[1]) for each in self.moves(node, place)]

    def moves(self, node: Node, place: int) -> list[tuple[Node, int]]:
        """Return the nodes that doing the task at `place` leads to, each with its move."""
        state, network = node
        task, full = network[place][0], self.space.closed(state)
        listed = self._place(network, place) * self.kinds
        if task >= self._actions:
            return [
                (self._checked(state, replaced(network, place, self._subtasks(method))), listed + method + 1)
                for method in self._board.ground.methods_of[task - self._actions]
            ]
        if self.space.preconditions[task] & ~full:
            return []
        return [(self._checked(self.space.apply(task, state), replaced(network, place, ())), listed)]

    def _place(self, network: Network, place: int) -> int:
        """Return the place of a task without counting checks."""
        return sum([task < self.checks for task, _ in network[:place]])

    def task(self, node: Node, move: int) -> int:
        """Return the task that `move` is about."""
        return [task for task, _ in node[1] if task < self.checks][move // self.kinds]

    def cost(self, node: Node, move: int) -> int:
        """Return what `move` costs."""
        return 0 if self.is_method(move) else self._board.costs[self.task(node, move)]

    def _subtasks(self, method: int) -> Network:
        """Return what takes the place of a task when `method` does it."""
        known = self._networks[method]
        if known is None:
            source = self._board.ground.methods[method]
            tasks, order = [*list_of(self._board.sequences, method)], self._board.order_of(method)
            if source.precondition:
                tasks = [self.checks + method, *tasks]
                order = [(one + 1, other + 1) for one, other in order] + [(0, each) for each in range(1, len(tasks))]
            known = self._networks[method] = network_of(tasks, order)
        return known

    def _checked(self, state: State, network: Network) -> Node:
        """Return the node, without the checks that can be made now."""
        full, place = self.space.closed(state), 0
        while place < len(network):
            task, before = network[place]
            if task >= self.checks and not before and not self._required[task - self.checks] & ~full:
                network = replaced(network, place, ())
                place = 0
            else:
                place += 1
        return state, network

    def left(self, network: Network) -> int:
        """Return what `network` costs at least."""
        return sum([self._least[task] for task, _ in network if task < self.checks])

    def estimate(self, node: Node) -> int:
        """Return what is left of `node` as a relaxed plan; `INFINITE` where nothing leads on."""
        board, again = self._board, 0
        tasks, facts = dict[int, None](), dict[int, None]()
        for task, _ in node[1]:
            if task >= self.checks:
                facts.update(dict.fromkeys(board.ground.methods[task - self.checks].precondition))
            elif task in tasks:
                again += self._least[task]
            else:
                tasks[task] = None
        for place, each in enumerate((*tasks, *facts)):
            self._wanted[place] = each
        self._plans += 1
        for place, each in enumerate(board.packed.pack(facts_of(self.space.closed(node[0])))):
            self._state[place] = each
        estimate = self._compose(len(tasks), len(facts), self._plans)
        return estimate if estimate == INFINITE else estimate + again


Item = TypeVar("Item")


def _watched(items: Iterable[Item], check: Callable[[], None]) -> Iterator[Item]:
    """Yield `items`, which take their time to be made, and `check` now and then."""
    iterator = iter(items)
    while batch := [*islice(iterator, BATCH)]:
        check()
        yield from batch
