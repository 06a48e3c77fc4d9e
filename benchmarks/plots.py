"""Two plots as SVG: tasks done over time (a cactus plot), and two planners against each other (a scatter plot)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.svg import drawing, element, label, line, steps, text

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


def spread(values: Sequence[float], limit: float) -> tuple[float, float]:
    """Return from where to where an axis has to go: from a power of ten below all values to a bit beyond the limit."""
    high = BEYOND * max([limit, *values])
    low = 10.0 ** math.floor(math.log10(min([high / 10, *values])))
    return low, high


def cactus(series: Mapping[str, Sequence[float]], limit: float, tasks: int, unit: str = "CPU seconds") -> str:
    """Return how many of the `tasks` each planner has done within a time; `series` are the times of each, above 0."""
    low, high = spread([value for values in series.values() for value in values], limit)
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
        curves.append(steps([(LEFT, up(0)), *counted, (across(limit), up(len(values)))], class_, title))
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
    low, high = spread(values, limit)
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
