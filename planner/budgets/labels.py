"""A* over labels: states with what was paid and used on the way to them (Mandow and Pérez de la Cruz, 2010).

A state is reached in many ways that do not compare: one costs less, another leaves more of a budget. Each is a label,
and one is dropped where another at its state has paid and used no more. A label is cut off, too, where what it has used
and what must still be used, by an admissible estimate for each resource, are more than the budget. Estimates are taken
once for a state, when its first label is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import le

from planner.annotations import Final
from planner.search.queues import LastIn
from planner.search.run import DEAD_END, Ending, Estimate, Run, Steps
from planner.search.space import Space
from planner.task import State

PAUSE: Final = 8
"""Labels that are expanded between two pauses."""

Vector = tuple[int, ...]
"""The cost, and the uses of each resource."""


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


class Limits:
    """What labels may still lead to: a plan cheaper than the best one of `run` that uses at most so much of each.

    `cut` says whether a budget has cut off a label.
    """

    def __init__(self, most: Sequence[int], run: Run) -> None:
        self._most = most
        self._run = run
        self.cut = False

    def allow(self, vector: Vector, rest: Vector) -> bool:
        """Return whether what was spent, and must still be, is within the limits."""
        if vector[0] + rest[0] >= self._run.limit:
            return False
        for place, most in enumerate(self._most, start=1):
            if vector[place] + rest[place] > most:
                self.cut = True
                return False
        return True


def label_search(  # noqa: C901, PLR0912 - one loop without calls: this is where the time goes
    space: Space, uses: Sequence[Sequence[int]], limits: Limits, estimates: Sequence[Estimate], run: Run
) -> Steps:
    """Search for the cheapest plan within `limits` on what it uses, by action, of each resource.

    The `estimates` are of the cost, and then of each resource. All plans within the limits that are cheaper than
    `run.limit` are excluded when it ends.
    """
    charges: list[Vector] = list(zip(space.costs, *uses, strict=True))
    rest, fronts, waiting, allow = Rest(estimates), Fronts(), LastIn(), limits.allow
    first = Label(space.initial, (0,) * (len(uses) + 1), None, -1)
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
        if known is not bound:
            if not allow(vector, known):
                continue
            if known[0] > bound[0]:
                waiting.push(vector[0] + known[0], known[0], (label, known))
                continue
        if space.is_goal(state):
            run.found(label.path(), vector[0])
            break
        run.expanded += 1
        if not run.expanded % PAUSE:
            yield
        for action, child in space.successors(state):
            charge = charges[action]
            after = tuple([paid + more for paid, more in zip(vector, charge, strict=True)])
            left = rest.known(child)
            if left is None:
                left = tuple([max(0, value - less) for value, less in zip(known, charge, strict=True)])
            if allow(after, left):
                new = Label(child, after, label, action)
                if fronts.takes(new):
                    run.generated += 1
                    waiting.push(after[0] + left[0], left[0], (new, left))
    run.proved(run.limit)
    return Ending.EXHAUSTED
