"""Read what a problem says of time: its start, what happens when, what is due by when, and its capacities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from datetime import time as TimeOfDay  # noqa: N812 - `time` is what is read here
from typing import Any, Final, Protocol

from planner.errors import did_you_mean
from planner.language.declare.atom_syntax import abbreviate
from planner.language.declare.fields import CodePlace, Place, check_number
from planner.lightweight import dataclass, replace
from planner.model.actions import Literal, NumericEffect
from planner.model.calendar import (
    check_exists,
    is_time_of_day,
    parse_moment,
    seconds_between,
    seconds_of_day,
    write_moment,
)
from planner.model.domain import DomainModel
from planner.model.formulas import Atom, Formula, Not, Number, exact_decimal, exact_number
from planner.model.timing import GoalDeadline, TimedEffect

_RANGE: Final = ".."
_TIMES: Final = "write seconds, a time of day such as '9:00', or an absolute time such as '2026-11-27T09:00+01:00'"
_EXISTING: Final = "write a time before or after that, or one with an offset such as +01:00"
_WINDOW: Final = "write '9:00..17:00', or a list of such windows"
_DUE: Final = ("by", "weight")


class Statements(Protocol):
    """Reads conditions and changes on the objects of a problem."""

    def condition(self, value: Any, place: Place) -> Formula:
        """Read a condition; raises an error at `place` for a mistake."""

    def changes(self, value: Any, place: Place) -> tuple[tuple[Literal, ...], tuple[NumericEffect, ...]]:
        """Read facts that become true or false, and numeric effects; raises an error at `place` for a mistake."""


def read_start(value: Any, place: Place) -> datetime | None:
    """Read the absolute time at which plans begin, with its time zone; None stays None."""
    if value is None:
        return None
    hint = "write '2026-11-27T08:00+01:00', or '2026-11-27T08:00 Europe/Berlin'"
    found = _parse_moment(value, place, hint)
    if found is None:
        raise place.error(f"{abbreviate(value)} is no absolute time", hint)
    if found.utcoffset() is None:
        raise place.error(f"{abbreviate(value)} has no time zone", hint)
    _refuse_missing(found, value, place)
    return found


def _refuse_missing(moment: datetime, value: Any, place: Place) -> None:
    """Raise an error at `place` where no clock shows the local time `moment`, written as `value`."""
    try:
        check_exists(moment)
    except ValueError as error:
        raise place.error(f"the time {abbreviate(str(value))} does not exist: {error}", _EXISTING) from None


def _parse_moment(value: Any, place: Place, hint: str) -> datetime | None:
    """Return the absolute time that `value` is or writes; None where it is none."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        return None
    try:
        return parse_moment(value)
    except ValueError as error:
        if "zone" in str(error):
            raise place.error(str(error), hint) from None
        return None


@dataclass(frozen=True, slots=True)
class Clock:
    """Maps times as authors write them to seconds on the plan's clock, which starts at the absolute time `start`."""

    start: datetime | None

    def seconds(self, value: Any, place: Place, *, may_be_past: bool = False) -> Number:
        """Return the seconds from the beginning to `value`; raises an error at `place` for a time before it.

        An absolute time or time of day before the beginning is negative if it `may_be_past`.
        """
        found = self._convert(value, place)
        if found < 0 and not (may_be_past and self.start is not None):
            what = f"the time {abbreviate(str(value))} is before the plan starts"
            if self.start is None:
                raise place.error(what, "seconds count from its start, and are 0 or more")
            hint = "write a time of the next day with more than 24 hours ('31:00'), or with its date"
            raise place.error(f"{what}, at {write_moment(self.start)}", hint)
        return found

    def _convert(self, value: Any, place: Place) -> Number:
        if isinstance(value, TimeOfDay):
            value = value.isoformat()
        if isinstance(value, str) and is_time_of_day(value):
            try:
                return seconds_of_day(value, self.start)
            except ValueError as error:
                raise place.error(f"the time {abbreviate(value)} does not exist: {error}", _EXISTING) from None
        moment = _parse_moment(value, place, _TIMES) if isinstance(value, datetime) or _looks_absolute(value) else None
        if moment is not None:
            return self._since_start(moment, value, place)
        try:
            return exact_number(exact_decimal(value))
        except ValueError:
            raise place.error(f"{abbreviate(value)} is no time", _TIMES) from None

    def _since_start(self, moment: datetime, value: Any, place: Place) -> Number:
        if self.start is None:
            message = f"{abbreviate(str(value))} is an absolute time, and the problem does not say when it starts"
            raise place.error(message, "say it: starts_at='2026-11-27T08:00+01:00'")
        if moment.utcoffset() is None:
            moment = moment.replace(tzinfo=self.start.tzinfo)
        _refuse_missing(moment, value, place)
        return seconds_between(self.start, moment)


def _looks_absolute(value: Any) -> bool:
    return isinstance(value, str) and value.count("-") >= 2


def read_timed(value: Any, clock: Clock, statements: Statements, place: Place) -> tuple[TimedEffect, ...]:
    """Read what happens at known times: a mapping from times to changes, in the order of times.

    Finished ones stay in their order. Raises an error at `place` for the first mistake.
    """
    if isinstance(value, Mapping):
        found = []
        for key, changes in value.items():
            here = place.within(key) if isinstance(key, str) else place
            found.append(_make_timed(clock.seconds(key, here), changes, statements, here))
        return tuple(sorted(found, key=lambda each: each.time))
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise place.error(f"{abbreviate(value)} does not say what happens when", "write {'9:00': 'open(shop)'}")
    return tuple([_read_finished(each, clock, statements, place.within(at)) for at, each in enumerate(value)])


def _read_finished(each: Any, clock: Clock, statements: Statements, place: Place) -> TimedEffect:
    if isinstance(each, TimedEffect):
        return _make_timed(clock.seconds(each.time, place), (*each.provides, *each.numbers), statements, place)
    if isinstance(each, tuple) and len(each) == 2:
        return _make_timed(clock.seconds(each[0], place), each[1], statements, place)
    raise place.error(f"{abbreviate(each)} does not say what happens when", "write TimedEffect(time, provides)")


def _make_timed(time: Number, changes: Any, statements: Statements, place: Place) -> TimedEffect:
    provides, numbers = statements.changes(changes, place)
    if not (provides or numbers):
        raise place.error(f"nothing happens at {time}", "say which facts become true or false: 'open(shop)'")
    return TimedEffect(time, provides, numbers)


@dataclass(frozen=True, slots=True)
class Windows:
    """The initial facts and the changes at known times that windows stand for.

    `past` are the facts whose windows all ended before the plan begins, with these ends.
    """

    initial: tuple[Atom, ...] = ()
    timed: tuple[TimedEffect, ...] = ()
    past: tuple[GoalDeadline, ...] = ()


def read_windows(value: Any, clock: Clock, statements: Statements, place: Place) -> Windows:
    """Read windows, in which facts hold: a mapping from facts to `"9:00..17:00"`, or to several of these.

    A window begins as a change, or before the plan where it has no beginning, and ends as a change. Windows that end
    before the plan begins are left out.
    """
    if not isinstance(value, Mapping):
        raise place.error(f"{abbreviate(value)} are no windows", "write {'open(shop)': '9:00..17:00'}")
    initial: list[Atom] = []
    timed: list[TimedEffect] = []
    past: list[GoalDeadline] = []
    for key, windows in value.items():
        here = place.within(key) if isinstance(key, str) else place
        literals, numbers = statements.changes(key, here)
        if len(literals) != 1 or numbers or not isinstance(literals[0], Atom):
            raise here.error(f"{abbreviate(str(key))} is no fact that holds in windows", "write an atom: 'open(shop)'")
        fact = literals[0]
        assert isinstance(fact, Atom)
        until: Number | None = 0
        spans = _read_spans(windows, clock, here)
        ends = [end for _, end in spans if end is not None and end <= 0]
        if spans and len(ends) == len(spans):
            past.append(GoalDeadline(fact, max(ends)))
        for begin, end in sorted(spans, key=lambda span: span[0]):
            if end is not None and end <= 0:
                continue
            if until is None or begin < until or (begin == until and until > 0):
                raise here.error(f"two windows of {fact} overlap or meet at {begin} seconds", "write one window")
            if begin == 0:
                initial.append(fact)
            else:
                timed.append(TimedEffect(begin, (fact,)))
            if end is not None:
                timed.append(TimedEffect(end, (Not(fact),)))
            until = end
    return Windows(tuple(initial), tuple(sorted(timed, key=lambda each: each.time)), tuple(past))


def _read_spans(value: Any, clock: Clock, place: Place) -> list[tuple[Number, Number | None]]:
    if isinstance(value, str):
        return _read_span(*value.partition(_RANGE), clock, place)
    if not isinstance(value, list | tuple) or not value:
        raise place.error(f"{abbreviate(value)} is no window", _WINDOW)
    is_pair = len(value) == 2 and not any(isinstance(x, list | tuple) or _RANGE in str(x) for x in value)
    if is_pair:
        return _read_span(value[0], _RANGE, value[1], clock, place)
    return [span for each in value for span in _read_spans(each, clock, place)]


def _read_span(begin: Any, sign: str, end: Any, clock: Clock, place: Place) -> list[tuple[Number, Number | None]]:
    begin, end = [each.strip() if isinstance(each, str) else each for each in (begin, end)]
    if sign != _RANGE or begin == end == "":
        raise place.error(f"{abbreviate(begin)} is no window", _WINDOW)
    first = 0 if begin in ("", None) else clock.seconds(begin, place, may_be_past=True)
    last = None if end in ("", None) else clock.seconds(end, place, may_be_past=True)
    if last is not None and last <= first and begin not in ("", None):
        raise place.error(f"the window from {begin} to {end} ends before it begins", _WINDOW)
    return [(max(0, first), last)]


def read_due(value: Any, clock: Clock, statements: Statements, place: Place) -> tuple[GoalDeadline, ...]:
    """Read by when conditions must be reached: a mapping from conditions to times, or to `{"by": …, "weight": …}`.

    With a weight, a plan pays so much for each second that the condition is late.
    """
    if isinstance(value, Mapping):
        pairs = [(key, each, place.within(key) if isinstance(key, str) else place) for key, each in value.items()]
        return tuple([_read_deadline(key, each, clock, statements, here) for key, each, here in pairs])
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise place.error(f"{abbreviate(value)} does not say what is due when", "write {'at(r2, lab)': '10:00'}")
    found = []
    for at, each in enumerate(value):
        here = place.within(at)
        pair = (each.condition, {"by": each.by, "weight": each.weight}) if isinstance(each, GoalDeadline) else each
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise here.error(f"{abbreviate(each)} does not say what is due when", "write GoalDeadline(condition, by)")
        condition, due = pair
        found.append(_read_deadline(condition, due, clock, statements, here))
    return tuple(found)


def _read_deadline(condition: Any, value: Any, clock: Clock, statements: Statements, place: Place) -> GoalDeadline:
    said = value if isinstance(value, Mapping) else {"by": value}
    for key in said:
        if key not in _DUE:
            near = did_you_mean(str(key), _DUE) or "its keys are by and weight"
            raise place.error(f"a deadline has no key {abbreviate(key)}", near)
    if said.get("by") is None:
        raise place.error("a deadline does not say by when", "write {'by': '10:00', 'weight': 2}")
    weight = said.get("weight")
    paid = None if weight is None else check_number(weight, "what a second of lateness costs", place)
    if paid == 0:
        raise place.error("a second of lateness costs 0, so that nothing is due", "leave the weight out, or raise it")
    return GoalDeadline(statements.condition(condition, place), clock.seconds(said["by"], place), paid)


def read_deadline(value: Any, clock: Clock, place: Place) -> Number | None:
    """Read the time by which the whole plan must be over, which is after its beginning; None stays None."""
    if value is None:
        return None
    seconds = clock.seconds(value, place)
    if seconds == 0:
        raise place.error("the deadline is 0; it must be above 0", "it is in seconds")
    return seconds


def read_capacity(value: Any, domain: DomainModel, place: Place) -> dict[str, Number]:
    """Read how much of each capacity there is; raises an error at `place` for one that actions hold and none has."""
    if not isinstance(value, Mapping):
        raise place.error(f"{abbreviate(value)} are no capacities", "write capacity={'worker': 3}")
    holders = {name: action.name for action in domain.actions.values() for name in action.holds}
    found = {}
    for name, amount in value.items():
        here = place.within(name) if isinstance(name, str) else place
        if name not in holders:
            known = f"actions hold {', '.join(sorted(holders))}" if holders else "no action of the domain holds any"
            raise here.error(f"a capacity of {abbreviate(name)}, which no action holds", _nearest(name, holders, known))
        found[name] = check_number(amount, f"the capacity of {name}", here)
    missing = {name: action for name, action in holders.items() if name not in found}
    if missing:
        raise place.error(*_describe_missing(missing, found, place))
    return found


def _describe_missing(missing: Mapping[str, str], found: Mapping[str, Number], place: Place) -> tuple[str, str]:
    """Return the message about the capacities that are `missing`, with their holders, and what to write at `place`."""
    holders = list(dict.fromkeys(missing.values()))
    held = _enumerate(missing)
    who = f"the action {holders[0]!r} holds" if len(holders) == 1 else f"the actions {_enumerate(holders)} hold"
    amounts = {**found, **dict.fromkeys(missing, 1)}
    quote, start = "", "capacity: "
    if isinstance(place, CodePlace):
        quote, start = "'", "capacity="
    elif place.location.source.lower().endswith(".json"):
        quote, start = '"', '"capacity": '
    written = ", ".join([f"{quote}{name}{quote}: {amount}" for name, amount in amounts.items()])
    return f"{who} {held}, of which the problem has no capacity", f"say how much there is: {start}{{{written}}}"


def _enumerate(names: Iterable[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} and {last}" if others else last


def _nearest(name: Any, known: Iterable[str], otherwise: str) -> str:
    return did_you_mean(str(name), known) or otherwise


def merge_timed(timed: Iterable[TimedEffect], more: Iterable[TimedEffect]) -> tuple[TimedEffect, ...]:
    """Return both in the order of times, changes of one time that touch different facts together."""
    merged: dict[Number, TimedEffect] = {}
    found: list[TimedEffect] = []
    for each in sorted((*timed, *more), key=lambda effect: effect.time):
        before = merged.get(each.time)
        if before is None or set(map(_fact, before.provides)) & set(map(_fact, each.provides)):
            merged[each.time] = each
            found.append(each)
        else:
            joined = replace(
                before, provides=(*before.provides, *each.provides), numbers=(*before.numbers, *each.numbers)
            )
            found[found.index(before)] = merged[each.time] = joined
    return tuple(found)


def _fact(literal: Literal) -> Any:
    return literal.part if isinstance(literal, Not) else literal
