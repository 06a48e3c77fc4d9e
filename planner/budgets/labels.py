"""A* over labels: states with what was paid and used on the way to them (Mandow and Pérez de la Cruz, 2010).

A state is reached in many ways that do not compare: one costs less, another leaves more of a budget. Each is a label,
and one is dropped where another at its state has paid and used no more. A label is cut off, too, where what it has used
and what must still be used, by an admissible estimate for each resource, are more than the budget. Estimates are taken
once for a state, when its first label is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, le

from planner.annotations import Any, Final, Protocol
from planner.records import dataclass
from planner.search.queues import LastIn
from planner.search.run import DEAD_END, Ending, Run, Steps
from planner.task import INFINITY

PAUSE: Final = 8
"""Labels that are expanded between two pauses."""

Vector = tuple[int, ...]
"""The cost, and the uses of each resource."""
State = Any
"""What can be told from others, and is in a space of its kind."""
Estimate = Callable[[State], int]
"""What the rest of a plan comes to at least, or `DEAD_END`."""


class Charges(Protocol):
    """What is paid and used for each action, by number."""

    def __getitem__(self, action: int, /) -> Vector:
        """Return the vector of this action."""


class Labelled(Protocol):
    """A space that labels are searched in."""

    @property
    def initial(self) -> State:
        """Where plans begin."""

    def is_goal(self, state: State, /) -> bool:
        """Return whether a plan may end in `state`."""

    def successors(self, state: State, /) -> list[tuple[int, State]]:
        """Return `(action, next state)` for all that can be done in `state`."""


class Label:
    """A way to `state` that has paid and used `vector`: the label `before`, and then `action`."""

    __slots__ = ("action", "before", "state", "vector")

    def __init__(self, state: State, vector: Vector, before: Label | None, action: int) -> None:
        self.state, self.vector, self.before, self.action = state, vector, before, action

    def path(self) -> list[int]:
        """Return the actions on the way."""
        found, label = [], self
        while label.before is not None:
            found.append(label.action)
            label = label.before
        return found[::-1]


class Fronts:
    """The labels at each state none of which is as good as another in all respects."""

    def __init__(self) -> None:
        self._of: dict[State, list[Label]] = {}

    def takes(self, label: Label) -> bool:
        """Take in `label` instead of those that are no better, unless one is as good."""
        known = self._of.get(label.state)
        if known is None:
            self._of[label.state] = [label]
            return True
        vector = label.vector
        for other in known:
            if all(map(le, other.vector, vector)):
                return False
        known[:] = [other for other in known if not all(map(le, vector, other.vector))]
        known.append(label)
        return True

    def has(self, label: Label) -> bool:
        """Return whether nothing better than `label` was found."""
        return any(other is label for other in self._of[label.state])


class Rest:
    """Admissible estimates of what the rest of a plan costs and uses: one for the cost, then one for each resource."""

    def __init__(self, estimates: Sequence[Estimate]) -> None:
        self._estimates = estimates
        self._known: dict[State, Vector] = {}

    def known(self, state: State) -> Vector | None:
        """Return what was estimated for `state`, if anything was."""
        return self._known.get(state)

    def of(self, state: State) -> Vector:
        """Return the estimates for `state`; all are `DEAD_END` where one is."""
        found: list[int] = []
        for estimate in self._estimates:
            found.append(estimate(state))
            if found[-1] >= DEAD_END:
                found = [DEAD_END] * len(self._estimates)
                break
        self._known[state] = tuple(found)
        return self._known[state]


@dataclass(frozen=True, slots=True)
class Sum:
    """A weighted sum of all that plans spend, which is at `place` among it.

    It tells what plans within the budgets cost at least: the sum, less what the budgets come to, by the cost's weight.
    """

    place: int
    allowed: int
    of_cost: int


class Limits:
    """What labels may still lead to: a plan cheaper than the best one of `run` that uses at most so much of each.

    `cut` says whether a budget has cut off a label.
    """

    def __init__(self, most: Sequence[int], run: Run, sums: Sequence[Sum] = ()) -> None:
        self._most = most
        self._run = run
        self._sums = sums
        self.cut = False

    def least(self, vector: Vector, rest: Vector) -> int:
        """Return what a plan within the budgets costs at least where `vector` is spent, and at least `rest` must be."""
        for place, most in enumerate(self._most, start=1):
            if vector[place] + rest[place] > most:
                self.cut = True
                return INFINITY
        found = vector[0] + rest[0]
        for each in self._sums:
            bound = -((each.allowed - vector[each.place] - rest[each.place]) // each.of_cost)
            if bound > found:
                found = bound
                self.cut = True
        return found

    def allow(self, vector: Vector, rest: Vector) -> bool:
        """Return whether what was spent, and must still be, is within the limits."""
        return self.least(vector, rest) < self._run.limit


def label_search(  # noqa: C901 - one loop without calls: this is where the time goes
    space: Labelled,
    charges: Charges,
    limits: Limits,
    estimates: Sequence[Estimate],
    run: Run,
    *,
    taken: Callable[[list[int]], list[int]] = list,
) -> Steps:
    """Search for the cheapest plan within `limits`.

    The `charges` are what each action costs, then what it uses of each resource, and then its part of each sum that the
    limits have; the `estimates` are of the same. All plans within the limits that are cheaper than `run.limit` are
    excluded when it ends. What the run is told of a plan is what is `taken` for its actions.
    """
    rest, fronts, waiting, least = Rest(estimates), Fronts(), LastIn(), limits.least
    first = Label(space.initial, (0,) * len(estimates), None, -1)
    fronts.takes(first)
    waiting.push(0, 0, (first, first.vector))
    while waiting:
        f, _, (label, bound) = waiting.pop()
        run.proved(f)
        if f >= run.limit:
            break
        if not fronts.has(label):
            continue
        state, vector = label.state, label.vector
        known = rest.known(state)
        if known is None:
            run.evaluated += 1
            known = rest.of(state)
        if known is not bound and (value := least(vector, known)) > f:
            if value < run.limit:
                waiting.push(value, known[0], (label, known))
            continue
        if space.is_goal(state):
            run.found(taken(label.path()), vector[0])
            break
        run.expanded += 1
        if not run.expanded % PAUSE:
            yield
        for action, child in space.successors(state):
            charge = charges[action]
            after = tuple(map(add, vector, charge))
            left = rest.known(child)
            if left is None:
                left = tuple([value - less if value > less else 0 for value, less in zip(known, charge, strict=True)])
            value = least(after, left)
            if value < run.limit:
                new = Label(child, after, label, action)
                if fronts.takes(new):
                    run.generated += 1
                    waiting.push(max(f, value), left[0], (new, left))
    run.proved(run.limit)
    return Ending.EXHAUSTED
