"""A report as one HTML page that needs nothing else: tables, and plots as SVG.

Two plots as SVG: tasks done over time (a cactus plot), and two planners against each other (a scatter plot).

Elements of SVG and HTML as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from itertools import combinations
from pathlib import Path
from typing import Final

from benchmarks import report
from benchmarks.numeric_report import numeric_tables
from benchmarks.rates import rate_ratios, select_long_searches
from benchmarks.records import Counts, Record, TaskId, is_proved
from benchmarks.temporal_report import temporal_tables

UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What may stand in no XML document, however it is written."""


def text(value: object) -> str:
    """Return `value` as text between tags or in an attribute."""
    return escape(UNPRINTABLE.sub("\ufffd", str(value)))


def element(name: str, *children: str, **attributes: object) -> str:
    """Return an element; `_` in names of attributes stands for `-`, at their end for nothing, and numbers are rounded.

    Children are elements, or text that has been through `text`.
    """
    words = (f' {key.rstrip("_").replace("_", "-")}="{text(_shorten(value))}"' for key, value in attributes.items())
    return f"<{name}{''.join(words)}>{''.join(children)}</{name}>"


def _shorten(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return a straight line."""
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def label(x: float, y: float, words: object, anchor: str = "middle") -> str:
    """Return a piece of text, `anchor` saying which of its points is at x."""
    return element("text", text(words), x=float(x), y=float(y), text_anchor=anchor)


def step_line(points: list[tuple[float, float]], class_: str, title: str) -> str:
    """Return a line that goes from point to point along the axes, first across, then up or down."""
    (x, y), *others = points
    path = f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in others)
    return element("path", element("title", text(title)), d=path, class_=class_)


def drawing(width: float, height: float, title: str, *children: str) -> str:
    """Return a whole drawing that shrinks with the page; `title` is for those who cannot see it."""
    return element(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        role="img",
        aria_label=title,
    )


COLOURS: Final = 8
"""How many colours the page has; after these come dashed lines."""
LEFT, TOP, SIZE, BOTTOM, LEGEND = 62.0, 22.0, 380.0, 44.0, 16.0
BEYOND: Final = 1.3
"""How far axes go beyond the limit, so that the points on it can be seen."""


@dataclass(frozen=True, slots=True)
class LogAxis:
    """Numbers from `low` to `high`, both above 0, on `length` units from `start` on."""

    low: float
    high: float
    start: float
    length: float

    def __call__(self, value: float) -> float:
        """Return where `value` lies; what is below or above is put at the ends."""
        within = min(max(value, self.low), self.high)
        return self.start + self.length * math.log(within / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Return the powers of ten on the axis."""
        exponents = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
        return [10.0**exponent for exponent in exponents]


@dataclass(frozen=True, slots=True)
class Point:
    """A task in a scatter plot: its values on both sides, None where it was not done, and what to say of it."""

    x: float | None
    y: float | None
    title: str


def find_range(values: Sequence[float], limit: float) -> tuple[float, float]:
    """Return from where to where an axis has to go: from a power of ten below all values to a bit beyond the limit.

    Values of 0 have no place on it; they are drawn at its end.
    """
    high = BEYOND * max([limit, *values])
    low = 10.0 ** math.floor(math.log10(min([high / 10, *[value for value in values if value > 0]])))
    return low, high


def cactus(series: Mapping[str, Sequence[float]], limit: float, tasks: int, unit: str = "CPU seconds") -> str:
    """Return how many of the `tasks` each planner has done within a time; `series` are the times of each, above 0."""
    low, high = find_range([value for values in series.values() for value in values], limit)
    width, most = SIZE * 1.4, max(tasks, 1)
    across = LogAxis(low, high, LEFT, width)
    bottom = TOP + SIZE

    def up(count: float) -> float:
        return bottom - SIZE * count / most

    frame = [
        *(line(across(tick), TOP, across(tick), bottom, "grid") for tick in across.ticks()),
        *(label(across(tick), bottom + 16, f"{tick:g}") for tick in across.ticks()),
        *(line(LEFT, up(tick), LEFT + width, up(tick), "grid") for tick in whole_ticks(most)),
        *(label(LEFT - 6, up(tick) + 4, tick, "end") for tick in whole_ticks(most)),
        label(LEFT + width / 2, bottom + 36, unit),
        line(across(limit), TOP, across(limit), bottom, "limit"),
        label(across(high), TOP - 6, f"limit {limit:g}", "end"),
    ]
    curves, legend = [], []
    for number, (name, values) in enumerate(sorted(series.items(), key=lambda one: -len(one[1]))):
        counted = [(across(value), up(count)) for count, value in enumerate(sorted(values), start=1)]
        title = f"{name}: {len(values)}"
        class_ = f"curve c{number % COLOURS}" + (" dashed" if number >= COLOURS else "")
        curves.append(step_line([(LEFT, up(0)), *counted, (across(limit), up(len(values)))], class_, title))
        y = bottom + BOTTOM + LEGEND * (number + 1)
        legend += [line(LEFT, y - 4, LEFT + 24, y - 4, class_), label(LEFT + 30, y, title, "start")]
    height = bottom + BOTTOM + LEGEND * len(series) + 12
    return drawing(LEFT + width + 12, height, "tasks done over time", *frame, *curves, *legend)


def whole_ticks(most: int) -> list[int]:
    """Return about five round numbers from 0 to `most`."""
    rough = max(1.0, most / 5)
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return list(range(0, most + 1, step))


def scatter(points: Sequence[Point], limit: float, names: tuple[str, str], unit: str) -> str:
    """Return two planners against each other, the first across; what one has not done is at the `limit`."""
    values = [value for point in points for value in (point.x, point.y) if value is not None]
    low, high = find_range(values, limit)
    across, up = LogAxis(low, high, LEFT, SIZE), LogAxis(low, high, TOP + SIZE, -SIZE)
    bottom = TOP + SIZE
    frame = [
        *(line(across(tick), TOP, across(tick), bottom, "grid") for tick in across.ticks()),
        *(label(across(tick), bottom + 16, f"{tick:g}") for tick in across.ticks()),
        *(line(LEFT, up(tick), LEFT + SIZE, up(tick), "grid") for tick in up.ticks()),
        *(label(LEFT - 6, up(tick) + 4, f"{tick:g}", "end") for tick in up.ticks()),
        *(diagonal(across, up, factor) for factor in (0.1, 1.0, 10.0)),
        line(across(limit), TOP, across(limit), bottom, "limit"),
        label(across(high), TOP - 6, f"limit {limit:g}", "end"),
        line(LEFT, up(limit), LEFT + SIZE, up(limit), "limit"),
        label(LEFT + SIZE / 2, bottom + 36, f"{names[0]}, {unit}"),
        element(
            "text",
            text(f"{names[1]}, {unit}"),
            transform=f"translate(14 {TOP + SIZE / 2:g}) rotate(-90)",
            text_anchor="middle",
        ),
    ]
    dots = (_dot(point, across, up, limit) for point in points)
    return drawing(LEFT + SIZE + 12, bottom + BOTTOM, f"{names[1]} against {names[0]}, {unit}", *frame, *dots)


def _dot(point: Point, across: LogAxis, up: LogAxis, limit: float) -> str:
    x, y = (limit if value is None else value for value in (point.x, point.y))
    class_ = "dot" if point.x is not None and point.y is not None else "dot alone"
    return element("circle", element("title", text(point.title)), cx=across(x), cy=up(y), r=3.5, class_=class_)


def diagonal(across: LogAxis, up: LogAxis, factor: float) -> str:
    """Return the line on which the value upwards is `factor` times the one across."""
    first, last = max(across.low, up.low / factor), min(across.high, up.high / factor)
    class_ = "diagonal" if factor == 1 else "diagonal far"
    return line(across(first), up(factor * first), across(last), up(factor * last), class_)


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
    measure: report.Measure
    limit: str
    factor: float
    least: float


KINDS: Final = (
    Kind("CPU seconds", report.cpu_seconds_of, "cpu_seconds", 1.0, report.LEAST_SECONDS),
    Kind("MiB", report.mebibytes_of, "memory_gib", 1024.0, report.LEAST_MIB),
)


def report_page(records: Sequence[Record], counts: Counts, known: Mapping[str, float], title: str) -> str:
    """Return the page; `known` are costs of plans from elsewhere, by the names of tasks."""
    scores = report.score_tables(records, counts, known)
    columns = report.columns_of(records)
    searches = select_long_searches(records, LEAST_SEARCH)
    tracks = report.track_tables(records, counts)
    numbers = [*numeric_tables(records, counts, known), *temporal_tables(records, counts)]
    guarded = report.note_guarded(records)
    parts = [
        element("h1", text(title)),
        *format_section("Summary", [report.totals_table(scores), report.tabulate_outcomes(records)]),
        *([element("p", text(guarded))] if guarded else []),
        *(format_section("Against the first", [report.ratio_table(records, counts)]) if len(columns) > 1 else []),
        *(format_section("Search alone", [rate_ratios(searches)]) if len(searches) > 1 else []),
        *format_section("Plots", [], [_cactus(columns, counts), *_scatters(columns, counts)]),
        *(format_section("By track", tracks) if tracks else []),
        *(format_section("Numbers", numbers) if numbers else []),
        *format_section("By domain", scores),
        *(
            format_section("Validation", [report.tabulate_checks(records)])
            if any(record.checks for record in records)
            else []
        ),
        *format_section("Runs", [run_table(records)]),
        element("footer", text(f"made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by forethought bench")),
    ]
    return html_page(title, parts)


def html_page(title: str, parts: Iterable[str]) -> str:
    """Return a whole page of these elements, such as a drawing."""
    style = STYLE.read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"{element('title', text(title))}<style>{style}</style>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(parts) + "\n</body></html>\n"


def format_section(title: str, tables: Iterable[report.Table], drawings: Iterable[tuple[str, str]] = ()) -> list[str]:
    """Return a headline with tables and drawings (what they show, SVG) under it."""
    figures = [element("figure", drawn, element("figcaption", text(words))) for words, drawn in drawings]
    shown = [element("div", *figures, class_="figures")] if figures else []
    return [element("h2", text(title)), *map(html_table, tables), *shown]


def html_table(table: report.Table) -> str:
    """Return a table; wide ones can be scrolled."""
    parts = [element("thead", _row("th", table.head)), element("tbody", *(_row("td", row) for row in table.rows))]
    if table.total:
        parts.append(element("tfoot", _row("td", table.total)))
    return element("div", element("table", *parts), class_="table")


def _row(name: str, cells: Iterable[object]) -> str:
    return element("tr", *(element(name, text(cell)) for cell in cells))


def run_table(records: Sequence[Record]) -> report.Table:
    """Tabulate configurations, versions, limits and dates of each planner's records."""
    rows = []
    for label in report.columns_of(records):
        mine = [record for record in records if record.planner == label]
        dates = sorted(record.date for record in mine)
        rows.append(
            (
                label,
                _join_distinct(record.configuration for record in mine),
                _join_distinct(
                    " ".join(f"{name} {number}" for name, number in record.versions.items()) for record in mine
                ),
                _join_distinct(
                    ", ".join(f"{name} {value:g}" for name, value in record.limits.items()) for record in mine
                ),
                _join_distinct(record.suite for record in mine),
                len(mine),
                _join_distinct([dates[0][:10], dates[-1][:10]]),
            )
        )
    return report.Table(["planner", "configuration", "versions", "limits", "suites", "records", "dates"], rows)


def _join_distinct(words: Iterable[str]) -> str:
    return "; ".join(filter(None, dict.fromkeys(words)))


def _find_limit(columns: Mapping[str, Column], counts: Counts, kind: Kind) -> float:
    """Return the greatest limit, or what was needed for something done where that is more."""
    records = [record for table in columns.values() for record in table.values()]
    needed = (kind.measure(record) for record in records if counts(record))
    return max(kind.least, *(record.limits.get(kind.limit, 0.0) * kind.factor for record in records), *needed)


def _cactus(columns: Mapping[str, Column], counts: Counts) -> tuple[str, str]:
    series = {
        label: [report.cpu_seconds_of(record) for record in table.values() if counts(record)]
        for label, table in columns.items()
    }
    tasks = len({task for table in columns.values() for task in table})
    word = "proved" if counts is is_proved else "done"
    words = f"How many of {tasks} tasks are {word} within so many seconds of CPU time."
    return words, cactus(series, _find_limit(columns, counts, KINDS[0]), tasks)


def _scatters(columns: Mapping[str, Column], counts: Counts) -> list[tuple[str, str]]:
    first = next(iter(columns))
    pairs = [pair for pair in combinations(columns, 2) if len(columns) <= ALL_PAIRS or first in pair]
    return [
        (_describe_points(points, pair), scatter(points, _find_limit(columns, counts, kind), pair, kind.unit))
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


def _describe_points(points: Sequence[Point], pair: tuple[str, str]) -> str:
    both = [(point.x, point.y) for point in points if point.x is not None and point.y is not None]
    less, more = sum(x < y for x, y in both), sum(x > y for x, y in both)
    only = sum(point.y is None for point in points), sum(point.x is None for point in points)
    return (
        f"{len(both)} tasks of both: {less} with less for {pair[0]}, {more} with less for {pair[1]}. "
        f"Only by {pair[0]}: {only[0]}, only by {pair[1]}: {only[1]} (at the limit)."
    )
