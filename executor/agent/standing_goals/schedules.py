"""Times at which standing goals are due: once, or again and again by a cron expression.

`cronsim` reads and advances cron expressions as Debian's cron does, also where clocks are put forward or back.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from executor.tools.containment import quote_value
from planner.errors import InputError
from planner.lightweight import dataclass

MOST_COUNTED: Final = 10_000
"""Most missed times of a schedule that are counted."""
EXAMPLE: Final = "'*/15 * * * *' is every quarter of an hour, '0 9 * * MON-FRI' at nine on working days"


@dataclass(frozen=True, slots=True)
class Once:
    """One time, in seconds since 1970."""

    time: float

    def after(self, time: float) -> float | None:
        """Return the first time of the schedule after `time`; None without one."""
        return self.time if self.time > time else None

    def before(self, time: float) -> float | None:
        """Return the last time of the schedule until `time`; None without one."""
        return self.time if self.time <= time else None

    def __str__(self) -> str:
        return f"at {datetime.fromtimestamp(self.time, UTC).isoformat(sep=' ', timespec='seconds')}"


@dataclass(frozen=True, slots=True)
class Cron:
    """The times of a cron `expression` in a time `zone`."""

    expression: str
    zone: tzinfo = UTC

    def after(self, time: float) -> float | None:
        """Return the first time of the schedule after `time`; None without one."""
        return self._find(time, reverse=False)

    def before(self, time: float) -> float | None:
        """Return the last time of the schedule until `time`; None without one."""
        return self._find(math.floor(time) + 1, reverse=True)

    def _find(self, time: float, *, reverse: bool) -> float | None:
        from cronsim import CronSim

        start = datetime.fromtimestamp(time, UTC).astimezone(self.zone)
        return next((each.timestamp() for each in CronSim(self.expression, start, reverse=reverse)), None)

    def __str__(self) -> str:
        return f"every {self.expression!r} ({self.zone})"


Schedule = Once | Cron


def read_time(time: Any) -> Once:
    """Return the schedule of a time with a time zone; raises `InputError` for anything else."""
    if not isinstance(time, datetime):
        hint = "such as datetime(2030, 1, 1, 9, tzinfo=ZoneInfo('Europe/Berlin'))"
        raise InputError(f"at(…) takes a datetime, got {quote_value(time)}", hint=hint)
    if time.utcoffset() is None:
        raise InputError(f"{time.isoformat(sep=' ')} has no time zone", hint="say tzinfo=ZoneInfo('Europe/Berlin')")
    try:
        made = Once(time.timestamp())
        str(made)  # the last microsecond of the calendar rounds to a time that no calendar has
    except (OverflowError, OSError, ValueError) as error:
        raise InputError(f"{time.isoformat(sep=' ')} is no time of this calendar: {error}") from None
    return made


def read_cron(expression: Any, zone: Any) -> Cron:
    """Return the schedule of a cron expression; raises `InputError` for an invalid one, and for an unknown zone."""
    from cronsim import CronSimError

    if not isinstance(expression, str):
        raise InputError(f"every(…) takes a cron expression, got {quote_value(expression)}", hint=EXAMPLE)
    if isinstance(zone, str):
        try:
            zone = ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise InputError(
                f"there is no time zone {zone!r}", hint="such as 'Europe/Berlin'; on Windows, pip install tzdata"
            ) from None
    if not isinstance(zone, tzinfo):
        raise InputError(f"{quote_value(zone)} is no time zone", hint="such as 'Europe/Berlin', or 'UTC'")
    made = Cron(" ".join(expression.split()), zone)
    try:
        made.after(0.0)
    except CronSimError as error:
        raise InputError(f"{expression!r} is no cron expression: {error}", hint=EXAMPLE) from None
    return made


def find_due(schedule: Schedule, since: float, now: float) -> tuple[float, int] | None:
    """Return the last time of `schedule` after `since` until `now`, and how many there are; None without one.

    The number is at most `MOST_COUNTED`.
    """
    due = schedule.before(now)
    if due is None or due <= since:
        return None
    count, time = 1, since
    while count < MOST_COUNTED and (earlier := schedule.after(time)) is not None and earlier < due:
        count, time = count + 1, earlier
    return due, count
