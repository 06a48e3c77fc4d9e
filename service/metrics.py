"""Counts and times of a server, in the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final

BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the classes of times, in seconds."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
ABOUT: Final = {
    "questions": "Questions that have ended, by kind and outcome.",
    "refused": "Questions that were not taken, by reason.",
    "workers_lost": "Processes that have ended before they answered, by reason.",
    "http_responses": "Responses, by status code.",
}
"""The counters, whose names end in `_total`."""
REASONS: Final = {
    "refused": ("quota", "queue", "stopping"),
    "workers_lost": ("start", "idle", "crashed", "memory", "time", "cancelled"),
}
"""The reasons of some counters, which begin at 0, so that Prometheus sees the first increase."""
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


class Metrics:
    """Counts what happens."""

    def __init__(self) -> None:
        self._counts: dict[str, dict[Labels, int]] = {
            name: defaultdict(int, {(("reason", reason),): 0 for reason in REASONS.get(name, ())}) for name in ABOUT
        }
        self._waited = Times()
        self._worked: dict[str, Times] = defaultdict(Times)

    def count(self, name: str, **labels: str) -> None:
        """Count one of the things in `ABOUT`."""
        self._counts[name][tuple(labels.items())] += 1

    def note(self, kind: str, outcome: str, waited: float, seconds: float) -> None:
        """Note a question that has ended, the seconds that it has waited, and those at work."""
        self.count("questions", kind=kind, outcome=outcome)
        if outcome != "cached":
            self._waited.add(waited)
            self._worked[kind].add(seconds)

    def mean_seconds(self) -> float:
        """Return the mean of the seconds at work."""
        count = sum(times.count for times in self._worked.values())
        return sum(times.sum for times in self._worked.values()) / count if count else 0.0

    def write(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return all of it as text, with `gauges`: what each is about, and its value."""
        lines: list[str] = []
        for name, (about, value) in gauges.items():
            lines += [*_head(f"forethought_{name}", "gauge", about), f"forethought_{name} {value}"]
        for name, about in ABOUT.items():
            full = f"forethought_{name}_total"
            lines += [*_head(full, "counter", about)]
            lines += [f"{full}{_braces(labels)} {count}" for labels, count in sorted(self._counts[name].items())]
        lines += _histogram("queue_seconds", "Seconds that questions have waited.", [((), self._waited)])
        worked = [((("kind", kind),), times) for kind, times in sorted(self._worked.items())]
        lines += _histogram("question_seconds", "Seconds that questions were at work.", worked)
        return "\n".join([*lines, ""])


def _head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _braces(labels: Labels) -> str:
    def escape(text: str) -> str:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    return "{" + ",".join(f'{name}="{escape(value)}"' for name, value in labels) + "}" if labels else ""


def _histogram(name: str, about: str, series: Iterable[tuple[Labels, Times]]) -> Iterator[str]:
    full = f"forethought_{name}"
    yield from _head(full, "histogram", about)
    for labels, times in series:
        bounds = [*[f"{bound:g}" for bound in BOUNDS], "+Inf"]
        for bound, count in zip(bounds, accumulate(times.counts), strict=True):
            yield f"{full}_bucket{_braces((*labels, ('le', bound)))} {count}"
        yield f"{full}_sum{_braces(labels)} {times.sum:.6f}"
        yield f"{full}_count{_braces(labels)} {times.count}"
