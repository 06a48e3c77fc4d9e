"""Measurements of tool libraries as a table: medians over the seeds, each part of the time apart."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.tables import markdown
from benchmarks.tools.measure import Measured

PARTS = ("declare", "compile", "search")
HEAD = ("profile", "tools", "planner", "optimal", *PARTS, "total", "CPU", "with declaring", "not as certified")


def tools_table(measured: Sequence[Measured]) -> str:
    """Return medians in milliseconds for each profile, size and planner, and how many were proved as certified.

    The total is that of compiling and searching. Where fewer than half were proved, it is what it took to give up,
    marked with ">".
    """
    cells: dict[tuple[str, int, str], list[Measured]] = {}
    for one in measured:
        profile = one.profile + (f", {one.subjects} subject(s)" if one.subjects else "")
        cells.setdefault((profile, one.size, one.planner), []).append(one)
    return markdown(HEAD, [_row(*key, members) for key, members in cells.items()])


def _row(profile: str, size: int, planner: str, members: Sequence[Measured]) -> tuple[str, ...]:
    proved = sum(one.outcome == "optimal" for one in members)
    wrong = sum(one.outcome.startswith("wrong") for one in members)
    mark = "" if 2 * proved > len(members) else "> "
    parts = [_median([getattr(one, part) for one in members]) for part in PARTS]
    total = mark + _median([one.total for one in members])
    whole = _median([None if one.declare is None else one.declare + one.total for one in members])
    shown = mark + whole if whole else ""
    cpu = _median([one.cpu for one in members])
    return (profile, f"{size:,}", planner, f"{proved}/{len(members)}", *parts, total, cpu, shown, str(wrong or ""))


def _median(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    middle = median(known)
    return f"{middle:.2f}" if middle < 10 else f"{middle:.1f}" if middle < 100 else f"{middle:,.0f}"
