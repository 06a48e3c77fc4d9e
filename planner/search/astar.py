"""A*, uniform-cost search and breadth-first search. They expand states by f, g and depth.

A* (Hart, Nilsson and Raphael, 1968) takes an admissible estimate, which need not be consistent: A* reopens a state when
it finds a cheaper path to it. A* evaluates states lazily (lazy A*: Tolpin et al., 2013). The search queues a new state
with its parent's bound. It evaluates the state when it pops it, and so it never evaluates many states. Uniform-cost
search (Dijkstra, 1959) takes no estimate.
"""

from __future__ import annotations

from heapq import heappop, heappush

from planner.lightweight import Any, Final, Protocol
from planner.search.search_run import Ending, Estimate, IncrementalHeuristic, Run, Steps, extract_plan, last_action
from planner.task.ground_task import INFINITY, State
from planner.task.successor_generator import Space

PAUSE: Final = 8
"""Number of expansions of A* between two pauses."""
BLIND_PAUSE: Final = 16
"""Number of expansions of the blind searches between two pauses."""


class LifoOpenList:
    """An open list ordered by (f, h): it pops the smallest pair first, and the latest entry first among equals.

    A bucket holds the entries of one key, and a heap orders the keys.
    """

    __slots__ = ("_buckets", "_keys")

    def __init__(self) -> None:
        self._keys: list[tuple[int, int]] = []
        self._buckets: dict[tuple[int, int], list[Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    @property
    def lowest(self) -> int:
        """The smallest f; the list must not be empty."""
        return self._keys[0][0]

    def push(self, f: int, h: int, entry: Any) -> None:
        """Insert `entry`."""
        key = (f, h)
        if key in self._buckets:
            self._buckets[key].append(entry)
        else:
            self._buckets[key] = [entry]
            heappush(self._keys, key)

    def pop(self) -> tuple[int, int, Any]:
        """Remove the best entry and return it with its f and h."""
        key = self._keys[0]
        bucket = self._buckets[key]
        entry = bucket.pop()
        if not bucket:
            heappop(self._keys)
            del self._buckets[key]
        return key[0], key[1], entry


class ActionCosts(Protocol):
    """The cost of each action, by its number."""

    def __getitem__(self, action: int, /) -> int:
        """Return the cost of `action`."""


class PathMax:
    """A successor inherits its parent's estimate less the cost of the step (pathmax: Mero, 1984)."""

    def __init__(self, estimate: Estimate, costs: ActionCosts) -> None:
        self._estimate = estimate
        self._costs = costs

    def inherit(self, known: int, action: int) -> tuple[int, int]:
        """Return the pathmax bound of the successor by `action` as both bound and inherited knowledge."""
        bound = max(0, known - self._costs[action])
        return bound, bound

    def evaluate(self, state: State, inherited: int | None, _limit: int) -> tuple[int, int]:
        """Return the estimate of `state`, at least the inherited bound, as both value and knowledge to inherit."""
        value = max(inherited or 0, self._estimate(state))
        return value, value


def astar(space: Space, estimate: Estimate | IncrementalHeuristic, run: Run) -> Steps:
    """Search for the cheapest plan; a search that ends has excluded all plans cheaper than `run.limit`."""
    source: Any = estimate if isinstance(estimate, IncrementalHeuristic) else PathMax(estimate, space.costs)
    costs, inherit, evaluate = space.costs, source.inherit, source.evaluate
    reached: dict[State, int] = {space.initial: 0}
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    open_list = LifoOpenList()
    open_list.push(0, 0, (space.initial, 0, None, False))
    while open_list:
        f, h, (state, g, known, evaluated) = open_list.pop()
        # A cheaper path was found after this entry was inserted: the entry for that path replaces it.
        if reached[state] < g:
            continue
        # No entry has a smaller f, and f never overestimates: f is a lower bound on every plan not found yet.
        run.raise_bound(f)
        if f >= run.limit:
            break
        # So far the state has only an inherited bound. Evaluate it now. If its f rises, insert the state again, since
        # another entry may come first; if its f reaches the limit, prune the state.
        if not evaluated:
            run.evaluated += 1
            value, known = evaluate(state, known, run.limit - g)
            if value > h:
                if g + value < run.limit:
                    open_list.push(g + value, value, (state, g, known, True))
                continue
        if space.is_goal(state):
            run.report_plan(extract_plan(parents, state), g)
            break
        if run.watch is not None:
            run.watch.expand(space.task, state, g, h, last_action(parents, state))
        run.expanded += 1
        if not run.expanded % PAUSE:
            yield
        for action, child in space.successors(state):
            cost = g + costs[action]
            if cost < reached.get(child, INFINITY):
                reached[child] = cost
                parents[child] = (state, action)
                bound, inherited = inherit(known, action)
                if cost + bound < run.limit:
                    run.generated += 1
                    open_list.push(cost + bound, bound, (child, cost, inherited, False))
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED


def uniform_cost(space: Space, _estimate: Estimate, run: Run) -> Steps:
    """Search for the cheapest plan without an estimate, as fast as plain Python can.

    When the search ends, it has excluded all plans cheaper than `run.limit`.
    """
    costs, successors, goal = space.costs, space.successors, space.goal
    reached: dict[State, int] = {space.initial: 0}
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    buckets, keys = {0: [space.initial]}, [0]
    while keys:
        g = keys[0]
        run.raise_bound(g)
        if g >= run.limit:
            break
        for state in buckets[g]:  # zero-cost actions add states to this bucket meanwhile
            if reached[state] < g:
                continue
            # Without axioms the goal test is two operations on integers, cheaper than a call.
            if space.is_goal(state) if space.close else not goal & ~state:
                run.report_plan(extract_plan(parents, state), g)
                return Ending.EXHAUSTED
            if run.watch is not None:
                run.watch.expand(space.task, state, g, None, last_action(parents, state))
            run.expanded += 1
            if not run.expanded % BLIND_PAUSE:
                yield
            for action, child in successors(state):
                cost = g + costs[action]
                if cost < reached.get(child, INFINITY):
                    reached[child] = cost
                    parents[child] = (state, action)
                    run.generated += 1
                    if cost in buckets:
                        buckets[cost].append(child)
                    else:
                        buckets[cost] = [child]
                        heappush(keys, cost)
        del buckets[heappop(keys)]
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED


def breadth_first(space: Space, _estimate: Estimate, run: Run) -> Steps:
    """Search layer by layer for a plan with the fewest steps.

    Before depth d, the search has excluded plans of fewer than d steps. So d times the least action cost is a lower
    bound.
    """
    cheapest = min(space.costs, default=0)
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    layer, depth = [space.initial], 0
    while layer:
        next_layer: list[State] = []
        run.raise_bound(depth * cheapest)
        for state in layer:
            if space.is_goal(state):
                actions = extract_plan(parents, state)
                run.report_plan(actions, space.cost_of(actions))
                return Ending.FIRST_PLAN
            if run.watch is not None:
                run.watch.expand_from(parents, space.task, state, None)
            run.expanded += 1
            if not run.expanded % BLIND_PAUSE:
                yield
            for action, child in space.successors(state):
                if child not in parents:
                    parents[child] = (state, action)
                    next_layer.append(child)
        run.generated += len(next_layer)
        layer, depth = next_layer, depth + 1
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED
