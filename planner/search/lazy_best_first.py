"""Lazy best-first search: greedy search for a first plan, and restarting weighted A* for cheaper plans.

Search evaluates a state when it expands it. Until then, the edge to the state is queued with the estimate of its parent
(deferred evaluation). Preferred edges are also in a second open list (dual queues and boosting: Helmert, 2006; Richter
and Helmert, 2009).

Weighted A* orders states by g + w · h, for a sequence of falling weights w. It restarts from the initial state for each
weight, because cheap plans rarely begin like the first plan found (Richter, Thayer and Ruml, 2010). It prunes by g
alone, which needs no admissible estimate: a search that ends without a plan proves the best plan optimal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from heapq import heappop, heappush
from itertools import chain, repeat

from planner.lightweight import Final
from planner.search.search_run import (
    DEAD_END,
    Advice,
    Ending,
    Estimate,
    Run,
    Steps,
    as_advice,
    extract_plan,
    last_action,
)
from planner.task.ground_task import INFINITY, State
from planner.task.successor_generator import Space

BOOST: Final = 1000
"""Turns that the preferred edges gain when the best estimate improves."""
WEIGHTS: Final = (1_000, 5, 3, 2, 1)
"""Weights of weighted A*, in turn; the first is greedy search that breaks ties by cost."""
PREFERRED_TURNS: Final = 2
"""Turns of the preferred edges for each turn of all edges, in weighted A*."""


class Batches:
    """An open list of edges (state, action): it pops the smallest key first, and the earliest edge first among equals.

    `push` inserts all edges out of a state at once, as one list, so that no successor is generated before its turn.
    """

    __slots__ = ("_buckets", "_keys")

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._buckets: dict[int, deque[tuple[State, list[int]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def push(self, key: int, state: State, actions: list[int]) -> None:
        """Insert the edges from `state` by `actions`; the open list owns the list `actions` from now on."""
        if not actions:
            return
        actions.reverse()
        if key in self._buckets:
            self._buckets[key].append((state, actions))
        else:
            self._buckets[key] = deque([(state, actions)])
            heappush(self._keys, key)

    def pop(self) -> tuple[State, int]:
        """Remove and return the best edge."""
        key = self._keys[0]
        bucket = self._buckets[key]
        state, actions = bucket[0]
        action = actions.pop()
        if not actions:
            bucket.popleft()
            if not bucket:
                heappop(self._keys)
                del self._buckets[key]
        return state, action


class DualQueues:
    """Two open lists that take turns: one of all edges, one of the preferred edges.

    Each new minimum of the estimates gives the preferred edges `boost` turns; without a boost, they have
    `PREFERRED_TURNS` turns for each turn of all edges.
    """

    def __init__(self, boost: int) -> None:
        self._all, self._preferred = Batches(), Batches()
        self._best, self._boost = DEAD_END, boost
        self._ahead = 0
        """Turns that the preferred edges have had more than all edges, less their boosts."""
        self._turn = 0

    def __bool__(self) -> bool:
        return bool(self._all) or bool(self._preferred)

    def push(self, key: int, value: int, state: State, actions: list[int], preferred: Collection[int]) -> None:
        """Insert the edges of `state`, which has the estimate `value`, by `actions`."""
        if value < self._best:
            self._best = value
            self._ahead -= self._boost
        self._preferred.push(key, state, [action for action in actions if action in preferred])
        self._all.push(key, state, actions)

    def pop(self) -> tuple[State, int]:
        """Remove and return the best edge of the open list whose turn it is."""
        self._turn += 1
        is_preferred = self._ahead <= 0 if self._boost else self._turn % (PREFERRED_TURNS + 1) != 0
        if self._preferred and (is_preferred or not self._all):
            self._ahead += 1
            return self._preferred.pop()
        self._ahead -= 1
        return (self._all or self._preferred).pop()


def greedy(space: Space, estimate: Estimate, run: Run) -> Steps:
    """Search for any plan, whatever it costs, and stop at the first."""
    return (yield from _search(space, as_advice(estimate), run, DualQueues(BOOST), weight=1, reopens=False))


def weighted(space: Space, estimate: Estimate, run: Run) -> Steps:
    """Search for cheaper and cheaper plans until none can be cheaper."""
    advise = as_advice(estimate)
    return (yield from lower_weights(lambda weight: search_with_weight(space, advise, run, weight)))


def lower_weights(search: Callable[[int], Steps]) -> Steps:
    """Run `search` with each weight in turn, and with the last one until it finds no better plan."""
    for weight in chain(WEIGHTS, repeat(WEIGHTS[-1])):
        ending = yield from search(weight)
        if ending is not Ending.FIRST_PLAN:
            break
        yield  # the first plan may be all that is wanted
    return ending


def search_with_weight(space: Space, advise: Advice, run: Run, weight: int) -> Steps:
    """Search by g + `weight` · h for a plan that is cheaper than the best one."""
    return (yield from _search(space, advise, run, DualQueues(0), weight=weight, reopens=True))


def _search(space: Space, advise: Advice, run: Run, queues: DualQueues, *, weight: int, reopens: bool) -> Steps:
    """Search by `weight` · h for a plan.

    A search that `reopens` states on cheaper paths adds g, and prunes states that cost as much as the best plan.
    """
    costs = space.costs
    reached: dict[State, int] = {space.initial: 0}
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    state = space.initial
    while not reopens or reached[state] < run.limit:
        g = reached[state]
        if space.is_goal(state):
            run.report_plan(extract_plan(parents, state), g)
            return Ending.FIRST_PLAN
        run.evaluated += 1
        value, preferred = advise(state)
        if value < DEAD_END:
            if run.watch is not None:
                run.watch.expand(space.task, state, g, value, last_action(parents, state))
            run.expanded += 1
            actions = space.actions_in(state)
            run.generated += len(actions)
            queues.push(g * reopens + weight * value, value, state, actions, preferred)
        yield
        # Follow edges until one leads to a new state, or reopens a state on a cheaper path.
        while queues:
            parent, action = queues.pop()
            g = reached[parent] + costs[action]
            state = space.apply(action, parent)
            if g < run.limit and g < reached.get(state, INFINITY) if reopens else state not in reached:
                reached[state], parents[state] = g, (parent, action)
                break
        else:
            break
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED
