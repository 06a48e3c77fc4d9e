"""Calendars: the clock of a plan, in seconds from its beginning, and absolute times with time zones, both ways.

The clock counts the seconds that pass: where a time zone changes its offset, a day has 23 or 25 hours of it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

from planner.lightweight import Final
from planner.model.formulas import Number

_ZONE: Final = re.compile(r"(.*\S)\s+([A-Za-z_]+(?:/[A-Za-z0-9_+-]+)*)\s*\Z")
_TIME_OF_DAY: Final = re.compile(r"\s*(\d{1,3}):([0-5]\d)(?::([0-5]\d)(\.\d{1,6})?)?\s*\Z")
_MICROSECONDS: Final = 10**6


def parse_moment(text: str) -> datetime:
    """Parse an absolute time: `2026-11-27T08:00+01:00`, or `2026-11-27T08:00 Europe/Berlin` with the name of a zone.

    A time without a zone stays without one. Raises `ValueError` with the reason.
    """
    named = _ZONE.match(text)
    if named is None:
        return datetime.fromisoformat(text.strip())
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    found = datetime.fromisoformat(named[1])
    if found.tzinfo is not None:
        raise ValueError(f"{text!r} has an offset and the name of a zone")
    try:
        return found.replace(tzinfo=ZoneInfo(named[2]))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no time zone {named[2]!r}") from None


def write_moment(moment: datetime) -> str:
    """Write an absolute time as `parse_moment` reads it."""
    zone = getattr(moment.tzinfo, "key", None)
    return moment.isoformat() if zone is None else f"{moment.replace(tzinfo=None).isoformat()} {zone}"


def is_time_of_day(text: str) -> bool:
    """Return whether `text` is a time of day, such as `9:00` or `17:30:15`; hours above 23 are those of later days."""
    return _TIME_OF_DAY.match(text) is not None


def seconds_of_day(text: str, start: datetime | None) -> Number:
    """Return the seconds from `start` to the time of day `text` of the same day; without a start, from midnight.

    A time of day before `start` has a negative number of seconds. Raises `ValueError` for one that does not exist on
    that day.
    """
    found = _TIME_OF_DAY.match(text)
    assert found is not None
    hours, minutes, seconds = int(found[1]), int(found[2]), int(found[3] or 0)
    after_midnight = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    after_midnight += timedelta(microseconds=int(Decimal(found[4] or 0) * _MICROSECONDS))
    if start is None:
        return _as_seconds(after_midnight)
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    moment = midnight + after_midnight
    check_exists(moment)
    return seconds_between(start, moment)


def check_exists(moment: datetime) -> None:
    """Raise `ValueError` where clocks never show the local time `moment`, as they are put forward over it."""
    gap = find_gap(moment)
    if gap is not None:
        before, after = (f"{each:%H:%M}" for each in gap)
        day = f"{moment:%Y-%m-%d}"
        raise ValueError(f"clocks in this time zone are put forward from {before} to {after} on {day}")


def find_gap(moment: datetime) -> tuple[datetime, datetime] | None:
    """Return between which local times clocks are put forward, where `moment` lies there and so does not exist."""
    before, after = (moment.replace(fold=fold).utcoffset() for fold in (0, 1))
    if before is None or after is None or after <= before:
        return None
    local = moment.replace(tzinfo=UTC)
    low, high = local - after, local - before  # clocks are put forward after the one and until the other
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        if middle.astimezone(moment.tzinfo).utcoffset() == before:
            low = middle
        else:
            high = middle
    first = high.replace(microsecond=0)
    return tuple([(first + offset).replace(tzinfo=None) for offset in (before, after)])  # type: ignore[return-value]


def seconds_between(start: datetime, moment: datetime) -> Number:
    """Return the seconds that pass from `start` to `moment`, both with time zones; negative where it is before."""
    return _as_seconds(moment.astimezone(UTC) - start.astimezone(UTC))


def moment_at(start: datetime, seconds: Number) -> datetime:
    """Return the absolute time `seconds` after `start`, in its time zone, to the microsecond."""
    zone: tzinfo | None = start.tzinfo
    later = start.astimezone(UTC) + timedelta(microseconds=int(seconds * _MICROSECONDS))
    return later.astimezone(zone)


def _as_seconds(passed: timedelta) -> Number:
    whole = passed.days * 86_400 + passed.seconds
    return whole + Decimal(passed.microseconds) / _MICROSECONDS if passed.microseconds else whole
