"""Counts and times of the service."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from executor.listening.prometheus import Counters, Times, write_gauge, write_histogram

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


class Metrics:
    """Counts what happens."""

    def __init__(self) -> None:
        self._counters = Counters(ABOUT, REASONS)
        self.count = self._counters.count
        self._waited = Times()
        self._worked: dict[str, Times] = defaultdict(Times)

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
        lines = [line for name, (about, value) in gauges.items() for line in write_gauge(name, about, [((), value)])]
        lines += self._counters.write()
        lines += write_histogram("queue_seconds", "Seconds that questions have waited.", [((), self._waited)])
        worked = [((("kind", kind),), times) for kind, times in sorted(self._worked.items())]
        lines += write_histogram("question_seconds", "Seconds that questions were at work.", worked)
        return "\n".join([*lines, ""])
