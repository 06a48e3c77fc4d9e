"""What the harness asks of a planner: a command to run, and what the end of its process means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from shutil import which
from typing import Final, Protocol

from benchmarks.planners.environments import find_installed
from benchmarks.process import WALL_CLOCK_GUARD, Limits, Run
from benchmarks.suite import HDDL, PDDL

DOMAIN_FILE: Final = "domain.pddl"
PROBLEM_FILE: Final = "problem.pddl"
NAMED_FILES: Final[Mapping[str, Mapping[str, str]]] = {
    suffix: {name: Path(name).with_suffix(suffix).name for name in (DOMAIN_FILE, PROBLEM_FILE)}
    for suffix in (PDDL, HDDL)
}
"""The names of the files of tasks in each language, by those that planners use in their commands."""
PLAN_FILE: Final = "plan"
"""The names of a task's files in the folder that a planner's process runs in; hierarchical ones end in `.hddl`."""


class Outcome(StrEnum):
    """How a planner fared on a task.

    `TIME` is its CPU time limit. `GUARD` is the harness's guard against processes that sleep or wait, and says nothing
    of the planner's speed.
    """

    OPTIMAL = "optimal"
    SOLVED = "solved"
    UNSOLVABLE = "unsolvable"
    GROUNDED = "grounded"
    UNKNOWN = "unknown"
    TIME = "time"
    MEMORY = "memory"
    GUARD = WALL_CLOCK_GUARD
    UNSUPPORTED = "unsupported"
    ERROR = "error"
    INVALID = "invalid"


PROVED: Final = frozenset({Outcome.OPTIMAL, Outcome.UNSOLVABLE})
COVERED: Final = PROVED | {Outcome.SOLVED, Outcome.GROUNDED}
"""The outcomes that count as having done the task."""


@dataclass(frozen=True, slots=True)
class Job:
    """A process to start; `asks` whether it is asked (SIGTERM) to stop shortly before the time limit."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    asks: bool = False

    def on(self, suffix: str) -> Job:
        """Return the same job on files whose names end in `suffix`."""
        return replace(self, command=tuple(NAMED_FILES[suffix].get(word, word) for word in self.command))


@dataclass(frozen=True, slots=True)
class Effort:
    """What a search took by itself, where it tells: states evaluated, expanded, stored and generated, memory, seconds.

    The seconds are without reading and preparing heuristics, where the planner tells them apart.
    """

    evaluations: int | None = None
    expansions: int | None = None
    stored_states: int | None = None
    search_bytes: int | None = None
    effort_seconds: float | None = None
    generated: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a process claims: `cost` and `lower_bound` as it states them, times in seconds where it tells them.

    `search_seconds` are those of all that follows grounding, and `first_plan_seconds` the CPU time of the whole process
    until its first plan. `by` names the search that had the last word, if several
    have part, and `tier` what ran it, where that is told.
    """

    outcome: Outcome
    plan: str | None = None
    cost: float | None = None
    lower_bound: float | None = None
    translate_seconds: float | None = None
    search_seconds: float | None = None
    first_plan_seconds: float | None = None
    effort: Effort = Effort()
    sizes: Mapping[str, int] = field(default_factory=dict)
    by: str = ""
    tier: str = ""
    detail: str = ""


class Planner(Protocol):
    """A planner in one configuration. The task's files lie in the process's folder under fixed names.

    Where a planner has a `rewrite` (see `benchmarks.plain_pddl`), tasks with durations are rewritten by it.
    """

    @property
    def label(self) -> str:
        """The name in records and tables."""
        ...

    @property
    def configuration(self) -> str:
        """All that determines what is run, as text."""
        ...

    @property
    def packages(self) -> tuple[str, ...]:
        """The distributions whose versions matter; the planner is missing where one is not installed."""
        ...

    def job(self, limits: Limits) -> Job:
        """Return the process to start."""
        ...

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        """Return what the ended process has achieved on a task with these features."""
        ...


def languages_of(planner: Planner) -> frozenset[str]:
    """Return the suffixes of the files that `planner` reads: what its `languages_of` say, or PDDL alone."""
    return getattr(planner, "languages", frozenset({PDDL}))


def find_missing(planner: Planner) -> str | None:
    """Return the first distribution or, of its `programs`, the first program that `planner` lacks, or None."""
    found = find_installed(planner.packages)
    programs: tuple[str, ...] = getattr(planner, "programs", ())
    lacking = [package for package in planner.packages if package not in found]
    return next(iter([*lacking, *(program for program in programs if which(program) is None)]), None)


def explain_failure(run: Run) -> Answer:
    """Return the outcome of a process that gave no answer: the limit that it reached, or an error in its last words."""
    if run.limit is None:
        return Answer(Outcome.ERROR, detail=f"exit code {run.returncode}: {run.last_words}")
    outcome = Outcome(run.limit)
    ended = f"ended after {run.wall_seconds:.0f} s by the clock, {run.cpu_seconds:.1f} s of CPU time"
    return Answer(outcome, detail=ended if outcome is Outcome.GUARD else "")


def find_last_count(pattern: str, text: str) -> int | None:
    """Return the whole number in the only group of the last match of `pattern`, or None."""
    found = re.findall(pattern, text)
    return int(found[-1]) if found else None


def find_last_number(pattern: str, text: str) -> float | None:
    """Return the number in the only group of the last match of `pattern`, or None."""
    found = re.findall(pattern, text)
    return parse_number(found[-1]) if found else None


def parse_number(text: str) -> float:
    """Return the number in `text`, as an int where it is one."""
    value = float(text)
    return int(value) if value.is_integer() else value


def read_stated_cost(plan: str) -> float | None:
    """Return the cost in the comment of a plan in the competition's format."""
    return find_last_number(r";\s*cost\s*=\s*([\d.]+)", plan)
