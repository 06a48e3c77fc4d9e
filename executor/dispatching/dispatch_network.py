"""The temporal network by which a plan is dispatched.

Its nodes are the starts and ends of the steps that are left, and the changes at known times. What has happened is
fixed. A step may start when everything has happened that it waits for, and when the network allows it to start so
early: a step that has to last until another one ends may have to wait for that one. Durations are those that are
expected; a step that takes longer is thought to end at any moment. (Dechter, Meiri and Pearl, 1991; Muscettola, Morris
and Tsamardinos, 1998.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final

from planner.lightweight import TYPE_CHECKING, dataclass, field
from planner.plan import Step
from planner.semantics.durations import SEPARATION

if TYPE_CHECKING:
    pass

TICKS: Final = 1_000_000
"""Ticks of the network in a second."""
APART: Final = int(SEPARATION * TICKS)
"""Ticks between two happenings that must not come at once."""
NEVER: Final = 2**62


def ticks_of(seconds: Decimal | float) -> int:
    """Return `seconds` in ticks, rounded up."""
    exact = Fraction(repr(seconds)) if isinstance(seconds, float) else Fraction(seconds)
    return -(-exact.numerator * TICKS // exact.denominator)


@dataclass(frozen=True, slots=True)
class Node:
    """A start or an end of the step `about` (its id), or the change at a known time with the number `event`."""

    kind: str
    about: str = ""
    event: int = -1

    def __str__(self) -> str:
        return f"the {self.kind} of {self.about}" if self.about else f"the change {self.event + 1} at a known time"


@dataclass(frozen=True, slots=True)
class Limit:
    """The node must come until `until`, in ticks: for `what`."""

    node: int
    until: int
    what: str


@dataclass(frozen=True, slots=True)
class Lasts:
    """How long a step lasts, in ticks: at least `low`, and at most `high` (None: no limit)."""

    low: int
    high: int | None


@dataclass(slots=True, eq=False)
class DispatchNetwork:
    """A temporal network in ticks since the run began; node 0 is its beginning.

    An edge says how many ticks its second node comes at least after its first. `known` has the times of the changes at
    known times, `happened` those of all that has happened. Steps without a duration have one node; those whose handlers
    have not returned are `at_work`, and what comes after them waits.
    """

    nodes: list[Node] = field(default_factory=lambda: [Node("beginning")])
    edges: dict[tuple[int, int], int] = field(default_factory=dict)
    apart: list[tuple[int, int]] = field(default_factory=list)
    lasts: dict[str, Lasts] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)
    known: dict[int, int] = field(default_factory=dict)
    happened: dict[int, int] = field(default_factory=lambda: {0: 0})
    at_work: set[int] = field(default_factory=set)
    starts: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    unchained: dict[tuple[int, int], int] = field(default_factory=dict)
    """The edges without those by which steps take capacities over."""
    deferred: set[tuple[int, int]] = field(default_factory=set)
    """The edges by which irreversible steps wait for others."""

    def note_start(self, about: str, at: int) -> None:
        """Note that the step `about` has started."""
        self.happened[self.starts[about]] = at
        if self.starts[about] == self.ends[about]:
            self.at_work.add(self.starts[about])

    def note_end(self, about: str, at: int) -> bool:
        """Note that the step `about` has ended as was expected; return False where something had to come before that.

        What came before its end says nothing any more, nor do its deadlines.
        """
        end = self.ends[about]
        if self.starts[about] not in self.happened or any(one != self.starts[about] for one in self.waits_for(end)):
            return False
        self.at_work.discard(end)
        self.happened[end] = at
        self.lasts.pop(about)
        nodes = {self.starts[about], end}
        self.edges = {pair: least for pair, least in self.edges.items() if pair[1] not in nodes}
        self.unchained = {pair: least for pair, least in self.unchained.items() if pair[1] not in nodes}
        self.limits = [each for each in self.limits if each.node not in nodes]
        return True

    def is_running(self, about: str) -> bool:
        """Return whether the step `about` has started, and has an end that has not come."""
        end = self.ends[about]
        return self.starts[about] in self.happened and end != self.starts[about] and end not in self.happened

    def find_earliest(self, now: int) -> list[int] | str:
        """Return the earliest time of each node, nothing of what is left before `now`; or why there are none."""
        return self._relax(now, self._list_edges())

    def _list_edges(self) -> list[tuple[tuple[int, int], int]]:
        """Return all edges, with the durations of steps that have not begun."""
        edges = list(self.edges.items())
        for about, lasts in self.lasts.items():
            start, end = self.starts[about], self.ends[about]
            if start != end and start not in self.happened:
                edges.append(((start, end), lasts.low))
                if lasts.high is not None:
                    edges.append(((end, start), -lasts.high))
        return edges

    def _find_ends(self, now: int) -> dict[int, tuple[int, int]]:
        """Return the earliest and the latest time at which each step at work is thought to end."""
        found = {}
        for about, lasts in self.lasts.items():
            if self.is_running(about):
                begun = self.happened[self.starts[about]]
                latest = NEVER if lasts.high is None else max(begun + lasts.high, now)
                found[self.ends[about]] = max(begun + lasts.low, now), latest
        return found

    def _relax(self, now: int, edges: Sequence[tuple[tuple[int, int], int]]) -> list[int] | str:
        """Return the earliest time of each node by `edges`, or why there are none (Bellman, 1958; Ford, 1956)."""
        times = [max(now, 0)] * len(self.nodes)
        for node, at in (*self.known.items(), *self.happened.items()):
            times[node] = at
        fixed, ends = self.happened.keys() | self.known.keys(), self._find_ends(now)
        for node, (earliest, _) in ends.items():
            times[node] = earliest
        for _ in range(len(self.nodes) + 1):
            changed = False
            for (one, other), least in edges:
                at = times[one] + least
                if at <= times[other] or one == other:
                    continue
                if other in fixed:
                    if one in fixed:
                        continue  # what has happened has happened
                    return f"{self.nodes[one]} would have to come before {self.nodes[other]}"
                if other in ends and at > ends[other][1]:
                    return f"{self.nodes[other]} comes before {self.nodes[one]} can"
                times[other], changed = at, True
            if not changed:
                return times
        return "its times contradict each other"

    def find_targets(self, now: int, times: Sequence[int]) -> dict[str, int]:
        """Return when each step that is left should start, where `times` are the earliest ones.

        A step that has to last until others have ended does not start before these can: whatever they wait for may take
        longer than is expected. If a deadline needs it earlier, it starts as late as that allows.
        """
        latest = self._find_latest(now)
        left = {about: node for about, node in self.starts.items() if node not in self.happened}
        return {
            about: max(times[node], latest[node]) if self._is_early(about) else times[node]
            for about, node in left.items()
        }

    def _is_early(self, about: str) -> bool:
        """Return whether what has to end before the step `about` still waits for something else than this step."""
        start, end = self.starts[about], self.ends[about]
        if self.lasts[about].high is None or start == end:
            return False
        inner = {
            self.nodes[one].about
            for (one, other), least in self.edges.items()
            if other == end and least >= 0 and one not in self.happened and self.nodes[one].about not in ("", about)
        }
        if not inner:
            return False
        own = self.find_following(start) | {start, end}
        return any(
            node not in own and node not in self.known
            for each in inner
            if self.starts[each] not in self.happened
            for node in self.waits_for(self.starts[each])
        )

    def find_following(self, node: int) -> set[int]:
        """Return the nodes that come after `node`, directly or not."""
        found, stack = set[int](), [node]
        following: dict[int, list[int]] = {}
        for (one, other), least in self.edges.items():
            if least >= 0:
                following.setdefault(one, []).append(other)
        for about in self.starts:
            following.setdefault(self.starts[about], []).append(self.ends[about])
        while stack:
            fresh = [each for each in following.get(stack.pop(), ()) if each not in found]
            found.update(fresh)
            stack += fresh
        return found

    def find_late(self, times: Sequence[int]) -> Limit | None:
        """Return a limit that `times` break by the most; None if they keep all."""
        late = [each for each in self.limits if times[each.node] > each.until]
        return max(late, key=lambda each: times[each.node] - each.until, default=None)

    def keeps_limits(self, now: int) -> bool:
        """Return whether all that is left can happen from `now` on, and keeps the limits."""
        times = self.find_earliest(now)
        return not isinstance(times, str) and self.find_late(times) is None

    def _find_latest(self, now: int) -> list[int]:
        """Return the latest time of each node that keeps all limits."""
        latest = [NEVER] * len(self.nodes)
        for node, at in self.known.items():
            latest[node] = at
        for limit in self.limits:
            latest[limit.node] = min(latest[limit.node], limit.until)
        for node in self.happened:
            latest[node] = NEVER
        edges, ends = self._list_edges(), self._find_ends(now)
        for _ in range(len(self.nodes) + 1):
            changed = False
            for (one, other), least in edges:
                bound = min(latest[other], ends[other][1] if other in ends else NEVER)
                if one in self.happened or other in self.happened or bound == NEVER or bound - least >= latest[one]:
                    continue
                latest[one], changed = bound - least, True
            if not changed:
                break
        return latest

    def find_latest_start(self, about: str, now: int) -> int:
        """Return the latest tick at which the step `about` may start so that all limits are kept."""
        return self._find_latest(now)[self.starts[about]]

    def find_alarm(self, now: int) -> int | None:
        """Return the first tick after `now` at which something is too late that has not happened by then, if any."""
        latest = self._find_latest(now)
        left = [self.starts[each] for each in self.starts if self.starts[each] not in self.happened]
        left += [self.ends[each] for each in self.ends if self.is_running(each)]
        return min([latest[node] + 1 for node in left if now < latest[node] + 1 < NEVER], default=None)

    def waits_for(self, node: int) -> Iterator[int]:
        """Yield the nodes that have not happened, and that `node` comes after."""
        for (one, other), least in self.edges.items():
            if other == node and least >= 0 and one != 0 and (one in self.at_work or one not in self.happened):
                yield one

    def find_ready(self, now: int, times: Sequence[int]) -> list[str]:
        """Return the steps that should start now, where `times` are the earliest ones."""
        found: list[str] = []
        taken: list[int] = []
        for about, at in self.find_targets(now, times).items():
            node = self.starts[about]
            if at > now or any(True for _ in self.waits_for(node)):
                continue
            if any(self._is_too_close(other, now, taken) for other in self._apart_from(node)):
                continue
            if any(self.edges.get((other, node), -1) > 0 for other in taken):
                continue
            taken.append(node)
            found.append(about)
        return found

    def _apart_from(self, node: int) -> Iterator[int]:
        for one, other in self.apart:
            if node in (one, other):
                yield other if node == one else one

    def _is_too_close(self, other: int, now: int, taken: Iterable[int]) -> bool:
        """Return whether the node `other` comes now, or has just come."""
        return other in self.at_work or other in taken or abs(self.happened.get(other, -APART) - now) < APART

    def find_next(self, now: int, times: Sequence[int]) -> int | None:
        """Return the next tick at which a step may start, or a change comes about, if nothing else happens.

        Steps that wait for others to end do not count: that end is something that happens.
        """
        moments = [at for at in self.known.values() if at > now]
        for about, at in self.find_targets(now, times).items():
            if any(True for _ in self.waits_for(self.starts[about])):
                continue
            if now < at < NEVER:
                moments.append(at)
            elif any(True for _ in self._apart_from(self.starts[about])):
                moments.append(now + APART)
        return min(moments, default=None)
