"""The slow and obvious twin of planning in time: every schedule, tick by tick.

At each tick each set of actions may start that the rules allow, with each duration in their ranges. A step whose
duration nothing bounds may end at each tick from its least duration on. A state is what holds, with the steps that run
and the ticks that are left of each; the first tick at which a plan may end is the least makespan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from benchmarks.temporal_semantics import Happening, Lasting, State, TemporalSemantics

MOST_CHOICES: Final = 100_000
"""Most ways to go on from one tick that are looked at: starts together, with each duration of each."""
MOST_OPEN: Final = 8
"""Most steps that may end at one tick or later: each subset of them is tried."""


class TooManyStates(Exception):
    """The task has more states in time than the caller wanted to look at, or too many ways to go on from one."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What holds before a tick, and the steps that run."""

    state: State
    running: tuple[_Running, ...]


@dataclass(frozen=True, slots=True, order=True)
class _Running:
    """A step of the action `number` that runs, and the ticks that are `left`; from 0 on it may end where it `is_open`.

    `lasts` counts its ticks in all where changes at its end depend on them, else it is 0.
    """

    number: int
    left: int
    lasts: int = 0
    is_open: bool = False

    def go_on(self) -> _Running:
        """Return this step a tick later."""
        if self.left or not self.is_open:
            return replace(self, left=self.left - 1)
        return replace(self, lasts=self.lasts + 1) if self.lasts else self


def find_least_makespan(semantics: TemporalSemantics, most_states: int, most_ticks: int = 10_000) -> int | None:
    """Return the least makespan in ticks; None where no plan exists. Raises `TooManyStates`."""
    last_event = max([time for time, _ in semantics.events], default=-1)
    layer = {_Moment(semantics.initial, ())}
    if _ends_well(semantics, semantics.initial, 0):
        return 0
    old: set[_Moment] = set()
    looked_at = 0
    for tick in range(most_ticks):
        following: set[_Moment] = set()
        for moment in layer:
            for after, _ in _find_next(semantics, moment, tick):
                if not after.running and _ends_well(semantics, after.state, tick + 1):
                    return tick
                following.add(_Moment(after.state, tuple(sorted(each.go_on() for each in after.running))))
            looked_at += 1
            if looked_at > most_states or len(following) > most_states:
                raise TooManyStates
        layer = following - old
        if tick >= last_event:
            old |= layer
        if not layer:
            return None
    raise TooManyStates


def find_fewest_steps(semantics: TemporalSemantics, most_states: int, most_ticks: int = 10_000) -> int | None:
    """Return the least number of steps of a plan; None where no plan exists. Raises `TooManyStates`."""
    last_event = max([time for time, _ in semantics.events], default=-1)
    layer = {_Moment(semantics.initial, ()): 0}
    least = 0 if _ends_well(semantics, semantics.initial, 0) else None
    old: dict[_Moment, int] = {}
    looked_at = 0
    for tick in range(most_ticks):
        following: dict[_Moment, int] = {}
        for moment, steps in layer.items():
            for after, begun in _find_next(semantics, moment, tick):
                count = steps + begun
                if least is not None and count >= least:
                    continue
                if not after.running and _ends_well(semantics, after.state, tick + 1):
                    least = count
                later = _Moment(after.state, tuple(sorted(each.go_on() for each in after.running)))
                following[later] = min(count, following.get(later, count))
            looked_at += 1
            if looked_at > most_states or len(following) > most_states:
                raise TooManyStates
        layer = {each: steps for each, steps in following.items() if steps < old.get(each, steps + 1)}
        if tick >= last_event:
            old |= layer
        if not layer:
            return least
    raise TooManyStates


def _ends_well(semantics: TemporalSemantics, state: State, tick: int) -> bool:
    """Return whether the goal holds after the changes at known times from `tick` on, where nothing else happens."""
    later: dict[int, list[Happening]] = {}
    for time, event in semantics.events:
        if time >= tick:
            later.setdefault(time, []).append(event)
    for time in sorted(later):
        if _clash(later[time]):
            return False
        state = semantics.apply(later[time], state)
    return semantics.allows(semantics.goal, state)


def _clash(together: Sequence[Happening]) -> bool:
    return any(one.excludes(other) for place, one in enumerate(together) for other in together[:place])


def _find_next(semantics: TemporalSemantics, moment: _Moment, tick: int) -> Iterator[tuple[_Moment, int]]:
    """Yield what may hold after `tick`, each with the number of steps that start then."""
    may_end = [each for each in moment.running if not each.left and each.is_open]
    if len(may_end) > MOST_OPEN:
        raise TooManyStates
    for many in range(len(may_end) + 1):
        for ending in combinations(may_end, many):
            yield from _find_with_ends(semantics, moment, tick, ending)


def _find_with_ends(
    semantics: TemporalSemantics, moment: _Moment, tick: int, ending: Sequence[_Running]
) -> Iterator[tuple[_Moment, int]]:
    """Yield what may hold after `tick` where of the steps that nothing bounds those of `ending` end, and the starts."""
    actions, state = semantics.actions, moment.state
    kept = list(moment.running)
    for each in [*ending, *[each for each in kept if not each.left and not each.is_open]]:
        kept.remove(each)
    forced = [event for time, event in semantics.events if time == tick]
    ended = list((Counter(moment.running) - Counter(kept)).elements())
    forced += [semantics.end_of(actions[each.number], each.lasts) for each in ended]
    if not all(semantics.allows(each, state) for each in forced) or _clash(forced):
        return
    able = [
        number
        for number, action in enumerate(actions)
        if semantics.allows(action.start, state) and not any(action.start.excludes(each) for each in forced)
    ]
    if _count_choices(semantics, able) > MOST_CHOICES:
        raise TooManyStates
    for chosen in _choose(semantics, able):
        together = [*forced, *[actions[number].start for number in chosen]]
        after = semantics.apply(together, state) if together else state
        for lengths in _choose_lengths(semantics, chosen):
            running = tuple(sorted([*kept, *lengths]))
            throughs = [through for each in running if (through := actions[each.number].through) is not None]
            if all(semantics.allows(through, after) for through in throughs):
                yield _Moment(after, running), len(chosen)


def _count_choices(semantics: TemporalSemantics, able: Sequence[int]) -> int:
    """Return how many choices of the actions `able`, with durations, there are at most."""
    count = 1
    for action in (semantics.actions[number] for number in able):
        lengths = 1 if action.end is None or action.high is None else action.high - action.low + 1
        count *= 1 + lengths + (lengths**2 if _may_come_twice(action) else 0)
    return count


def _may_come_twice(action: Lasting) -> bool:
    return bool(action.start.changes or (action.end is not None and action.end.changes))


def _choose(semantics: TemporalSemantics, able: Sequence[int]) -> Iterator[list[int]]:
    """Yield all choices of the actions `able` whose starts may come at once.

    An action that changes numbers may come twice; more often it never helps where few values are drawn.
    """
    if not able:
        yield []
        return
    first, *rest = able
    action = semantics.actions[first]
    for chosen in _choose(semantics, rest):
        yield chosen
        if not any(action.start.excludes(semantics.actions[number].start) for number in chosen):
            yield [first, *chosen]
            if _may_come_twice(action) and not action.start.excludes(action.start):
                yield [first, first, *chosen]


def _choose_lengths(semantics: TemporalSemantics, chosen: Sequence[int]) -> Iterator[list[_Running]]:
    """Yield the durations that the steps of the actions `chosen` may have; an instant has none and never runs."""
    if not chosen:
        yield []
        return
    action = semantics.actions[chosen[0]]
    for rest in _choose_lengths(semantics, chosen[1:]):
        if action.end is None:
            yield rest
            continue
        lengths = [action.low] if action.high is None else range(action.low, action.high + 1)
        for length in lengths:
            lasts = length if action.charges else 0
            yield [_Running(chosen[0], length, lasts, action.high is None), *rest]
