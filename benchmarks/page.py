"""A report as one HTML page that needs nothing else: tables, and plots as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Final

from benchmarks.plots import Point, cactus, scatter
from benchmarks.rates import long_searches, rate_ratios
from benchmarks.records import Counts, Record, TaskId, proved
from benchmarks.report import (
    LEAST_MIB,
    LEAST_SECONDS,
    Measure,
    checks,
    columns_of,
    mebibytes,
    outcomes,
    ratio_table,
    score_tables,
    seconds,
    totals_table,
)
from benchmarks.svg import element, text
from benchmarks.tables import Table
from benchmarks.tracks import track_tables

ALL_PAIRS: Final = 4
"""Up to so many planners every pair is plotted, of more the first one with every other."""

LEAST_SEARCH: Final = 0.1
"""Searches of fewer seconds do not count where rates are compared."""
STYLE: Final = Path(__file__).with_name("page.css")

Column = Mapping[TaskId, Record]


@dataclass(frozen=True, slots=True)
class Kind:
    """What scatter plots show: its unit, how it is measured, the name of its limit in records and that one's unit."""

    unit: str
    measure: Measure
    limit: str
    factor: float
    least: float


KINDS: Final = (
    Kind("CPU seconds", seconds, "cpu_seconds", 1.0, LEAST_SECONDS),
    Kind("MiB", mebibytes, "memory_gib", 1024.0, LEAST_MIB),
)


def report_page(records: Sequence[Record], counts: Counts, known: Mapping[str, float], title: str) -> str:
    """Return the page; `known` are costs of plans from elsewhere, by the names of tasks."""
    scores = score_tables(records, counts, known)
    columns = columns_of(records)
    searches = long_searches(records, LEAST_SEARCH)
    tracks = track_tables(records, counts)
    parts = [
        element("h1", text(title)),
        *section("Summary", [totals_table(scores), outcomes(records)]),
        *(section("Against the first", [ratio_table(records, counts)]) if len(columns) > 1 else []),
        *(section("Search alone", [rate_ratios(searches)]) if len(searches) > 1 else []),
        *section("Plots", [], [_cactus(columns, counts), *_scatters(columns, counts)]),
        *(section("By track", tracks) if tracks else []),
        *section("By domain", scores),
        *(section("Validation", [checks(records)]) if any(record.checks for record in records) else []),
        *section("Runs", [runs(records)]),
        element("footer", text(f"made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by forethought bench")),
    ]
    style = STYLE.read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"{element('title', text(title))}<style>{style}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def section(title: str, tables: Iterable[Table], drawings: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Return a headline with tables and drawings (what they show, SVG) under it."""
    figures = [element("figure", drawn, element("figcaption", text(words))) for words, drawn in drawings]
    shown = [element("div", *figures, class_="figures")] if figures else []
    return [element("h2", text(title)), *map(html_table, tables), *shown]


def html_table(table: Table) -> str:
    """Return a table; wide ones can be scrolled."""
    parts = [element("thead", _row("th", table.head)), element("tbody", *(_row("td", row) for row in table.rows))]
    if table.total:
        parts.append(element("tfoot", _row("td", table.total)))
    return element("div", element("table", *parts), class_="table")


def _row(name: str, cells: Iterable[object]) -> str:
    return element("tr", *(element(name, text(cell)) for cell in cells))


def runs(records: Sequence[Record]) -> Table:
    """Return what was run: configurations, versions, limits and dates of each planner's records."""
    rows = []
    for label in columns_of(records):
        mine = [record for record in records if record.planner == label]
        dates = sorted(record.date for record in mine)
        rows.append(
            (
                label,
                _each(record.configuration for record in mine),
                _each(" ".join(f"{name} {number}" for name, number in record.versions.items()) for record in mine),
                _each(", ".join(f"{name} {value:g}" for name, value in record.limits.items()) for record in mine),
                _each(record.suite for record in mine),
                len(mine),
                _each([dates[0][:10], dates[-1][:10]]),
            )
        )
    return Table(["planner", "configuration", "versions", "limits", "suites", "records", "dates"], rows)


def _each(words: Iterable[str]) -> str:
    return "; ".join(filter(None, dict.fromkeys(words)))


def _limit(columns: Mapping[str, Column], counts: Counts, kind: Kind) -> float:
    """Return the greatest limit, or what was needed for something done where that is more."""
    records = [record for table in columns.values() for record in table.values()]
    needed = (kind.measure(record) for record in records if counts(record))
    return max(kind.least, *(record.limits.get(kind.limit, 0.0) * kind.factor for record in records), *needed)


def _cactus(columns: Mapping[str, Column], counts: Counts) -> tuple[str, str]:
    series = {
        label: [seconds(record) for record in table.values() if counts(record)] for label, table in columns.items()
    }
    tasks = len({task for table in columns.values() for task in table})
    word = "proved" if counts is proved else "done"
    words = f"How many of {tasks} tasks are {word} within so many seconds of CPU time."
    return words, cactus(series, _limit(columns, counts, KINDS[0]), tasks)


def _scatters(columns: Mapping[str, Column], counts: Counts) -> list[tuple[str, str]]:
    first = next(iter(columns))
    pairs = [pair for pair in combinations(columns, 2) if len(columns) <= ALL_PAIRS or first in pair]
    return [
        (_told(points, pair), scatter(points, _limit(columns, counts, kind), pair, kind.unit))
        for pair in pairs
        for kind in KINDS
        if (points := _points(columns[pair[0]], columns[pair[1]], counts, kind))
    ]


def _points(left: Column, right: Column, counts: Counts, kind: Kind) -> list[Point]:
    """Return the tasks that either has done of those that both were tried on."""
    points = []
    for task in left:
        if task in right and (counts(left[task]) or counts(right[task])):
            sides = left[task], right[task]
            x, y = (kind.measure(side) if counts(side) else None for side in sides)
            said = "; ".join(f"{side.planner}: {side.outcome}, {kind.measure(side):.4g} {kind.unit}" for side in sides)
            points.append(Point(x, y, f"{task[1]} ({task[0]})\n{said}"))
    return points


def _told(points: Sequence[Point], pair: tuple[str, str]) -> str:
    both = [(point.x, point.y) for point in points if point.x is not None and point.y is not None]
    less, more = sum(x < y for x, y in both), sum(x > y for x, y in both)
    only = sum(point.y is None for point in points), sum(point.x is None for point in points)
    return (
        f"{len(both)} tasks of both: {less} with less for {pair[0]}, {more} with less for {pair[1]}. "
        f"Only by {pair[0]}: {only[0]}, only by {pair[1]}: {only[1]} (at the limit)."
    )
