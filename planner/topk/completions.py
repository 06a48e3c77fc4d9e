"""Enumerates the paths from a state to the goal by cost, on demand.

This is the recursive enumeration algorithm (Jiménez and Marzal, 1999). A node is a state with the relevant data about
the path to it. Each node keeps the list of its completions found so far, and a heap of candidates for the next one: an
edge, and a place in the list of the node behind the edge. Nodes share these lists.

Sleep sets (Godefroid, 1990) leave one order of independent steps: an action that could have come before an independent
one with a higher number sleeps until a dependent action wakes it. Each plan comes in its lexicographically first order,
so that the enumeration need not compare plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace

from planner.lightweight import Any, Final, dataclass, field
from planner.task.ground_task import INFINITY
from planner.topk.exploration import Part
from planner.topk.partial_order_reduction import Sleep

HERE = -1
"""Replaces the place of an edge where the plan ends."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The edges from a state (action and successor), their entries for the heap of a node, and the actions as bits."""

    edges: list[tuple[int, int]]
    waiting: list[tuple[int, int, int]]
    actions: int


NOWHERE: Final = Ways([], [], 0)


@dataclass(slots=True, eq=False)
class Node:
    """A `state`, the actions `asleep`, the states that subsequences of the path lead to (`spare`), and the cost `left`.

    `edges` are pairs of an action and its successor. `found` are the completions so far: weight, place of the edge, and
    place in the list of the next node. `waiting` is a heap of such entries for the next ones, whose weights are lower
    bounds. `alive` says whether there are any completions, once that is known.
    """

    state: int
    asleep: int
    spare: frozenset[int]
    left: int
    edges: list[tuple[int, int]]
    waiting: list[tuple[int, int, int]]
    nodes: dict[int, Node | None] = field(default_factory=dict)
    found: list[tuple[int, int, int]] = field(default_factory=list)
    alive: bool | None = None


class Completions:
    """Enumerates all plans within `part` by the weights of their actions.

    With `sleep`, each comes in one order of its independent steps. With `frugal`, plans are left out that remain plans
    without some of their steps; otherwise all weights must be positive, or the enumeration might not proceed. `check`
    raises when a limit is reached.
    """

    def __init__(
        self,
        part: Part,
        weights: Sequence[int],
        sleep: Sleep | None,
        check: Callable[[], None],
        *,
        frugal: bool,
    ) -> None:
        self._part, self._weights, self._check, self._frugal = part, weights, check, frugal
        self._sleep = sleep
        self._nodes: dict[Any, Node] = {}
        self._known: dict[Any, Ways] = {}
        self._over = INFINITY
        self._root = self._node(part.start, 0, frozenset(), part.bound)

    def __iter__(self) -> Iterator[list[int]]:
        """Yield plans as lists of actions."""
        rank = 0
        while True:
            self._advance(self._root, self._part.bound)
            if rank == len(self._root.found):
                break
            yield self._actions_of(rank)
            rank += 1

    @property
    def beyond(self) -> int:
        """Lower bound on the weight of all other plans, once these are listed; `INFINITY` if there are none."""
        return min([self._part.beyond, self._over, *[weight for weight, _, _ in self._root.waiting[:1]]])

    def _node(self, state: int, asleep: int, spare: frozenset[int], left: int) -> Node:
        """Return the node with these properties; build it at first use."""
        key = (state, asleep, spare, left) if self._frugal else (state, asleep)
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = self._make_node(state, asleep, spare, left)
        return node

    def _make_node(self, state: int, asleep: int, spare: frozenset[int], left: int) -> Node:
        is_goal = self._part.is_goal(state)
        ways = NOWHERE if is_goal and self._frugal else self._ways(state, left)
        node = Node(state, asleep, spare, left, ways.edges, [(0, HERE, 0)] if is_goal else [], alive=is_goal or None)
        if not asleep:
            node.waiting += ways.waiting
        else:
            node.waiting += [each for each in ways.waiting if self._is_awake(node, each[1])]
        heapify(node.waiting)
        return node

    def _is_awake(self, node: Node, place: int) -> bool:
        """Return whether the action of the edge at `place` is awake."""
        return not node.asleep or self._sleep is None or not node.asleep & self._sleep.bit(node.edges[place][0])

    def _ways(self, state: int, left: int) -> Ways:
        """Return the edges from `state` that a plan may take with the cost `left`."""
        key = (state, left) if self._frugal else state
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._find_ways(state, left)
        return found

    def _find_ways(self, state: int, left: int) -> Ways:
        weights, distance = self._weights, self._part.distance
        edges: list[tuple[int, int]] = []
        waiting: list[tuple[int, int, int]] = []
        for action, child in self._part.edges(state).items():
            weight = weights[action] + distance(child)
            if weight <= left or not self._frugal:
                waiting.append((weight, len(edges), 0))
                edges.append((action, child))
            else:
                self._over = min(self._over, self._part.bound + weight - left)
        actions = [action for action, _ in edges]
        return Ways(edges, waiting, self._sleep.bits(actions) if self._sleep else 0)

    def _next(self, node: Node, place: int) -> Node | None:
        """Return the node behind an edge of `node`; None if it has no completions, or the path has wasted steps."""
        if place not in node.nodes:
            child = self._follow(node, place)
            if child is not None and self._sleep is not None and not self._frugal:
                self._look_ahead(child)
                child = child if child.alive else None
            node.nodes[place] = child
        return node.nodes[place]

    def _look_ahead(self, start: Node) -> None:
        """Decide whether any completion of `start` is awake; otherwise the search for one could cycle."""
        seen, path = {start}, [(start, iter(range(len(start.edges))))]
        while path:
            node, places = path[-1]
            if node.alive or node.found:
                for each, _ in path:
                    each.alive = True
                return
            for place in places if node.alive is None else ():
                child = self._follow(node, place) if self._is_awake(node, place) else None
                if child is not None and child not in seen:
                    seen.add(child)
                    path.append((child, iter(range(len(child.edges)))))
                    break
            else:
                path.pop()
        for each in seen:
            each.alive = False

    def _follow(self, node: Node, place: int) -> Node | None:
        action, state = node.edges[place]
        left, spare = node.left, node.spare
        if self._frugal:
            left -= self._weights[action]
            spare = self._subsequence_states(node, action, left)
            if state in spare or any(self._part.is_goal(other) for other in spare):
                return None
        asleep = 0
        if self._sleep is not None:
            earlier = node.asleep | self._sleep.bits([each for each, _ in node.edges[:place]])
            asleep = self._sleep.keep_asleep(node.state, earlier, action) if earlier else 0
            asleep = asleep and asleep & self._ways(state, left).actions
        return self._node(state, asleep, spare, left)

    def _subsequence_states(self, node: Node, action: int, left: int) -> frozenset[int]:
        """Return the states that proper subsequences of the path up to `action` reach.

        Only states count from which the goal is within cost `left`: only from these can a subsequence of the rest of a
        plan reach the goal.
        """
        distance = self._part.distance
        if not node.spare and distance(node.state) > left:
            return node.spare
        found = {node.state, *node.spare}
        found.update([self._part.edges(state).get(action, state) for state in node.spare])
        return frozenset([state for state in found if distance(state) <= left])

    def _advance(self, root: Node, limit: int) -> None:
        """Find the next completion of `root` of weight at most `limit`, with an explicit stack for the recursion."""
        stack = [(root, limit)]
        while stack:
            self._check()
            node, limit = stack[-1]
            deeper = self._try(node, limit)
            if deeper is None:
                stack.pop()
            else:
                stack.append(deeper)

    def _try(self, node: Node, limit: int) -> tuple[Node, int] | None:
        """Find the next completion of `node`; or return a node and its limit that must be advanced first."""
        waiting = node.waiting
        while waiting and waiting[0][0] <= limit:
            weight, place, rank = waiting[0]
            # The entry stands for the completion at `rank` of the node behind the edge; its weight is a lower bound.
            if place == HERE:
                node.found.append(heappop(waiting))
                return None
            child = self._next(node, place)
            step = self._weights[node.edges[place][0]]
            if child is not None and rank < len(child.found):
                total = step + child.found[rank][0]
                if total > weight:
                    heapreplace(waiting, (total, place, rank))
                    continue
                heapreplace(waiting, (total, place, rank + 1))
                node.found.append((total, place, rank))
                return None
            if child is None or not child.waiting:
                heappop(waiting)
            elif step + child.waiting[0][0] > weight:
                heapreplace(waiting, (step + child.waiting[0][0], place, rank))
            else:
                return child, weight - step
        return None

    def _actions_of(self, rank: int) -> list[int]:
        """Return the actions of the plan at place `rank` of the list."""
        node, actions = self._root, []
        _, place, rank = node.found[rank]
        while place != HERE:
            actions.append(node.edges[place][0])
            following = node.nodes[place]
            assert following is not None
            node = following
            _, place, rank = node.found[rank]
        return actions
