"""Progression search over task networks, for partially ordered tasks: it processes any task without predecessors.

A node is a state and a network, a tuple of `(task, before)`: `before` are the places of all (transitive) predecessors
of the task, as bits. Subtasks replace their task in place, so that equivalent networks are mostly equal. A method's
precondition is a *check*, a task before its subtasks that is done as soon as it holds.

For total orders, this is also the readable twin of the kernels.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice

from htn.model import transitive_successors
from htn.search.packed_hierarchy import PackedHierarchy, make_guide
from planner.jit.arrays import empty_index, list_of, words
from planner.jit.common_kernel import INFINITE
from planner.jit.library import bind_last
from planner.lightweight import Final, TypeVar, replace
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import State, bits, facts_of
from planner.task.numeric_space import NO_STATE, NumericSpace
from planner.task.successor_generator import Space

Entry = tuple[int, int]
Network = tuple[Entry, ...]


def network_of(tasks: Sequence[int], ordering: Sequence[tuple[int, int]]) -> Network:
    """Return the network of `tasks`, in this order; `ordering` has pairs of places."""
    before = [0] * len(tasks)
    for place, after in enumerate(transitive_successors(len(tasks), ordering)):
        for later in facts_of(after):
            before[later] |= 1 << place
    return tuple(zip(tasks, before, strict=True))


def replace_task(network: Network, place: int, by: Network) -> Network:
    """Replace the task at `place`, which has no predecessor, by the network `by`."""
    below, more = (1 << place) - 1, len(by)
    whole = (1 << more) - 1 << place

    def shift(before: int) -> int:
        rest = before & below | before >> place + 1 << place + more
        return rest | whole if before >> place & 1 else rest

    return (
        *[(task, shift(before)) for task, before in network[:place]],
        *[(task, before << place) for task, before in by],
        *[(task, shift(before)) for task, before in network[place + 1 :]],
    )


BATCH: Final = 1000
"""Number of actions and methods between two checks of the limits."""
Node = tuple[State, Network]


class NetworkSpace:
    """The state space of nodes; estimates count the `costs` of actions (None: 1 each) and `own` per method.

    Moves are those of `htn.search.htn_incumbent.tree_of`; each place has `kinds` of moves. Tasks from number `checks`
    on are checks.
    """

    def __init__(self, packed: PackedHierarchy, costs: Sequence[int] | None, own: int) -> None:
        ground = packed.ground
        self._packed = packed
        task = replace(ground.task, actions=tuple(_with_checks(ground.task.actions, packed.check)))
        self.space = Space(task) if ground.numeric is None else NumericSpace(replace(ground.numeric, task=task))
        self._actions = len(packed.costs)
        self.checks = self._actions + len(ground.compounds)
        """The number of the check of method 0."""
        self._required = [bits(method.precondition) for method in _with_checks(ground.methods, packed.check)]
        self._networks: list[Network | None] = [None] * len(ground.methods)
        guide = make_guide(packed, costs, own)
        self._least = packed.hierarchy.least
        self._wanted = empty_index(packed.relaxation.facts)
        self._state = words([0] * packed.packing.words)
        arrays = self._wanted, guide, packed.space, packed.hierarchy, self._state
        self._compose = bind_last(packed.entries["estimate_network"], *arrays)
        self.kinds = len(ground.methods) + 1
        self._plans = 0

    @property
    def initial(self) -> Node:
        """The initial state with the root task."""
        root = self._packed.ground.root
        assert root is not None
        return self.space.initial, ((root, 0),)

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""
        return self.space.is_goal(state)

    def is_method(self, move: int) -> bool:
        """Return whether `move` decomposes a task; else it applies an action."""
        return bool(move % self.kinds)

    def is_compound(self, task: int) -> bool:
        """Return whether `task` is compound."""
        return self._actions <= task < self.checks

    def available(self, network: Network) -> list[int]:
        """Return the places of the tasks without predecessors, not counting checks."""
        return [place for place, (task, before) in enumerate(network) if not before and task < self.checks]

    def successors(self, node: Node) -> list[tuple[Node, int]]:
        """Return `(next node, move)` for each move from `node`."""
        return [each for place in self.available(node[1]) for each in self.moves(node, place)]

    def moves(self, node: Node, place: int) -> list[tuple[Node, int]]:
        """Return `(next node, move)` for each move on the task at `place`."""
        state, network = node
        task, full = network[place][0], self.space.closed(state)
        first = self._place(network, place) * self.kinds
        if task >= self._actions:
            return [
                (self._drop_checks(state, replace_task(network, place, self._network_of(method))), first + method + 1)
                for method in self._packed.ground.methods_of[task - self._actions]
            ]
        if self.space.preconditions[task] & ~full:
            return []
        after = self.space.apply(task, state)
        return [] if after == NO_STATE else [(self._drop_checks(after, replace_task(network, place, ())), first)]

    def _place(self, network: Network, place: int) -> int:
        """Return the place of a task, not counting checks."""
        return sum([task < self.checks for task, _ in network[:place]])

    def task(self, node: Node, move: int) -> int:
        """Return the task that `move` applies or decomposes."""
        return [task for task, _ in node[1] if task < self.checks][move // self.kinds]

    def cost(self, node: Node, move: int) -> int:
        """Return the cost of `move`."""
        return 0 if self.is_method(move) else self._packed.costs[self.task(node, move)]

    def _network_of(self, method: int) -> Network:
        """Return the network of the subtasks of `method`."""
        known = self._networks[method]
        if known is None:
            source = self._packed.ground.methods[method]
            tasks, order = [*list_of(self._packed.sequences, method)], self._packed.order_of(method)
            if source.precondition:
                tasks = [self.checks + method, *tasks]
                order = [(one + 1, other + 1) for one, other in order] + [(0, each) for each in range(1, len(tasks))]
            known = self._networks[method] = network_of(tasks, order)
        return known

    def _drop_checks(self, state: State, network: Network) -> Node:
        """Return the node without the checks that hold in `state`."""
        full, place = self.space.closed(state), 0
        while place < len(network):
            task, before = network[place]
            if task >= self.checks and not before and not self._required[task - self.checks] & ~full:
                network = replace_task(network, place, ())
                place = 0
            else:
                place += 1
        return state, network

    def least_cost(self, network: Network) -> int:
        """Return the least cost of `network` in any state."""
        return sum([self._least[task] for task, _ in network if task < self.checks])

    def estimate(self, node: Node) -> int:
        """Return the size of a relaxed plan for the network of `node`; `INFINITE` for a dead end."""
        packed, again = self._packed, 0
        tasks, facts = dict[int, None](), dict[int, None]()
        for task, _ in node[1]:
            if task >= self.checks:
                facts.update(dict.fromkeys(packed.ground.methods[task - self.checks].precondition))
            elif task in tasks:
                again += self._least[task]
            else:
                tasks[task] = None
        for place, each in enumerate((*tasks, *facts)):
            self._wanted[place] = each
        self._plans += 1
        for place, each in enumerate(packed.packing.pack(facts_of(self.space.closed(node[0])))):
            self._state[place] = each
        estimate = self._compose(len(tasks), len(facts), self._plans)
        return estimate if estimate == INFINITE else estimate + again


Item = TypeVar("Item")


def _with_checks(items: Iterable[Item], check: Callable[[], None]) -> Iterator[Item]:
    """Yield `items`, which take long to compute, and call `check` after each batch."""
    iterator = iter(items)
    while batch := [*islice(iterator, BATCH)]:
        check()
        yield from batch


class NetworkProgression:
    """A best-first search in the order of `past` · cost so far + `future` · estimate.

    The estimate counts `own` per method. With `past` 0 the search is greedy, and counts steps instead of costs.
    """

    def __init__(self, packed: PackedHierarchy, past: int, future: int, own: int) -> None:
        self._past, self._future = past, future
        self._space = NetworkSpace(packed, packed.costs if past else None, own)

    def steps(self, run: Run, *, first: bool = False) -> Steps:
        """Search for plans cheaper than `run.limit`, and report their moves; with `first`, stop at the first plan."""
        space, start = self._space, self._space.initial
        self._cost, self._parent = {start: 0}, dict[Node, tuple[Node, int]]()
        tickets = count()
        queue = [(0, 0, start)]
        closed: dict[Node, int] = {}
        while queue:
            _, _, node = heapq.heappop(queue)
            cost = self._cost[node]
            if closed.get(node, INFINITE) <= cost or cost + space.least_cost(node[1]) >= run.limit:
                continue
            closed[node] = cost
            run.expanded += 1
            for child, move in space.successors(node):
                new = cost + space.cost(node, move)
                if new >= self._cost.get(child, INFINITE) or new + space.least_cost(child[1]) >= run.limit:
                    continue
                self._cost[child], self._parent[child] = new, (node, move)
                run.generated += 1
                if not child[1]:
                    if space.is_goal(child[0]):
                        run.report_plan(self._moves(child), new)
                        if first:
                            return Ending.FIRST_PLAN
                    continue
                run.evaluated += 1
                estimate = space.estimate(child)
                if estimate < INFINITE:
                    key = self._past * new + self._future * estimate
                    heapq.heappush(queue, (key, -next(tickets), child))
                yield
            yield
        run.raise_bound(run.limit)
        return Ending.EXHAUSTED

    def _moves(self, node: Node) -> list[int]:
        moves: list[int] = []
        while node in self._parent:
            node, move = self._parent[node]
            moves.append(move)
        return moves[::-1]
