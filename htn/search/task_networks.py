"""What is reached where tasks are partially ordered: a state, and the network of what is left to do.

What a method requires is checked as soon as it holds: a check stands in the network, before the subtasks, as long as it
does not.

What is left to do, where tasks are partially ordered.

A network is a tuple of `(task, before)`: `before` are the places in the tuple, as bits, of all tasks that come before
it, also those between which others stand. Subtasks take the place of their task, so that networks that say the same are
mostly equal.

Progression search where tasks are partially ordered: whatever nothing comes before may be next.

The readable twin of the kernels, too, for total orders.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice

from htn.model import closure
from htn.search.ground_hierarchy import Board
from htn.search.search_guide import Guide
from planner.jit.arrays import empty_index, list_of, words
from planner.jit.common_kernel import INFINITE
from planner.jit.library import bind_last
from planner.lightweight import Final, TypeVar, replace
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import State, bits, facts_of
from planner.task.state_space import Space

Entry = tuple[int, int]
Network = tuple[Entry, ...]


def network_of(tasks: Sequence[int], ordering: Sequence[tuple[int, int]]) -> Network:
    """Return the network of `tasks` in this order, with pairs of places whose order matters."""
    before = [0] * len(tasks)
    for place, after in enumerate(closure(len(tasks), ordering)):
        for later in facts_of(after):
            before[later] |= 1 << place
    return tuple(zip(tasks, before, strict=True))


def replaced(network: Network, place: int, by: Network) -> Network:
    """Return `network` with the networks `by` instead of the task at `place`, which nothing comes before."""
    below, more = (1 << place) - 1, len(by)
    whole = (1 << more) - 1 << place

    def moved(before: int) -> int:
        rest = before & below | before >> place + 1 << place + more
        return rest | whole if before >> place & 1 else rest

    return (
        *[(task, moved(before)) for task, before in network[:place]],
        *[(task, before << place) for task, before in by],
        *[(task, moved(before)) for task, before in network[place + 1 :]],
    )


BATCH: Final = 1000
"""So many actions and methods are made before limits are looked at."""
Node = tuple[State, Network]


class Nodes:
    """The nodes of the problem on `board`, and what they are estimated at: `costs` are those of actions, None: 1 each.

    The estimate counts `own` for every method. Moves are those of `htn.search.plan_extraction`, whose number is `kinds`
    for each place; tasks from `checks` on are checks.
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
        self._compose = bind_last(
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
        assert root is not None
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
        """Return `(next node, move)` for all that can be done now; for moves see `htn.search.plan_extraction`."""
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


Way = tuple[Node, int]
"""The node before, and the move; see `htn.search.plan_extraction`."""


class Partial:
    """A search in the order of `past` · cost so far + `future` · estimate, which counts `own` for every method.

    With `past` 0 it is greedy, and counts steps and not costs.
    """

    def __init__(self, board: Board, past: int, future: int, own: int) -> None:
        self._past, self._future = past, future
        self._nodes = Nodes(board, board.costs if past else None, own)

    def steps(self, run: Run, *, first: bool = False) -> Steps:
        """Search for plans cheaper than `run.limit`, and report their moves; the `first` one may be the last."""
        nodes, start = self._nodes, self._nodes.initial
        self._cost, self._way = {start: 0}, dict[Node, Way]()
        tickets = count()
        queue = [(0, 0, start)]
        closed: dict[Node, int] = {}
        while queue:
            _, _, node = heapq.heappop(queue)
            cost = self._cost[node]
            if closed.get(node, INFINITE) <= cost or cost + nodes.left(node[1]) >= run.limit:
                continue
            closed[node] = cost
            run.expanded += 1
            for child, move in nodes.successors(node):
                new = cost + nodes.cost(node, move)
                if new >= self._cost.get(child, INFINITE) or new + nodes.left(child[1]) >= run.limit:
                    continue
                self._cost[child], self._way[child] = new, (node, move)
                run.generated += 1
                if not child[1]:
                    if nodes.is_goal(child[0]):
                        run.report_plan(self._moves(child), new)
                        if first:
                            return Ending.FIRST_PLAN
                    continue
                run.evaluated += 1
                estimate = nodes.estimate(child)
                if estimate < INFINITE:
                    key = self._past * new + self._future * estimate
                    heapq.heappush(queue, (key, -next(tickets), child))
                yield
            yield
        run.raise_bound(run.limit)
        return Ending.EXHAUSTED

    def _moves(self, node: Node) -> list[int]:
        moves: list[int] = []
        while node in self._way:
            node, move = self._way[node]
            moves.append(move)
        return moves[::-1]
