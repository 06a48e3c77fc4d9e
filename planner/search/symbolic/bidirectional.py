"""Bidirectional symbolic uniform-cost search over decision diagrams (Torralba et al., 2017).

Layers of states with the same cost grow from the initial state and from the goal; the side whose next step is expected
to take less time goes first. There is a plan where the two sides meet, and no plan costs less than the sum of the costs
that both sides have reached. The task is pruned by h², and mutexes prune all layers: backward search would otherwise be
lost among unreachable states.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

from planner.jit import library
from planner.jit.arrays import Entries
from planner.lightweight import Final, dataclass, field
from planner.pruning.h2 import Pruned, prune
from planner.search.search_run import Ending, Run, Steps, search_reduced_task
from planner.search.symbolic.transition_relations import Coding, Relation, Set, arrange_variables, build_relations
from planner.task.ground_task import State, Task, facts_of
from planner.task.packed_task_compiled import variables_of
from planner.task.successor_generator import Space

Meeting = tuple[int, Set]
"""A cost, and the states that are reached at this cost."""


@dataclass(slots=True)
class Direction:
    """One side of the search: uniform-cost search from the states `start`, by images or preimages of `relations`.

    `prune` removes states that mutexes exclude. `waiting` are the open states by cost. `layers` are the closed states
    with their cost, in closing order. The last step took `seconds` for a layer of `nodes` nodes. A `timed` side
    estimates the time of its next step, another one the nodes of the layer.
    """

    coding: Coding
    step: Callable[[Relation, Set], Set]
    relations: list[Relation]
    start: Set
    prune: Callable[[Set], Set] = lambda states: states
    waiting: dict[int, Set] = field(default_factory=dict)
    layers: list[Meeting] = field(default_factory=list)
    closed: Set = field(init=False)
    seconds: float = 0.0
    nodes: int = 1
    timed: bool = True

    def __post_init__(self) -> None:
        self.waiting[0] = self.start
        self.closed = self.coding.nothing

    @property
    def next_cost(self) -> int | None:
        """The cost of the next layer; None if there is none."""
        return min(self.waiting, default=None)

    @property
    def reached(self) -> Set:
        """The states to which a cheapest path is known, the start among them."""
        return self.closed | self.start

    def expected(self) -> float:
        """Estimate the work of the next step by the nodes of its layer: in seconds if `timed`, else in nodes."""
        cost = self.next_cost
        nodes = 0 if cost is None else self.waiting[cost].node_count()
        return self.seconds * max(1.0, nodes / self.nodes) if self.timed else float(nodes)

    def advance(self) -> Iterator[Meeting]:
        """Close the next layer, and yield the sets of states that one step reaches from it, each with its cost.

        States that are reached by free steps form a new layer of the same cost.
        """
        began, cost = time.thread_time(), self.next_cost
        assert cost is not None
        states = self.waiting.pop(cost) & ~self.closed
        if states.satisfiable():
            self.closed |= states
            self.layers.append((cost, states))
            for price, found in self._expand(states):
                self.waiting[cost + price] = self.waiting.get(cost + price, self.coding.nothing) | found
                yield cost + price, found
        self.seconds, self.nodes = time.thread_time() - began, states.node_count()

    def _expand(self, states: Set) -> Iterator[Meeting]:
        """Yield the open states that one step from `states` reaches, by the cost of the step."""
        by_price: dict[int, list[Set]] = {}
        for relation in self.relations:
            by_price.setdefault(relation.cost, []).append(self.step(relation, states))
        for price, sets in by_price.items():
            found = self.prune(_union(sets)) & ~self.closed
            if found.satisfiable():
                yield price, found


def _union(sets: list[Set]) -> Set:
    """Return the union of at least one set, as a balanced tree of unions."""
    while len(sets) > 1:
        sets = [sets[index] | sets[index + 1] for index in range(0, len(sets) - 1, 2)] + sets[len(sets) & ~1 :]
    return sets[0]


MOST_NODES: Final = 10_000
"""Largest diagram, in nodes, into which mutexes are joined."""


class Exclusions:
    """The states that mutexes allow, as the intersection of a few diagrams; `mutexes` are by fact, as bits."""

    def __init__(self, coding: Coding, mutexes: Sequence[State]) -> None:
        self._allowed: list[Set] = []
        base = [fact for facts in coding.task.variables for fact in facts]
        for fact in sorted(base, key=lambda fact: coding.rank[coding.variable_of[fact]]):
            own = coding.rank[coding.variable_of[fact]]
            later = [each for each in facts_of(mutexes[fact]) if each not in coding.task.derived]
            others = [each for each in later if each == fact or coding.rank[coding.variable_of[each]] > own]
            if others:
                self._allow(~(coding.holds[fact] & coding.any_of([coding.holds[each] for each in others])))

    def _allow(self, states: Set) -> None:
        if self._allowed and (both := self._allowed[-1] & states).node_count() <= MOST_NODES:
            self._allowed[-1] = both
        else:
            self._allowed.append(states)

    def prune(self, states: Set) -> Set:
        """Remove the states that mutexes exclude."""
        for allowed in self._allowed:
            states &= allowed
        return states


@dataclass(slots=True)
class Trail:
    """A path of cost `cost` from `state` to the start of `side`, of which only layers below number `until` remain."""

    space: Space
    coding: Coding
    side: Direction
    state: State
    cost: int
    until: int

    def trace_back(self) -> list[int]:
        """Return the actions that lead from the initial state to `state`, on the forward side."""
        actions: list[int] = []
        while self.cost or self.state != self.space.initial:
            after, cost = self.state, self.cost
            self._go_back()
            steps = self.space.successors(self.state)
            price = cost - self.cost
            actions.append(next(each for each, child in steps if child == after and self.space.costs[each] == price))
        return actions[::-1]

    def _go_back(self) -> None:
        """Move to a predecessor in an earlier layer."""
        here, before = self.coding.state(facts_of(self.state)), dict[int, Set]()
        for relation in self.side.relations:
            before[relation.cost] = before.get(relation.cost, self.coding.nothing) | relation.preimage(here)
        for index in range(self.until - 1, -1, -1):
            cost, layer = self.side.layers[index]
            both = layer & before.get(self.cost - cost, self.coding.nothing)
            if both.satisfiable():
                self.state, self.cost, self.until = self.coding.pick_state(both), cost, index
                return
        raise AssertionError  # each closed state but the start has a predecessor

    def trace_forward(self) -> list[int]:
        """Return the actions that lead from `state` to the goal, on the backward side."""
        actions: list[int] = []
        while self.cost or not self.space.is_goal(self.state):
            actions.append(self._go_on())
        return actions

    def _go_on(self) -> int:
        """Move to a successor in an earlier layer; return the action."""
        for action, child in self.space.successors(self.state):
            left = self.cost - self.space.costs[action]
            index = self._layer_of(child, left)
            if index is not None:
                self.state, self.cost, self.until = child, left, index
                return action
        raise AssertionError  # each closed state but the goal states has a successor

    def _layer_of(self, state: State, cost: int) -> int | None:
        """Return the number of the layer of this cost that contains `state`, 0 for a goal state; None if none does."""
        if cost == 0 and self.space.is_goal(state):
            return 0
        bits = self.coding.encode(state)
        fitting = (index for index in range(self.until) if self.side.layers[index][0] == cost)
        return next((index for index in fitting if self.side.layers[index][1].eval(bits)), None)


TRIAL: Final = 16
"""Share of the memory for the trial of variable orders: one part in this number."""
TRIAL_SECONDS: Final = 0.2
"""Seconds after which no further order is tried."""


def bidirectional(
    space: Space, run: Run, room: int, mutexes: Sequence[State], orders: list[list[int]], *, timed: bool = True
) -> Steps:
    """Search for the cheapest plan with `room` bytes for diagrams, with the variables in one of the `orders`.

    `mutexes[f]` are the facts, as bits, that exclude fact f. Unless the search is `timed`, no clock decides anything.
    """
    task = space.task
    coding = Coding(task, _select_order(task, orders, room // TRIAL, TRIAL_SECONDS if timed else math.inf), room)
    yield
    steps = build_relations(coding)
    yield
    exclusions = Exclusions(coding, mutexes)
    goal = exclusions.prune(coding.valid & coding.all_of([coding.holds[fact] for fact in task.goal]))
    forward = Direction(coding, Relation.image, steps, coding.state(task.initial), exclusions.prune, timed=timed)
    backward = Direction(coding, Relation.preimage, steps, goal, exclusions.prune, timed=timed)
    if (forward.start & goal).satisfiable():
        run.report_plan([], 0)
    while run.lower_bound < run.limit:
        costs = forward.next_cost, backward.next_cost
        if costs[0] is None or costs[1] is None:
            break
        run.raise_bound(costs[0] + costs[1])
        # The sum of the next costs is a lower bound: both sides have closed all cheaper layers. Advance the side whose
        # next step is expected to be faster, and look for states that the other side has reached.
        side, other = (backward, forward) if backward.expected() < forward.expected() else (forward, backward)
        for cost, states in side.advance():
            run.expanded += 1
            both = states & other.reached
            if both.satisfiable():
                there, both = _cheapest(other, both)
                if cost + there < run.limit:
                    state, (start, end) = coding.pick_state(both), (cost, there) if side is forward else (there, cost)
                    before = Trail(space, coding, forward, state, start, len(forward.layers)).trace_back()
                    after = Trail(space, coding, backward, state, end, len(backward.layers)).trace_forward()
                    run.report_plan(before + after, cost + there)
            yield
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED


def _select_order(task: Task, orders: list[list[int]], room: int, seconds: float) -> list[int]:
    """Return the order with the smallest relations of those that can be tried in time."""
    sizes = {}
    until = time.thread_time() + seconds
    for number, order in enumerate(orders):
        if number and time.thread_time() > until:
            break
        try:
            sizes[number] = sum([each.pairs.node_count() for each in build_relations(Coding(task, order, room))])
        except MemoryError:
            break
    return orders[min(sizes, key=sizes.__getitem__, default=0)]


def _cheapest(side: Direction, states: Set) -> tuple[int, Set]:
    """Return the least cost at which `side` has reached any of `states`, and the states with this cost."""
    for cost, layer in [(0, side.start), *side.layers]:
        both = states & layer
        if both.satisfiable():
            return cost, both
    raise AssertionError  # all reached states are in the start or a layer


Job = tuple[Task, list[State], list[list[int]]]
"""The input of symbolic search: a pruned task, its mutexes by fact, and orders of its variables."""


def job_for(known: Pruned, entries: Entries, *, seed: int = 0, exchanges: int | None = None) -> Job:
    """Return the input of symbolic search for a pruned task; see `arrange_variables`."""
    task = known.task
    mutexes = [known.excluded[fact] for fact in range(len(task.facts))]
    return task, mutexes, arrange_variables(task, variables_of(task), entries, seed=seed, exchanges=exchanges)


def symbolic_search(task: Task, run: Run, room: int) -> Steps:
    """Prune `task` by h², and search for the cheapest plan with `room` bytes for diagrams."""
    known = prune(task, entries=library.load("h2", "disambiguation"))
    if not known.solvable:
        run.raise_bound(run.limit)
        return Ending.EXHAUSTED
    left, mutexes, orders = job_for(known, library.load_or_plain())

    def search(own: Run) -> Steps:
        return bidirectional(Space(left), own, room, mutexes, orders)

    try:
        return (yield from search_reduced_task(search, run, known.actions))
    except MemoryError:
        return Ending.INCOMPLETE
