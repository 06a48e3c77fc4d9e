"""Decide which steps may begin now (`Agenda`), and wait for what a run waits for (`Inbox`).

The execution models:

- `sequential`, `reactive`, `hierarchical`, `policy`: one step after the other, in the order of the plan;
- `parallel`: rounds of all steps whose predecessors are done;
- `dag`: each step as soon as its predecessors are done;
- `offered`: as `dag`, but each step only when the driver of the run has chosen it.

In each model, irreversible steps begin as late as the order of the plan allows: after all reversible steps that might
still fail. None begins while a question about a step for the same part of the goal is open, or a failure awaits
recovery. What waits holds up no step for another part of the goal (`executor.loop.detours`).

A run waits for steps that end, for answers from outside, and for the timers and deadlines of waiting steps.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from executor.events.answers import ends_by_clock
from executor.events.steps import StepRecord
from executor.loop.attempt import Attempt
from executor.loop.locks_and_rates import wait_unless_cancelled
from executor.tools.clock import WALL, Clock
from executor.tools.results import ActionResult

SINGLE: Final = frozenset({"sequential", "reactive", "hierarchical", "policy"})


class Agenda:
    """The remaining steps with the steps that each waits for; a failed step blocks exactly its dependents."""

    def __init__(
        self, model: str, order: Sequence[str], before: Mapping[str, Collection[str]], begun: Collection[str] = ()
    ) -> None:
        """Make an agenda of the steps in `order`, none of which is done; those in `begun` are at work."""
        self._model = model
        self._place = {id_: place for place, id_ in enumerate(order)}
        if model in SINGLE:
            before = {id_: order[max(place - 1, 0) : place] for id_, place in self._place.items()}
        self._left = {id_: sum(1 for each in before.get(id_, ()) if each in self._place) for id_ in order}
        self._after: dict[str, list[str]] = {}
        for id_ in order:
            for each in before.get(id_, ()):
                if each in self._place:
                    self._after.setdefault(each, []).append(id_)
        self._begun = set(begun)
        self._ready = [(place, id_) for id_, place in self._place.items() if not self._left[id_] and id_ not in begun]

    def take_ready(self, at_work: int, most: int | None, is_held: Callable[[str], bool]) -> list[str]:
        """Return the steps to begin now, while `at_work` are at work and at most `most` may be.

        Those for which `is_held` stay ready.
        """
        if at_work and (self._model in SINGLE or self._model == "parallel"):
            return []
        room = len(self._ready) if most is None else max(most - at_work, 0)
        if self._model in SINGLE:
            room = min(room, 1)
        taken = heapq.nsmallest(room, [each for each in self._ready if not is_held(each[1])])
        if taken:
            self._ready = [each for each in self._ready if each not in taken]
            heapq.heapify(self._ready)
        return [id_ for _, id_ in taken]

    @property
    def ready(self) -> list[str]:
        """The steps that wait for no other step, in the order of the plan."""
        return [id_ for _, id_ in sorted(self._ready)]

    def note_begun(self, id_: str) -> None:
        """Remove a step that has begun from the ready ones."""
        self._begun.add(id_)
        self._ready = [each for each in self._ready if each[1] != id_]
        heapq.heapify(self._ready)

    def note_done(self, id_: str) -> None:
        """Make the steps ready that waited for this step only."""
        self.note_begun(id_)
        if self._model in SINGLE and self._left.get(id_):
            self._take_out(id_)
            return
        for each in self._after.get(id_, ()):
            self._left[each] -= 1
            if not self._left[each] and each not in self._begun:
                heapq.heappush(self._ready, (self._place[each], each))

    def _take_out(self, id_: str) -> None:
        """Take a step out of the line that was done before its turn: the next one waits for the one before it."""
        self._left[id_] = 0
        following = self._after.pop(id_, [])
        for waiting in self._after.values():
            if id_ in waiting:
                waiting[:] = following

    def has_ready(self, is_held: Callable[[str], bool]) -> bool:
        """Return whether some step may begin, for which not `is_held`."""
        return any(not is_held(id_) for _, id_ in self._ready)


Before = Mapping[str, Collection[str]]
"""The steps that each step waits for, by id."""


def defer_irreversible(
    order: Sequence[str],
    before: Before,
    irreversible: Collection[str],
    is_excused: Callable[[str, str], bool] = lambda *_: False,
) -> dict[str, frozenset[str]]:
    """Return `before` in which irreversible steps also wait for the reversible ones that do not depend on them.

    `order` has the ids of all steps in the order of the plan. An irreversible step waits for every reversible step,
    unless that one waits for this irreversible step or for a later one, or `is_excused(irreversible, reversible)`. The
    result has a cycle only if `before` has.
    """
    line, following = linearise(order, before), _find_successors(order, before)
    reversible = [id_ for id_ in line if id_ not in irreversible]
    found = {id_: frozenset(before.get(id_, ())) for id_ in order}
    dependent: set[str] = set()
    for id_ in reversed(line):
        if id_ in irreversible:
            _add_descendants(id_, following, dependent)
            found[id_] |= {each for each in reversible if each not in dependent and not is_excused(id_, each)}
    return found


def find_descendants(ids: Iterable[str], order: Sequence[str], before: Before) -> set[str]:
    """Return the steps that wait for one of those in `ids`, directly or not."""
    found, following = set[str](), _find_successors(order, before)
    for id_ in ids:
        _add_descendants(id_, following, found)
    return found


def linearise(order: Sequence[str], before: Before) -> list[str]:
    """Return `order` sorted so that no step comes before one that it waits for; otherwise the order stays as it is.

    Steps of a cycle are left out.
    """
    place = {id_: at for at, id_ in enumerate(order)}
    missing = {id_: sum(1 for each in before.get(id_, ()) if each in place) for id_ in order}
    following = _find_successors(order, before)
    ready = [place[id_] for id_ in order if not missing[id_]]
    line: list[str] = []
    while ready:
        line.append(id_ := order[heapq.heappop(ready)])
        for each in following.get(id_, ()):
            missing[each] -= 1
            if not missing[each]:
                heapq.heappush(ready, place[each])
    return line


def _find_successors(order: Iterable[str], before: Before) -> dict[str, list[str]]:
    """Return the steps that wait for each step."""
    found: dict[str, list[str]] = {}
    for id_ in order:
        for each in before.get(id_, ()):
            found.setdefault(each, []).append(id_)
    return found


def _add_descendants(id_: str, following: Mapping[str, Sequence[str]], found: set[str]) -> None:
    """Add the steps that wait for step `id_`, directly or not, to `found`."""
    stack = [id_]
    while stack:
        fresh = [each for each in following.get(stack.pop(), ()) if each not in found]
        found.update(fresh)
        stack += fresh


COARSE: Final = 2.0
"""Most seconds that a coarse timer may be late (those of Temporal: 1); the last of a wait are left to `pause`."""


class _Alarm(NamedTuple):
    """The end of a wait: `at` is in the time of the event loop, `attempt` is the attempt with its result then.

    With `deadline`, an answer from outside may come before; otherwise the wait is a timer.
    """

    at: float
    attempt: Attempt
    deadline: bool = False


@dataclass(slots=True, eq=False)
class Inbox:
    """Waits for steps, answers and timers of one run."""

    clock: Clock = WALL
    pause: Callable[[float], Awaitable[None]] | None = field(init=False, default=None)
    """Waits for a short time where the timers of the event loop are coarse."""
    _news: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _early: dict[str, ActionResult] = field(init=False, default_factory=dict)
    """Results of events for which no step was waiting yet."""
    _alarms: dict[tuple[str, float], _Alarm | None] = field(init=False, default_factory=dict)
    """Alarms by step and start of its wait; None for a wait without end."""

    def wake(self) -> None:
        """Wake `wait_for_news`."""
        self._news.set()

    def keep_early_result(self, event: str, result: ActionResult) -> None:
        """Keep the result of an event for the first step that comes to wait for it."""
        self._early[event] = result

    @property
    def early_results(self) -> dict[str, ActionResult]:
        """The results of events for which no step was waiting yet."""
        return dict(self._early)

    def take_early_results(self, waiting: Iterable[StepRecord]) -> Iterable[tuple[StepRecord, ActionResult]]:
        """Remove and yield the early results for the steps `waiting`."""
        for record in waiting if self._early else ():
            event = (record.wait or {}).get("event")
            if event in self._early:
                yield record, self._early.pop(event)

    def is_expecting(self, waiting: Iterable[StepRecord]) -> bool:
        """Return whether the run goes on without an answer from outside: news, a passed deadline, or a timer."""
        now = asyncio.get_running_loop().time()
        alarms = [alarm for record in waiting if (alarm := self._find_alarm(record)) is not None]
        return self._news.is_set() or any(not alarm.deadline or alarm.at <= now for alarm in alarms)

    async def wait_for_news(self, waiting: Iterable[StepRecord], seconds: float | None = None) -> None:
        """Wait for `wake`, or for the alarm of one of the steps `waiting`, at most for so many `seconds`."""
        alarms = [alarm.at for record in waiting if (alarm := self._find_alarm(record)) is not None]
        if seconds is not None:
            alarms.append(asyncio.get_running_loop().time() + seconds)
        end = min(alarms, default=None)
        left = math.inf if end is None else end - asyncio.get_running_loop().time()
        if self.pause is not None and left < 2 * COARSE:
            await wait_unless_cancelled(self.pause(max(left, 0.0)), self._news)
        else:
            if self.pause is not None and end is not None:
                end -= COARSE  # whoever waits looks at the clock, and waits for the rest
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(end):
                    await self._news.wait()
        self._news.clear()

    def find_next_alarm(self, waiting: Iterable[StepRecord]) -> float | None:
        """Return when the first wait of the steps `waiting` ends, in the time of the event loop; None if none does."""
        return min([alarm.at for record in waiting if (alarm := self._find_alarm(record)) is not None], default=None)

    def find_expired(self, waiting: Iterable[StepRecord]) -> list[tuple[StepRecord, Attempt]]:
        """Return the steps `waiting` whose time is over, with their attempts."""
        now = asyncio.get_running_loop().time()
        found = [(record, self._find_alarm(record)) for record in waiting]
        return [(record, alarm.attempt) for record, alarm in found if alarm is not None and alarm.at <= now]

    def _find_alarm(self, record: StepRecord) -> _Alarm | None:
        key = record.id, record.since
        if key not in self._alarms:
            self._alarms[key] = _make_alarm(record, self.clock)
        return self._alarms[key]


def _make_alarm(record: StepRecord, clock: Clock) -> _Alarm | None:
    """Return the end of a step's wait; None if only an answer ends it."""
    wait = record.wait or {}
    seconds, deadline = wait.get("seconds"), wait.get("deadline")
    is_timer = ends_by_clock(wait)
    limits = [each for each in (deadline, None if is_timer else seconds) if each is not None]
    passed = max(clock.time() - record.since, 0.0)  # a clock that was put back makes no wait longer
    since = asyncio.get_running_loop().time() - passed
    if seconds is not None and is_timer and (deadline is None or seconds <= deadline):
        return _Alarm(since + seconds, Attempt(ActionResult(text="the time is over that it waited for")))
    if not limits:
        return None
    reason = f"no answer came within {min(limits):g} s"
    failed = ActionResult.failed(reason)
    if wait.get("conclusive"):
        return _Alarm(since + min(limits), Attempt(failed, begun=False), deadline=True)
    return _Alarm(since + min(limits), Attempt(failed, in_doubt=reason), deadline=True)
