"""Plan neighborhood search: pieces of the incumbent are replaced by cheaper ones.

A *window* is some consecutive steps: a search from the state before it to what the rest of the plan needs takes its
place if that is cheaper (Siddiqui and Haslum, 2015; Nakhost and Müller, 2010). Plans that were found step by step
wander: steps that belong together are far apart, and some are in vain. So before each round, needless steps are left
out and the others are put in another order that works.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from heapq import heapify, heappop, heappush
from random import Random

from planner.lightweight import Final
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import State, bits, facts_of
from planner.task.state_space import Space


def states_of(space: Space, plan: Sequence[int]) -> list[State] | None:
    """Return the states that `plan` leads through, first and last included; None if it does not lead to the goal."""
    states = [space.initial]
    for action in plan:
        if not _applies(space, action, states[-1]):
            return None
        states.append(space.apply(action, states[-1]))
    return states if space.is_goal(states[-1]) else None


def _applies(space: Space, action: int, state: State) -> bool:
    return not space.preconditions[action] & ~space.closed(state)


def without_redundant(space: Space, plan: list[int]) -> Generator[None, None, list[int]]:
    """Return `plan` without steps that can be left out, together with those that cannot be taken without them.

    Action elimination (Nakhost and Müller, 2010): each step is tried once, from the first on.
    """
    state, step = space.initial, 0
    while step < len(plan):
        kept, end = [], state
        for action in plan[step + 1 :]:
            if _applies(space, action, end):
                kept.append(action)
                end = space.apply(action, end)
        if space.is_goal(end) and space.cost_of(kept) < space.cost_of(plan[step:]):
            plan = plan[:step] + kept
        else:
            state = space.apply(plan[step], state)
            step += 1
        yield
    return plan


def wanted(space: Space, plan: Sequence[int], states: Sequence[State]) -> list[State]:
    """Return, for each of `states`, base facts that suffice for the rest of `plan` to lead from there to the goal.

    Only almost so where effects have conditions: that one is not triggered which would do harm is not asked for.
    """
    base = _base_for(space)
    needed = [base(space.goal, states[-1])]
    for action, state in zip(reversed(plan), reversed(states[:-1]), strict=True):
        _, added, conditions = space.effects(action, space.closed(state))
        needed.append(base(needed[-1] & ~added | space.preconditions[action] | conditions, state))
    return needed[::-1]


def _base_for(space: Space) -> Callable[[State, State], State]:
    """Return a function of facts and a state: it replaces derived facts by what they may be derived from."""
    derived = bits(space.task.derived)
    read = bits({fact for layer in space.task.axioms for rule in layer.rules for fact in rule.body}) & ~derived
    return lambda facts, state: facts & ~derived | (read & state) if facts & derived else facts


def reordered(space: Space, plan: list[int], draw: Random) -> list[int]:
    """Return `plan` in another order in which it leads to the goal, steps close to those that make them possible.

    Steps stay in order where one reads or writes what the other writes (Siddiqui and Haslum, 2012, make blocks of such
    orders); among those that may come next, one that follows late steps is taken. If what is derived comes between,
    the plan stays as it is.
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
    """Return for each step the earlier ones that it must stay behind, without those that others imply."""
    before: list[set[int]] = [set() for _ in plan]
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    state = space.initial
    for step, action in enumerate(plan):
        reads, writes = _touched(space, action, state)
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


def _touched(space: Space, action: int, state: State) -> tuple[State, State]:
    """Return the facts that `action` reads in `state`, and those that it writes."""
    kept, added, conditions = space.effects(action, space.closed(state))
    return space.preconditions[action] | conditions, added | ~kept


LENGTH: Final = 8
"""Steps in a window at first; it grows to the whole plan."""
GROWTH: Final = 1.6
EFFORT: Final = 100
"""Evaluations for a window at first; twice as many each time that windows have grown to the whole plan."""
MOST_EFFORT: Final = 1 << 20

PartSearch = Callable[[State, State, Run], Steps]
"""From a state to facts, for a plan that costs less than the limit of a run."""


class Windows:
    """Makes the best plan of `run` better, which has one, with a `search` for each window."""

    def __init__(self, space: Space, run: Run, search: PartSearch) -> None:
        self._space, self._run, self._search = space, run, search
        self._plan: list[int] = []
        self._states: list[State] = []
        self._needs: list[State] = []
        self._cost = 0

    def steps(self) -> Steps:
        """Go on as long as more effort may help."""
        draw, length, effort = Random(0), float(LENGTH), EFFORT
        while effort <= MOST_EFFORT:
            plan = yield from without_redundant(self._space, self._run.plan or [])
            self._take(reordered(self._space, plan, draw))
            yield from self._round(int(length), effort)
            length *= GROWTH
            if length >= GROWTH * len(self._plan):
                length, effort = LENGTH, 2 * effort
        return Ending.INCOMPLETE

    def _take(self, plan: list[int]) -> None:
        """Go on with `plan`."""
        states = states_of(self._space, plan)
        assert states is not None
        self._plan, self._states, self._cost = plan, states, self._space.cost_of(plan)
        self._needs = wanted(self._space, plan, states)
        self._run.found(plan, self._cost)

    def _round(self, length: int, effort: int) -> Generator[None]:
        """Try all windows of this `length`, unless another search has found a better plan meanwhile."""
        start = 0
        while start < len(self._plan) and self._cost <= self._run.limit:
            better = yield from self._try(start, min(start + length, len(self._plan)), effort)
            start = max(0, start - length // 2) if better else start + (length + 1) // 2

    def _try(self, start: int, end: int, effort: int) -> Generator[None, None, bool]:
        """Return whether the steps from `start` to `end` could be replaced by cheaper ones."""
        part = Run(limit=self._space.cost_of(self._plan[start:end]))
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
