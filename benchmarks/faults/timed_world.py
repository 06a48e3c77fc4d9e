"""The true world of a run in time: what holds, who is at work, and what the run was told of it.

Nothing of the planner's semantics and of `executor.testing.SimulatedWorld` is used. Each event of the run leaves a
`Record` of what was known then, from which the judge takes what could still have been done.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from benchmarks.faults.timed_schedules import APART, Change, Errand, Situation, Way
from benchmarks.faults.timed_setting import SPEEDS, Mishap, TimedFault, TimedSetting
from executor.events.events import TROUBLE, Event, GoalDropped, StepEnded, StepStatus
from executor.testing.virtual_time import current, now
from executor.tools.results import ActionResult
from executor.tools.step_policy import ExecutionPolicy
from executor.tools.world import World

NEVER_STARTS: Final = frozenset({TimedFault.FAILS, TimedFault.RAISES, TimedFault.LIES, TimedFault.HANGS})
RAISING: Final = frozenset({TimedFault.RAISES, TimedFault.RAISES_DONE})
HANGING: Final = frozenset({TimedFault.HANGS, TimedFault.HANGS_DONE})
PATIENCE: Final = 4
"""Times its declared duration that a handler may take, and a second more; slow steps take less."""
MOST_EVENTS: Final = 2000
"""Events after which a run is thought to go on for ever."""
CLOSE: Final = 2e-3
"""Seconds by which times may differ that are meant to be the same."""


class BrokenDownError(Exception):
    """The error of a faulty handler."""


@dataclass(slots=True)
class Work:
    """What is done for the step `key`, from `since` on and until `until`; it is `broken` where it lacked something.

    Work that `is_left_alone` belongs to a process that has died.
    """

    way: Way
    key: str
    since: float
    until: float
    broken: str = ""
    is_left_alone: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """What was known at an event, before it: `bars` had failed, and wishes were `dropped`.

    `excuses` are reasons since the event before for which time may have been lost.
    """

    situation: Situation
    bars: frozenset[str]
    dropped: frozenset[str]
    excuses: frozenset[str]
    event: Event


@dataclass(eq=False)
class TimedWorld:
    """The world in which the run of a `setting` takes place."""

    setting: TimedSetting
    facts: set[str] = field(init=False)
    told: set[str] = field(init=False)
    """What the run knows to hold: by what was declared and observed, and by the times that it knows."""
    running: dict[str, Work] = field(default_factory=dict)
    known: dict[str, tuple[str, float]] = field(default_factory=dict)
    """The calls that have not been answered: ways and their starts, by the key of the step."""
    reached: dict[str, float] = field(default_factory=dict)
    """When goals first held."""
    seen: dict[str, float] = field(default_factory=dict)
    """When the run first could know that facts held."""
    ends: list[float] = field(default_factory=list)
    bars: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    struck: Counter[int] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    """How often each step, by its key, came to its end."""
    ways: dict[str, Way] = field(default_factory=dict)
    """The ways of steps, by their keys."""
    wrongs: list[str] = field(default_factory=list)
    """What the run must not have done."""
    records: list[Record] = field(default_factory=list)
    process: int = 0
    _excuses: set[str] = field(default_factory=set)
    _open: set[str] = field(default_factory=set)
    """Steps that are not settled: their answers were not what was declared, or they are in doubt."""

    def __post_init__(self) -> None:
        errand = self.errand
        self.facts, self.told = set(errand.initial), set(errand.initial)
        self._nominal = sorted(errand.changes)
        self._true = sorted(_move_windows(errand.changes, self.setting.mishaps))

    @property
    def errand(self) -> Errand:
        """The problem."""
        return self.setting.errand

    def make_world(self) -> World:
        """Return handlers of all ways, and observers of all facts."""
        world = World(self.setting.problem.domain)
        for way in self.errand.ways:
            policy = ExecutionPolicy(timeout=PATIENCE * way.seconds + 1, retries=self.setting.retries)
            world.handler(way.name, policy=policy)(self._make_handler(way))
        for fact in sorted(self.errand.facts & {*self.setting.problem.domain.predicates}):
            world.observer(fact, conclusive=True, settle_within=self.setting.settle_within)(self._make_observer(fact))
        return world

    def _make_observer(self, fact: str) -> Callable[[], Coroutine[Any, Any, bool]]:
        async def look() -> bool:
            self.catch_up()
            if (fact in self.facts) is not (fact in self.told):
                self._excuses.add(f"{fact} was otherwise than was known")
            self._tell(fact)
            return fact in self.facts

        return look

    def _tell(self, fact: str) -> None:
        (self.told.add if fact in self.facts else self.told.discard)(fact)
        if fact in self.facts:
            self.seen.setdefault(fact, now())

    def _make_handler(self, way: Way) -> Callable[..., Coroutine[Any, Any, ActionResult]]:
        async def work(context: Any = None) -> ActionResult:
            key, process = f"{context.run}/{context.step}", self.process
            self._check_start(way, key)
            self.ways[key] = way
            self.known[key] = way.name, now()
            self.told -= way.drops
            try:
                return await self._do(way, key)
            finally:
                if process == self.process:
                    self._note_answer(way, key)

        return work

    async def _do(self, way: Way, key: str) -> ActionResult:
        """Carry out `way`, as far as no fault keeps it from that."""
        mishap = self._strike(way.name)
        kind = None if mishap is None else mishap.kind
        lasts = way.seconds * self._find_factor(way, key)
        if kind in NEVER_STARTS:
            await self._sleep(lasts, kind)
            objection = "" if kind is TimedFault.LIES else "it did not work"
        else:
            objection = self._begin(way, key, lasts)
            if not objection:
                await asyncio.sleep(lasts)
                objection = self._end(key)
                if kind in HANGING:
                    await asyncio.Event().wait()
        if kind in RAISING:
            raise BrokenDownError(f"{way.name} broke down")
        if objection or kind is TimedFault.FAILS_DONE:
            return ActionResult.failed(objection or "it says that it did not work")
        return ActionResult(text="done")

    async def _sleep(self, seconds: float, kind: TimedFault | None) -> None:
        if kind is TimedFault.HANGS:
            await asyncio.Event().wait()
        await asyncio.sleep(seconds)

    def _strike(self, name: str) -> Mishap | None:
        """Return the fault that strikes a call for the way `name`."""
        for number, each in enumerate(self.setting.mishaps):
            left = each.times is None or self.struck[number] < each.times
            if each.at == name and each.kind not in SPEEDS and left:
                self.struck[number] += 1
                return each
        return None

    def _find_factor(self, way: Way, key: str) -> float:
        """Return how many times its declared duration this call of `way` takes."""
        factor = 1.0
        for number, each in enumerate(self.setting.mishaps):
            left = each.times is None or self.struck[number] < each.times
            if each.kind in SPEEDS and each.at == way.name and left:
                self.struck[number] += 1
                factor *= each.factor
            elif each.kind is TimedFault.NOISE:
                self.struck[number] += 1
                factor *= random.Random(f"{self.setting.seed} {key} {self.struck[number]}").uniform(0.8, 1.3)
        return factor

    def _check_start(self, way: Way, key: str) -> None:
        """Note what is wrong with a start by what is known."""
        self.catch_up()
        for fact in sorted((way.needs | way.through) - self.told):
            self._blame(f"{way.name} starts though {fact} does not hold, as the run knows")
        early, late = now() + CLOSE, now() + way.seconds - CLOSE
        for change in self._nominal:
            if change.fact in way.through and not change.holds and early < change.at < late:
                self._blame(f"{way.name} starts though {change.fact} is known to end at {change.at:g} s")
        for name, _ in self.known.values():
            for fact in sorted(self.errand.by_name[name].through & way.drops):
                self._blame(f"{way.name} starts though {name} needs {fact} meanwhile")
        if way.gives <= self.told:
            self._blame(f"{way.name} starts though {', '.join(sorted(way.gives))} is known to hold")
        if key in self.known or key in self.running:
            self._blame(f"{way.name} starts a second time for one step while it is at work")
        if self.done[key]:
            self._blame(f"{way.name} starts again for one step that came to its end")

    def _blame(self, text: str) -> None:
        self.wrongs.append(f"{now():.3f} s: {text}")

    def _begin(self, way: Way, key: str, lasts: float) -> str:
        """Begin the work of `way`; return why that is impossible, or ""."""
        lacking = sorted((way.needs | way.through) - self.facts)
        if lacking:
            return f"{lacking[0]} does not hold"
        over = self.errand.takes_too_much([way.name, *[each.way.name for each in self.running.values()]])
        if over:
            self._blame(f"{way.name} starts, and more of {over} is held than there is")
        self.running[key] = Work(way, key, now(), now() + lasts)
        for fact in way.drops:
            self._change(now(), fact, holds=False)
        return ""

    def _end(self, key: str) -> str:
        """End the work for a step; return why it came to nothing, or ""."""
        self.catch_up()
        work = self.running.pop(key)
        self.ends.append(now())
        if work.broken:
            return work.broken
        self.done[key] += 1
        for fact in work.way.gives:
            self._change(now(), fact, holds=True)
        return ""

    def _change(self, at: float, fact: str, *, holds: bool) -> None:
        (self.facts.add if holds else self.facts.discard)(fact)
        if holds and fact in self.errand.goals | self.errand.wishes.keys():
            self.reached.setdefault(fact, at)
        for work in self.running.values():
            if not holds and fact in work.way.through and at < work.until - CLOSE / 2:
                work.broken = work.broken or f"{fact} ended at {at:g} s"

    def _note_answer(self, way: Way, key: str) -> None:
        """Note that a handler has answered, or was given up: now the run looks at what it was to bring about."""
        self.known.pop(key, None)
        for fact in (*way.gives, *way.drops):
            self._tell(fact)
        if not way.gives <= self.facts:
            self.bars.add(way.name)
            self._open.add(key)
            self._excuses.add(f"{way.name} did not work")

    def catch_up(self) -> None:
        """Let everything come about whose time has come, the earliest first."""
        last = now() + APART / 1000
        while True:
            alone = min([each for each in self.running.values() if each.is_left_alone], key=_end_of, default=None)
            at = [queue[0].at if queue else math.inf for queue in (self._true, self._nominal)]
            at.append(math.inf if alone is None else alone.until)
            if min(at) > last:
                return
            if at[0] == min(at):
                self._apply_true()
            elif at[1] == min(at):
                self._apply_nominal()
            elif alone is not None:
                self._end_alone(alone)

    def _apply_true(self) -> None:
        change = self._true.pop(0)
        if not change.holds:  # what somebody else has undone may be done again
            gone = [key for key in self.done if change.fact in self.ways[key].gives]
            self.done = Counter({key: times for key, times in self.done.items() if key not in gone})
        self._change(change.at, change.fact, holds=change.holds)

    def _apply_nominal(self) -> None:
        change = self._nominal.pop(0)
        (self.told.add if change.holds else self.told.discard)(change.fact)

    def _end_alone(self, work: Work) -> None:
        self.running.pop(work.key)
        self.ends.append(work.until)
        if not work.broken:
            self.done[work.key] += 1
            for fact in work.way.gives:
                self._change(work.until, fact, holds=True)

    def note_death(self, *, goes_on: bool) -> None:
        """Note that the process of the run has died: what was at work stops, or `goes_on` to its end."""
        self.process += 1
        self._excuses.add("the process was dead")
        self._open |= self.known.keys()
        self.known.clear()
        for work in list(self.running.values()):
            work.is_left_alone = True
            if not goes_on:
                self.running.pop(work.key)

    def note(self, event: Event) -> None:
        """Note an event of the run, with what was known before it."""
        self.catch_up()
        if isinstance(event, StepEnded):
            key = f"r/{event.step}"
            if event.status is StepStatus.IN_DOUBT:
                self._open.add(key)
            else:
                self._open.discard(key)
            if event.status in TROUBLE or event.obstacle:
                self._excuses.add(f"{event.step} is {event.status.name}")
        self.records.append(self._make_record(event))
        loop = current()
        if len(self.records) > MOST_EVENTS and loop is not None:
            loop.die(f"{MOST_EVENTS} events")
        self._excuses.clear()
        if self._open:
            self._excuses.add("a step was not settled")
        if isinstance(event, GoalDropped):
            self.dropped.add(event.condition)

    def _make_record(self, event: Event) -> Record:
        for name, since in self.known.values():
            if since + self.errand.by_name[name].seconds < now() - CLOSE:
                self._excuses.add(f"{name} took longer")
        running = [
            (max(round(since + self.errand.by_name[name].seconds, 6), round(now() + APART, 6)), name)
            for name, since in self.known.values()
        ]
        reached = {fact for fact, at in self.seen.items() if at <= self.errand.due.get(fact, -1.0) + CLOSE}
        situation = Situation(
            now(), frozenset(self.told), tuple(sorted(running)), tuple(self._nominal), frozenset(reached)
        )
        return Record(situation, frozenset(self.bars), frozenset(self.dropped), frozenset(self._excuses), event)


def _end_of(work: Work) -> float:
    return work.until


def _move_windows(changes: tuple[Change, ...], mishaps: tuple[Mishap, ...]) -> Iterator[Change]:
    """Yield the changes as they really come about, with those from outside."""
    for change in changes:
        for each in mishaps:
            if each.at == change.fact and each.moment == change.at:
                if each.kind is TimedFault.OPENED_LATE and change.holds:
                    change = replace(change, at=change.at + each.away)  # noqa: PLW2901
                elif each.kind is TimedFault.SHUT_EARLY and not change.holds:
                    change = replace(change, at=max(change.at - each.away, 0.0))  # noqa: PLW2901
        yield change
    for each in mishaps:
        if each.kind in (TimedFault.UNDONE, TimedFault.GIVEN):
            yield Change(each.moment, each.at, holds=each.kind is TimedFault.GIVEN)
