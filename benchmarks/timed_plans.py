"""Plans in time as planners write them: `0.000: (move r2 hall lab) [5.000]` a line.

This reader shares no code with the planner's own. Times are in seconds, and exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

TIMED: Final = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*:\s*\(([^()]*)\)\s*(?:\[\s*(?:d:)?\s*(\d+\.?\d*|\.\d+)[^\]]*\])?")
"""A step with its start and its duration; LPG ends such a line with a parenthesis."""
LEAST_DIGITS: Final = 3
"""Decimals of times in plans, where more say nothing else."""


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step `(action, argument, …)` in lower case, its start, and its duration: None for an action without one."""

    start: Fraction
    words: tuple[str, ...]
    duration: Fraction | None = None

    @property
    def end(self) -> Fraction:
        """When it ends."""
        return self.start + (self.duration or 0)


def read_timed_steps(text: str) -> list[TimedStep]:
    """Return the steps of a plan in time; none for a sequence without times."""
    found = []
    for line in text.lower().splitlines():
        match = TIMED.match(line)
        if match:
            duration = None if match[3] is None else Fraction(match[3])
            found.append(TimedStep(Fraction(match[1]), tuple(match[2].split()), duration))
    return found


def find_makespan(text: str) -> float | None:
    """Return when the last step of a plan in time ends; None for a sequence."""
    steps = read_timed_steps(text)
    return float(max(step.end for step in steps)) if steps else None


def write_timed_plan(steps: Iterable[TimedStep]) -> str:
    """Return a plan as the competition writes it, in the order of starts."""
    return "".join(
        f"{write_seconds(step.start)}: ({' '.join(step.words)})"
        + ("\n" if step.duration is None else f" [{write_seconds(step.duration)}]\n")
        for step in sorted(steps, key=lambda step: step.start)
    )


def write_seconds(seconds: Fraction) -> str:
    """Return `seconds` with three decimals, or as many up to six as it has."""
    whole, _, decimals = f"{float(seconds):.6f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(LEAST_DIGITS, '0')}"


def divide_times(text: str, units: int) -> str:
    """Return a plan in time with all times divided by `units`; a sequence as it is."""
    steps = read_timed_steps(text)
    if units == 1 or not steps:
        return text
    return write_timed_plan(
        TimedStep(step.start / units, step.words, None if step.duration is None else step.duration / units)
        for step in steps
    )


def find_least_gap(text: str, known: Iterable[Fraction] = ()) -> Fraction | None:
    """Return the least time between two moments at which steps of a plan start or end, or of those `known`.

    None where there are less than two.
    """
    times = sorted({time for step in read_timed_steps(text) for time in (step.start, step.end)} | set(known))
    return min((later - earlier for earlier, later in pairwise(times)), default=None)
