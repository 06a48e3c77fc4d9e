"""Plan neighborhood search: replaces windows of the incumbent by cheaper sequences of steps.

A *window* is a sequence of consecutive steps. A search from the state before it to the facts that the rest of the plan
needs replaces the window if the result is cheaper (Siddiqui and Haslum, 2015; Nakhost and Müller, 2010). In plans of
greedy searches, steps that belong together are often far apart, and some are redundant. So before each round, the
search removes redundant steps and reorders the others.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from heapq import heapify, heappop, heappush
from random import Random

from planner.lightweight import Final
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import State, bits, facts_of
from planner.task.successor_generator import Space


def states_of(space: Space, plan: Sequence[int]) -> list[State] | None:
    """Return the states along `plan`, first and last included; None if it does not lead to the goal."""
    states = [space.initial]
    for action in plan:
        if not _is_applicable(space, action, states[-1]):
            return None
        states.append(space.apply(action, states[-1]))
    return states if space.is_goal(states[-1]) else None


def _is_applicable(space: Space, action: int, state: State) -> bool:
    return not space.preconditions[action] & ~space.closed(state)


def eliminate_actions(space: Space, plan: list[int]) -> Generator[None, None, list[int]]:
    """Remove redundant steps from `plan` by action elimination (Nakhost and Müller, 2010).

    For each step, from the first on, remove it and all later steps that are inapplicable without it, and keep the
    result if it reaches the goal and is cheaper.
    """
    state, step = space.initial, 0
    while step < len(plan):
        kept, end = [], state
        for action in plan[step + 1 :]:
            if _is_applicable(space, action, end):
                kept.append(action)
                end = space.apply(action, end)
        if space.is_goal(end) and space.cost_of(kept) < space.cost_of(plan[step:]):
            plan = plan[:step] + kept
        else:
            state = space.apply(plan[step], state)
            step += 1
        yield
    return plan


def regress_needs(space: Space, plan: Sequence[int], states: Sequence[State]) -> list[State]:
    """Return for each of `states` base facts from which the rest of `plan` leads to the goal.

    With conditional effects this is an approximation: it does not require that harmful effects stay untriggered.
    """
    base = _base_finder(space)
    needed = [base(space.goal, states[-1])]
    for action, state in zip(reversed(plan), reversed(states[:-1]), strict=True):
        _, added, conditions = space.effects(action, space.closed(state))
        needed.append(base(needed[-1] & ~added | space.preconditions[action] | conditions, state))
    return needed[::-1]


def _base_finder(space: Space) -> Callable[[State, State], State]:
    """Return a function of facts and a state that replaces derived facts by the base facts that they may come from."""
    derived = bits(space.task.derived)
    read = bits({fact for layer in space.task.axioms for rule in layer.rules for fact in rule.body}) & ~derived
    return lambda facts, state: facts & ~derived | (read & state) if facts & derived else facts


def reorder_plan(space: Space, plan: list[int], draw: Random) -> list[int]:
    """Return `plan` in an order that keeps steps close to the steps that they depend on.

    Two steps stay in order where one reads or writes what the other writes (block deordering: Siddiqui and Haslum,
    2012). Of the steps that may come next, the one whose predecessors are latest is taken. If the new order does not
    reach the goal, which derived facts may cause, the plan stays as it is.
    """
    before = _predecessors(space, plan)
    after: list[list[int]] = [[] for _ in plan]
    for step, earlier in enumerate(before):
        for each in earlier:
            after[each].append(step)
    missing = [len(each) for each in before]
    near = draw.choice((max, _mean))
    place = [-1] * len(plan)
    ready = [(0.0, draw.random(), step) for step, count in enumerate(missing) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, _, step = heappop(ready)
        place[step] = len(order)
        order.append(step)
        for each in after[step]:
            missing[each] -= 1
            if not missing[each]:
                heappush(ready, (-near([place[other] for other in before[each]]), draw.random(), each))
    other = [plan[step] for step in order]
    return other if states_of(space, other) is not None else plan


def _mean(numbers: list[int]) -> float:
    return sum(numbers) / len(numbers)


def _predecessors(space: Space, plan: Sequence[int]) -> list[set[int]]:
    """Return for each step the earlier steps that it must follow, mostly without transitive ones."""
    before: list[set[int]] = [set() for _ in plan]
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    state = space.initial
    for step, action in enumerate(plan):
        reads, writes = _accesses_of(space, action, state)
        state = space.apply(action, state)
        for fact in facts_of(reads | writes):
            if fact in writer:
                before[step].add(writer[fact])
        for fact in facts_of(writes):
            before[step].update(readers.pop(fact, ()))
            writer[fact] = step
        for fact in facts_of(reads & ~writes):
            readers.setdefault(fact, []).append(step)
    return before


def _accesses_of(space: Space, action: int, state: State) -> tuple[State, State]:
    """Return the facts that `action` reads in `state`, and those that it writes."""
    kept, added, conditions = space.effects(action, space.closed(state))
    return space.preconditions[action] | conditions, added | ~kept


LENGTH: Final = 8
"""Steps in a window at first."""
GROWTH: Final = 1.6
"""Factor by which windows grow each round, up to the whole plan."""
EFFORT: Final = 100
"""Evaluations for a window at first; doubled whenever windows have grown to the whole plan."""
MOST_EFFORT: Final = 1 << 20
"""The search ends when a window would get more evaluations than this."""

PartSearch = Callable[[State, State, Run], Steps]
"""A search from a state to some facts, for a plan that costs less than the limit of a run."""


class Windows:
    """Improves the incumbent of `run`, which must have one, with a `search` for each window."""

    def __init__(self, space: Space, run: Run, search: PartSearch) -> None:
        self._space, self._run, self._search = space, run, search
        self._plan: list[int] = []
        self._states: list[State] = []
        self._needs: list[State] = []
        self._cost = 0

    def steps(self) -> Steps:
        """Improve the plan, round by round, with larger windows and more effort."""
        draw, length, effort = Random(self._run.seed), float(LENGTH), EFFORT
        while effort <= MOST_EFFORT:
            plan = yield from eliminate_actions(self._space, self._run.plan or [])
            self._take(reorder_plan(self._space, plan, draw))
            yield from self._round(int(length), effort)
            length *= GROWTH
            if length >= GROWTH * len(self._plan):
                length, effort = LENGTH, 2 * effort
        return Ending.INCOMPLETE

    def _take(self, plan: list[int]) -> None:
        """Make `plan` the plan whose windows are searched."""
        states = states_of(self._space, plan)
        assert states is not None
        self._plan, self._states, self._cost = plan, states, self._space.cost_of(plan)
        self._needs = regress_needs(self._space, plan, states)
        self._run.report_plan(plan, self._cost)

    def _round(self, length: int, effort: int) -> Generator[None]:
        """Try all windows of this `length`; end early if another search has found a better plan."""
        start = 0
        while start < len(self._plan) and self._cost <= self._run.limit:
            better = yield from self._improve_window(start, min(start + length, len(self._plan)), effort)
            start = max(0, start - length // 2) if better else start + (length + 1) // 2

    def _improve_window(self, start: int, end: int, effort: int) -> Generator[None, None, bool]:
        """Search for cheaper steps from `start` to `end`; return whether there were any."""
        part = Run(limit=self._space.cost_of(self._plan[start:end]), seed=self._run.seed)
        steps = self._search(self._states[start], self._needs[end], part) if part.limit else iter(())
        for _ in steps:
            if part.evaluated >= effort:
                break
            yield
        self._run.evaluated += part.evaluated
        self._run.expanded += part.expanded
        self._run.generated += part.generated
        if part.plan is None:
            return False
        plan = [*self._plan[:start], *part.plan, *self._plan[end:]]
        if states_of(self._space, plan) is None:
            return False
        self._take(plan)
        return True
