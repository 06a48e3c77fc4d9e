"""Bidirectional symbolic uniform-cost search over decision diagrams (Torralba et al., 2017).

Layers of states with the same cost grow from the initial state and from the goal, whichever side is about to be
cheaper. Where the two meet there is a plan; none costs less than what both sides have expanded together. The task is
what h² leaves of it, without states that mutexes exclude: search from the goal would otherwise be lost among them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from planner.jit import library
from planner.jit.arrays import Entries
from planner.lightweight import Final, dataclass, field
from planner.pruning.h2 import Pruned, prune
from planner.search.search_run import Ending, Run, Steps, search_reduced_task
from planner.search.symbolic.transition_relations import Coding, Relation, Set, arranged, relations
from planner.task.ground_task import State, Task, facts_of
from planner.task.packed_task_compiled import variables_of
from planner.task.state_space import Space

Meeting = tuple[int, Set]
"""What the way to states costs, and the states."""


@dataclass(slots=True)
class Direction:
    """A search from the states `start`, by images or preimages under `relations`, of which `narrowed` keeps a part.

    `waiting` has the states reached at a cost and not yet left; of `closed` states the cheapest way is known. `layers`
    are these in the order in which they were closed, each with its cost. The last step took so many `seconds` for so
    many `nodes`.
    """

    coding: Coding
    step: Callable[[Relation, Set], Set]
    relations: list[Relation]
    start: Set
    narrowed: Callable[[Set], Set] = lambda states: states
    waiting: dict[int, Set] = field(default_factory=dict)
    layers: list[Meeting] = field(default_factory=list)
    closed: Set = field(init=False)
    seconds: float = 0.0
    nodes: int = 1

    def __post_init__(self) -> None:
        self.waiting[0] = self.start
        self.closed = self.coding.nothing

    @property
    def next_cost(self) -> int | None:
        """What the states cost that are left next; None where there are none."""
        return min(self.waiting, default=None)

    @property
    def reached(self) -> Set:
        """The states to which the cheapest way is known, the start among them."""
        return self.closed | self.start

    def expected(self) -> float:
        """Return about how many seconds the next step takes."""
        cost = self.next_cost
        nodes = 0 if cost is None else self.waiting[cost].node_count()
        return self.seconds * max(1.0, nodes / self.nodes)

    def advance(self) -> Iterator[Meeting]:
        """Leave the states of least cost; yield what is reached from them, and at which cost, set by set.

        What is reached for nothing is left by the next step, if that is this side's.
        """
        began, cost = time.thread_time(), self.next_cost
        assert cost is not None
        states = self.waiting.pop(cost) & ~self.closed
        if states.satisfiable():
            self.closed |= states
            self.layers.append((cost, states))
            for price, found in self._left(states):
                self.waiting[cost + price] = self.waiting.get(cost + price, self.coding.nothing) | found
                yield cost + price, found
        self.seconds, self.nodes = time.thread_time() - began, states.node_count()

    def _left(self, states: Set) -> Iterator[Meeting]:
        """Yield what one step from `states` reaches and was not closed, by the price of the step."""
        by_price: dict[int, list[Set]] = {}
        for relation in self.relations:
            by_price.setdefault(relation.cost, []).append(self.step(relation, states))
        for price, sets in by_price.items():
            found = self.narrowed(_union(sets)) & ~self.closed
            if found.satisfiable():
                yield price, found


def _union(sets: list[Set]) -> Set:
    """Return the union of at least one set; small ones are united first."""
    while len(sets) > 1:
        sets = [sets[index] | sets[index + 1] for index in range(0, len(sets) - 1, 2)] + sets[len(sets) & ~1 :]
    return sets[0]


MOST_NODES: Final = 10_000
"""Nodes up to which exclusions are put together."""


class Exclusions:
    """What no state on a plan is, as a few diagrams that allow the others; `mutexes` are by fact, as bits."""

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

    def without(self, states: Set) -> Set:
        """Return `states`, but for those that are excluded."""
        for allowed in self._allowed:
            states &= allowed
        return states


@dataclass(slots=True)
class Trail:
    """A way from `state` to where `side` began, which costs `cost`; only layers before number `until` are left."""

    space: Space
    coding: Coding
    side: Direction
    state: State
    cost: int
    until: int

    def back(self) -> list[int]:
        """Return the actions by which `state` is reached from the initial one."""
        actions: list[int] = []
        while self.cost or self.state != self.space.initial:
            after, cost = self.state, self.cost
            self._go_back()
            steps = self.space.successors(self.state)
            price = cost - self.cost
            actions.append(next(each for each, child in steps if child == after and self.space.costs[each] == price))
        return actions[::-1]

    def _go_back(self) -> None:
        """Go to a state from which one step leads here."""
        here, before = self.coding.state(facts_of(self.state)), dict[int, Set]()
        for relation in self.side.relations:
            before[relation.cost] = before.get(relation.cost, self.coding.nothing) | relation.preimage(here)
        for index in range(self.until - 1, -1, -1):
            cost, layer = self.side.layers[index]
            both = layer & before.get(self.cost - cost, self.coding.nothing)
            if both.satisfiable():
                self.state, self.cost, self.until = self.coding.one_of(both), cost, index
                return
        raise AssertionError  # it was reached from somewhere

    def on(self) -> list[int]:
        """Return the actions by which the goal is reached from `state`."""
        actions: list[int] = []
        while self.cost or not self.space.is_goal(self.state):
            actions.append(self._go_on())
        return actions

    def _go_on(self) -> int:
        """Go to a state that one step leads to; return the action."""
        for action, child in self.space.successors(self.state):
            left = self.cost - self.space.costs[action]
            index = self._layer_of(child, left)
            if index is not None:
                self.state, self.cost, self.until = child, left, index
                return action
        raise AssertionError  # the goal was reached from here

    def _layer_of(self, state: State, cost: int) -> int | None:
        """Return the number of the layer that has `state` at this cost, 0 for a goal state; None if there is none."""
        if cost == 0 and self.space.is_goal(state):
            return 0
        bits = self.coding.written(state)
        fitting = (index for index in range(self.until) if self.side.layers[index][0] == cost)
        return next((index for index in fitting if self.side.layers[index][1].eval(bits)), None)


def way_there(space: Space, coding: Coding, side: Direction, state: State, cost: int) -> list[int]:
    """Return the actions by which `state` was reached from the initial one, at this cost."""
    return Trail(space, coding, side, state, cost, len(side.layers)).back()


def way_on(space: Space, coding: Coding, side: Direction, state: State, cost: int) -> list[int]:
    """Return the actions by which the goal is reached from `state`, at this cost."""
    return Trail(space, coding, side, state, cost, len(side.layers)).on()


TRIAL: Final = 16
"""In this part of the memory orders are tried."""
TRIAL_SECONDS: Final = 0.2
"""Seconds after which no other order is tried."""


def bidirectional(space: Space, run: Run, room: int, mutexes: Sequence[State], orders: list[list[int]]) -> Steps:
    """Search for the cheapest plan in so many bytes of memory, with the variables in one of the `orders`.

    No plan goes through states with a fact f and one of `mutexes[f]`, which are bits.
    """
    task = space.task
    coding = Coding(task, _best(task, orders, room // TRIAL), room)
    yield
    steps = relations(coding)
    yield
    exclusions = Exclusions(coding, mutexes)
    goal = exclusions.without(coding.valid & coding.all_of([coding.holds[fact] for fact in task.goal]))
    forward = Direction(coding, Relation.image, steps, coding.state(task.initial), exclusions.without)
    backward = Direction(coding, Relation.preimage, steps, goal, exclusions.without)
    if (forward.start & goal).satisfiable():
        run.report_plan([], 0)
    while run.lower_bound < run.limit:
        costs = forward.next_cost, backward.next_cost
        if costs[0] is None or costs[1] is None:
            break
        run.raise_bound(costs[0] + costs[1])
        side, other = (backward, forward) if backward.expected() < forward.expected() else (forward, backward)
        for cost, states in side.advance():
            run.expanded += 1
            both = states & other.reached
            if both.satisfiable():
                there, both = _cheapest(other, both)
                if cost + there < run.limit:
                    state, (start, end) = coding.one_of(both), (cost, there) if side is forward else (there, cost)
                    plan = way_there(space, coding, forward, state, start) + way_on(space, coding, backward, state, end)
                    run.report_plan(plan, cost + there)
            yield
    run.raise_bound(run.limit)
    return Ending.EXHAUSTED


def _best(task: Task, orders: list[list[int]], room: int) -> list[int]:
    """Return the one of the `orders` in which the relations are smallest, as far as that is soon found out."""
    sizes = {}
    until = time.thread_time() + TRIAL_SECONDS
    for number, order in enumerate(orders):
        if number and time.thread_time() > until:
            break
        try:
            sizes[number] = sum([each.pairs.node_count() for each in relations(Coding(task, order, room))])
        except MemoryError:
            break
    return orders[min(sizes, key=sizes.__getitem__, default=0)]


def _cheapest(side: Direction, states: Set) -> tuple[int, Set]:
    """Return what those of `states`, all reached by `side`, cost that cost least, and them."""
    for cost, layer in [(0, side.start), *side.layers]:
        both = states & layer
        if both.satisfiable():
            return cost, both
    raise AssertionError  # reached states are the start and the layers


Job = tuple[Task, list[State], list[list[int]]]
"""What is left of a task, its mutexes by fact, and orders of its variables: what symbolic search begins with."""


def job_for(known: Pruned, entries: Entries) -> Job:
    """Return what is needed to search what is `known` to be left of a task."""
    task = known.task
    mutexes = [known.excluded[fact] for fact in range(len(task.facts))]
    return task, mutexes, arranged(task, variables_of(task), entries)


def symbolic_search(task: Task, run: Run, room: int) -> Steps:
    """Search for the cheapest plan for `task`, with diagrams of so many bytes at most."""
    known = prune(task, entries=library.load())
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
