"""Best-first search over timed labels: states with what was spent, and when their facts may be read and ended.

A step begins when all that it reads is there, when all that it ends is no longer read, and when nobody else is at what
it changes in place. A label knows how soon every plan through it can be done, and is cut off when that is too late. One
is dropped where another at its state has spent no more and lets no fact wait longer.

The order of a plan may make steps wait that need not wait here: a step that makes a fact true again waits for the one
that ended it if the fact is read later. So no plan is in time whose labels are not, and what is excluded is proved; and
a plan that is found may be late all the same. Then the search goes on, and proves no more than it has.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import le

from planner.annotations import Final
from planner.budgets.labels import Limits, Rest, Vector
from planner.deadlines.clock import Clock, Times
from planner.deadlines.critical import Finish
from planner.records import dataclass
from planner.search.queues import LastIn
from planner.search.run import Ending, Run, Steps
from planner.search.space import Space
from planner.task import State, facts_of

PAUSE: Final = 4
"""Labels that are expanded between two pauses."""


@dataclass(slots=True, eq=False)
class Timed:
    """A way to `state` that has spent `vector`: the label `before`, and then `action`.

    Facts that hold may be read from `since` on, and ended, or changed in place, from `busy` on.
    """

    state: State
    vector: Vector
    since: Times
    busy: Times
    before: Timed | None = None
    action: int = -1

    def path(self) -> list[int]:
        """Return the actions on the way."""
        found, label = [], self
        while label.before is not None:
            found.append(label.action)
            label = label.before
        return found[::-1]

    def spares(self, other: Timed) -> bool:
        """Return whether `other`, at the same state, is no better in any respect."""
        return (
            all(map(le, self.vector, other.vector))
            and _none_later(self.since, other.since)
            and _none_later(self.busy, other.busy)
        )


def _none_later(one: Times, other: Times) -> bool:
    return all(time <= other.get(fact, 0) for fact, time in one.items())


class TimedSpace:
    """What follows a label: states are those of `space`, times those of `clock`."""

    def __init__(self, space: Space, clock: Clock, charges: list[Vector]) -> None:
        self.space = space
        self._clock = clock
        self._charges = charges

    def first(self) -> Timed:
        """Return the label of the initial state."""
        return Timed(self.space.initial, (0,) * len(self._charges[0]), {}, {})

    def after(self, label: Timed, action: int, state: State) -> tuple[Timed, int]:
        """Return the label after `action`, which leads to `state`, and when it is done at the soonest."""
        reads, writes, watched = self._clock.reads[action], self._clock.writes[action], self._clock.monitors
        ended = facts_of(label.state & ~state & ~watched)
        begin = max([label.since.get(fact, 0) for fact in (*reads, *writes)], default=0)
        begin = max([begin, *[label.busy.get(fact, 0) for fact in (*ended, *writes)]])
        end = begin + self._clock.durations[action]
        since, busy = dict(label.since), dict(label.busy)
        for fact in ended:
            since.pop(fact, None)
            busy.pop(fact, None)
        if end:
            busy.update([(fact, max(busy.get(fact, 0), end)) for fact in reads if fact not in ended])
            for fact in writes:
                since[fact] = busy[fact] = end
            since.update(dict.fromkeys(facts_of(state & ~label.state & ~watched), end))
        vector = tuple([paid + more for paid, more in zip(label.vector, self._charges[action], strict=True)])
        return Timed(state, vector, since, busy, label, action), end


@dataclass(frozen=True, slots=True)
class Aims:
    """What labels are kept for: plans within `limits` that are done by the `deadline`.

    `rest` estimates what else must be spent, `finish` when all is done at the soonest.
    """

    limits: Limits
    rest: Rest
    finish: Finish
    deadline: int


class Labels:
    """The labels that wait, and the best ones at each state; in a `hurry`, what is done soonest comes first."""

    def __init__(self, aims: Aims, *, hurry: bool) -> None:
        self._aims = aims
        self._hurry = hurry
        self._fronts: dict[State, list[Timed]] = {}
        self._waiting = LastIn()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, label: Timed) -> None:
        """Let `label` wait, unless it is too dear or too late, or another is as good."""
        aims, state = self._aims, label.state
        known = aims.rest.known(state) or aims.rest.of(state)
        if not aims.limits.allow(label.vector, known):
            return
        done = aims.finish(state, label.since)
        front = self._fronts.setdefault(state, [])
        if done > aims.deadline or any(other.spares(label) for other in front):
            return
        front[:] = [other for other in front if not label.spares(other)]
        front.append(label)
        if self._hurry:
            self._waiting.push(done, known[0], label)
        else:
            self._waiting.push(label.vector[0] + known[0], done, label)

    def pop(self) -> tuple[int, Timed]:
        """Take out the next label, with its key."""
        key, _, label = self._waiting.pop()
        return key, label

    def has(self, label: Timed) -> bool:
        """Return whether nothing better than `label` was found."""
        return any(other is label for other in self._fronts[label.state])


def timed_search(timed: TimedSpace, aims: Aims, take: Callable[[list[int]], bool], run: Run, *, hurry: bool) -> Steps:
    """Search for plans that are done by a deadline; `take` takes those that are.

    What is done soonest comes first if it is in a `hurry`, else what costs the least by the estimates. All plans in
    time that are cheaper than `run.limit` are excluded when it ends, unless one that was tried is not taken.
    """
    space, labels, exact = timed.space, Labels(aims, hurry=hurry), True
    labels.put(timed.first())
    while labels:
        key, label = labels.pop()
        if not hurry and exact:
            run.proved(key)
        if not hurry and key >= run.limit:
            break
        if not labels.has(label):
            continue
        if space.is_goal(label.state):
            exact = take(label.path()) and exact
        run.expanded += 1
        if not run.expanded % PAUSE:
            yield
        for action, state in space.successors(label.state):
            run.generated += 1
            after, end = timed.after(label, action, state)
            if end <= aims.deadline:
                labels.put(after)
    if not exact:
        return Ending.INCOMPLETE
    run.proved(run.limit)
    return Ending.EXHAUSTED
