"""Whether any schedule still meets the deadlines: all schedules of a small problem in time, one decision after another.

At each moment at which something begins or ends, each way may start that can, or time goes on to the next such moment.
No way of these problems has to end while another one lasts, so that nothing needs to start between two such moments
(Baker, 1974: active schedules). Nothing of the planner or the executor is used.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Final

APART: Final = 0.001
"""Seconds between two happenings that must not come at once."""
MOST_STATES: Final = 20_000
"""Most states that a search looks at."""
Schedule = list[tuple[float, str]]
"""Starts, in seconds, and the names of ways."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to do something, in seconds: it `needs` facts at its start and others `through`, and `gives` at its end.

    What it `drops` ends to hold at its start. While it lasts, it `holds` so much of capacities.
    """

    name: str
    seconds: int
    gives: frozenset[str]
    needs: frozenset[str] = frozenset()
    through: frozenset[str] = frozenset()
    drops: frozenset[str] = frozenset()
    holds: Mapping[str, int] = field(default_factory=dict)
    cost: int = 1


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """A `fact` comes to hold, or ends to, so many seconds after the beginning."""

    at: float
    fact: str
    holds: bool


@dataclass(frozen=True)
class Errand:
    """A small problem in time. `due` says by when goals are to be reached; `wishes` have utilities.

    Its facts in `changes` are windows; ways change only other facts.
    """

    ways: tuple[Way, ...]
    initial: frozenset[str]
    goals: frozenset[str]
    capacity: Mapping[str, int]
    changes: tuple[Change, ...] = ()
    wishes: Mapping[str, int] = field(default_factory=dict)
    due: Mapping[str, float] = field(default_factory=dict)
    deadline: float | None = None
    objective: str = "makespan"

    @cached_property
    def by_name(self) -> dict[str, Way]:
        """The ways by their names."""
        return {each.name: each for each in self.ways}

    @property
    def facts(self) -> frozenset[str]:
        """All facts."""
        given = [fact for way in self.ways for fact in (*way.gives, *way.needs, *way.through, *way.drops)]
        return frozenset([*given, *self.initial, *[each.fact for each in self.changes]])

    @property
    def horizon(self) -> float:
        """Seconds in which everything can be done one after another."""
        return 2 * sum(way.seconds for way in self.ways) + max([each.at for each in self.changes], default=0.0)

    def takes_too_much(self, names: Mapping[str, int] | list[str]) -> str:
        """Return a capacity of which the ways `names` together hold more than there is; "" if they do not."""
        for capacity, most in self.capacity.items():
            if sum(self.by_name[name].holds.get(capacity, 0) for name in names) > most:
                return capacity
        return ""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known at a time: `running` has the ends at which ways at work are thought to end, with their names.

    `to_come` are the changes at known times after `now`; goals in `reached` were reached before they were due.
    """

    now: float
    facts: frozenset[str]
    running: tuple[tuple[float, str], ...]
    to_come: tuple[Change, ...]
    reached: frozenset[str] = frozenset()

    @classmethod
    def first(cls, errand: Errand) -> Situation:
        """Return the situation at the beginning."""
        return cls(0.0, errand.initial, (), tuple(sorted(errand.changes)))

    def advance(self, errand: Errand) -> Situation | None:
        """Return the situation after the next end or change; None where there is none."""
        moments = [*[at for at, _ in self.running], *[each.at for each in self.to_come]]
        if not moments:
            return None
        at = max(min(moments), self.now)
        facts = set(self.facts)
        for change in self.to_come:
            if change.at <= at:
                (facts.add if change.holds else facts.discard)(change.fact)
        for end, name in self.running:
            if end <= at:
                facts |= errand.by_name[name].gives
        reached = self.reached | {fact for fact in facts if at <= errand.due.get(fact, at)}
        running = tuple([each for each in self.running if each[0] > at])
        to_come = tuple([each for each in self.to_come if each.at > at])
        return Situation(round(at + APART, 6), frozenset(facts), running, to_come, reached.intersection(errand.due))


class TooManySchedules(Exception):
    """There are more schedules than can be looked at."""


def find_schedule(
    errand: Errand,
    situation: Situation,
    *,
    bars: frozenset[str] = frozenset(),
    dropped: frozenset[str] = frozenset(),
    margin: float = 0.0,
) -> Schedule | None:
    """Return starts of ways that lead to all goals and wishes by their deadlines, less `margin`; None without any.

    Ways in `bars` do not start, and wishes in `dropped` do not count. Raises `TooManySchedules`.
    """
    wanted = errand.goals.union(errand.wishes) - dropped
    return _Search(errand, bars, wanted, margin, None).extend(situation, 0)


def draw_schedule(errand: Errand, dice: random.Random) -> Schedule | None:
    """Return a random schedule for `errand` without starts that it does not need; None where none was found."""
    try:
        found = _Search(errand, frozenset(), errand.goals.union(errand.wishes), 0.0, dice).extend(
            Situation.first(replace(errand, deadline=errand.horizon)), 0
        )
    except (TooManySchedules, RecursionError):
        return None
    return None if found is None else _hasten(errand, _drop_unneeded(errand, found))


def _drop_unneeded(errand: Errand, schedule: Schedule) -> Schedule:
    """Return `schedule` without single starts, and pairs of them, that it does not need."""
    for one, other in [*[(each, each) for each in schedule], *combinations(schedule, 2)]:
        fewer = [each for each in schedule if each not in (one, other)]
        if len(fewer) < len(schedule) and is_schedule(errand, fewer):
            schedule = fewer
    return schedule


def _hasten(errand: Errand, schedule: Schedule) -> Schedule:
    """Return `schedule` in which each start comes as early as those before it allow."""
    schedule = sorted(schedule)
    for place, (at, name) in enumerate(schedule):
        ends = [round(start + errand.by_name[each].seconds + APART, 6) for start, each in schedule[:place]]
        moments = [0.0, *ends, *[each.at + APART for each in errand.changes]]
        for moment in sorted(each for each in moments if each < at):
            earlier = [*schedule[:place], (moment, name), *schedule[place + 1 :]]
            if is_schedule(errand, earlier):
                schedule = earlier
                break
    return sorted(schedule)


def is_schedule(errand: Errand, schedule: Schedule) -> bool:
    """Return whether ways that start as `schedule` says reach all goals and wishes."""
    now = Situation.first(errand)
    for at, name in sorted(schedule):
        while (later := now.advance(errand)) is not None and later.now <= at + APART / 2:
            now = later
        now = replace(now, now=at)
        way = errand.by_name[name]
        if not can_start(errand, now, way):
            return False
        now = start_way(now, way)
    while (later := now.advance(errand)) is not None:
        now = later
    return errand.goals.union(errand.wishes) <= now.facts


def can_start(errand: Errand, now: Situation, way: Way) -> bool:
    """Return whether `way` can start now, and last as long as it does, by what is known."""
    end = now.now + way.seconds
    return (
        way.needs <= now.facts
        and way.through <= now.facts - way.drops
        and not any(change.fact in way.through and not change.holds and change.at < end for change in now.to_come)
        and not any(errand.by_name[name].through & way.drops for _, name in now.running)
        and not errand.takes_too_much([way.name, *[name for _, name in now.running]])
    )


def start_way(now: Situation, way: Way) -> Situation:
    """Return the situation after the start of `way`."""
    running = tuple(sorted([*now.running, (round(now.now + way.seconds, 6), way.name)]))
    return replace(now, facts=now.facts - way.drops, running=running)


@dataclass(slots=True, eq=False)
class _Search:
    """A search in depth for the `wanted` facts; `dice` shuffles what is tried first."""

    errand: Errand
    bars: frozenset[str]
    wanted: frozenset[str]
    margin: float
    dice: random.Random | None
    _seen: set[tuple[Situation, int]] = field(default_factory=set)

    def extend(self, now: Situation, first: int) -> Schedule | None:
        """Return what is to start from `now` on, of the ways from number `first` on where time has not gone on."""
        if (now, first) in self._seen or self._is_too_late(now):
            return None
        if self._is_over(now):
            return []
        self._seen.add((now, first))
        if len(self._seen) > MOST_STATES:
            raise TooManySchedules
        for number in self._choose(now, first):
            if number is None:
                later = now.advance(self.errand)
                found = None if later is None else self.extend(later, 0)
            else:
                way = self.errand.ways[number]
                found = self.extend(start_way(now, way), number + 1)
                found = None if found is None else [(now.now, way.name), *found]
            if found is not None:
                return found
        return None

    def _choose(self, now: Situation, first: int) -> Iterator[int | None]:
        """Yield the numbers of the ways that may start now, and None for none."""
        found: list[int | None] = [
            number
            for number in range(first, len(self.errand.ways))
            if self._is_useful(now, self.errand.ways[number]) and can_start(self.errand, now, self.errand.ways[number])
        ]
        if self.dice is not None:
            self.dice.shuffle(found)
            yield from [None, *found] if self.dice.random() < 0.2 else [*found, None]
        else:
            yield from [*found, None]

    def _is_useful(self, now: Situation, way: Way) -> bool:
        """Return whether `way` gives what does not hold, and comes about no sooner by itself."""
        if way.name in self.bars or way.gives <= now.facts:
            return False
        end = float("inf") if self.dice is not None else now.now + way.seconds
        return not any(self.errand.by_name[name].gives == way.gives and at <= end for at, name in now.running)

    def _is_over(self, now: Situation) -> bool:
        if not self.wanted <= now.facts:
            return False
        return self.errand.deadline is None or all(at <= self._last for at, _ in now.running)

    @property
    def _last(self) -> float:
        """When everything has to be over."""
        deadline = self.errand.horizon if self.errand.deadline is None else self.errand.deadline
        return deadline - self.margin

    def _is_too_late(self, now: Situation) -> bool:
        """Return whether the deadlines are out of reach even if nothing got in the way of anything."""
        if any(at > self._last for at, _ in now.running):
            return True
        at = self._find_earliest(now)
        for fact in self.wanted:
            open_ = fact not in now.reached and fact in self.errand.due
            last = min(self._last, self.errand.due[fact] - self.margin) if open_ else self._last
            if at.get(fact, float("inf")) > last:
                return True
        return False

    def _find_earliest(self, now: Situation) -> dict[str, float]:
        """Return when each fact may hold at the earliest: the critical path of the delete relaxation."""
        at = dict.fromkeys(now.facts, now.now)
        for change in now.to_come:
            if change.holds:
                at[change.fact] = min(at.get(change.fact, float("inf")), change.at)
        for end, name in now.running:
            for fact in self.errand.by_name[name].gives:
                at[fact] = min(at.get(fact, float("inf")), end)
        while True:
            changed = False
            for way in self.errand.ways:
                before = [at.get(fact, float("inf")) for fact in (*way.needs, *way.through)]
                end = max([now.now, *before]) + way.seconds
                for fact in () if way.name in self.bars else way.gives:
                    if end < at.get(fact, float("inf")):
                        at[fact], changed = end, True
            if not changed:
                return at
