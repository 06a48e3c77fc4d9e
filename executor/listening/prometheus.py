"""Counts and times of a process, in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final

BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the classes of times, in seconds."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]


class Times:
    """A histogram of times in seconds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        """Count a time."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds

    @property
    def count(self) -> int:
        """The number of times."""
        return sum(self.counts)


class Counters:
    """Counts what happens; `about` describes each counter, whose name ends in `_total` in the text.

    Counters with `reasons` begin at 0 for each of them, so that Prometheus sees the first increase.
    """

    def __init__(self, about: Mapping[str, str], reasons: Mapping[str, Iterable[str]]) -> None:
        self._about = about
        self._counts: dict[str, dict[Labels, int]] = {
            name: defaultdict(int, {(("reason", reason),): 0 for reason in reasons.get(name, ())}) for name in about
        }

    def count(self, name: str, **labels: str) -> None:
        """Count one of the things in `about`."""
        self._counts[name][tuple(labels.items())] += 1

    def write(self) -> Iterator[str]:
        """Yield the lines of all counters."""
        for name, about in self._about.items():
            full = f"forethought_{name}_total"
            yield from _head(full, "counter", about)
            yield from (f"{full}{_braces(labels)} {count}" for labels, count in sorted(self._counts[name].items()))


def write_gauge(name: str, about: str, values: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    """Yield the lines of a gauge with a value for each of its labels."""
    yield from _head(f"forethought_{name}", "gauge", about)
    yield from (f"forethought_{name}{_braces(labels)} {value}" for labels, value in values)


def write_histogram(name: str, about: str, series: Iterable[tuple[Labels, Times]]) -> Iterator[str]:
    """Yield the lines of a histogram with times for each of its labels."""
    full = f"forethought_{name}"
    yield from _head(full, "histogram", about)
    for labels, times in series:
        bounds = [*[f"{bound:g}" for bound in BOUNDS], "+Inf"]
        for bound, count in zip(bounds, accumulate(times.counts), strict=True):
            yield f"{full}_bucket{_braces((*labels, ('le', bound)))} {count}"
        yield f"{full}_sum{_braces(labels)} {times.sum:.6f}"
        yield f"{full}_count{_braces(labels)} {times.count}"


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _braces(labels: Labels) -> str:
    def escape(text: str) -> str:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    return "{" + ",".join(f'{name}="{escape(value)}"' for name, value in labels) + "}" if labels else ""
