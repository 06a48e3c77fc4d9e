"""LPG-td, local search in planning graphs with time and numbers (Gerevini, Saetti, Serina 2006), as a process.

The program comes from the wheel `up-lpg`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from benchmarks.plain_pddl import Rewriting, declare_plainly
from benchmarks.planners.base import (
    DOMAIN_FILE,
    PLAN_FILE,
    PROBLEM_FILE,
    Answer,
    Job,
    Outcome,
    explain_failure,
    find_last_number,
)
from benchmarks.planners.environments import find_package_folder
from benchmarks.process import Limits, Run
from benchmarks.timed_plans import find_makespan, read_timed_steps, write_timed_plan

MODES: Final = {
    "first": ("-n", "1"),
    "speed": ("-speed",),
    "quality": ("-quality",),
    "anytime": ("-n", "10000"),
}
"""The options of each mode: `quality` ends by itself with its best plan, `anytime` goes on until time is up."""
SEED: Final = "1"
"""The seed of its random numbers: else the clock is one, and runs differ."""
SPARE_SECONDS: Final = 0.5
"""How long before the time limit it ends by itself; or a twentieth of the limit."""
REFUSALS: Final = re.compile("syntax error|not supported|not handled|undeclared|unknown or empty type", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Lpg:
    """LPG-td in one of `MODES`."""

    packages: ClassVar[tuple[str, ...]] = ("up-lpg",)
    rewrite: ClassVar[Rewriting] = staticmethod(declare_plainly)

    label: str
    mode: str

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"there is no mode {self.mode!r}; there are {', '.join(MODES)}")

    @property
    def configuration(self) -> str:
        """The kind and its mode."""
        return f"lpg:{self.mode}"

    def job(self, limits: Limits) -> Job:
        """Return the command, which ends by itself shortly before the time limit."""
        seconds = limits.cpu_seconds - min(SPARE_SECONDS, 0.05 * limits.cpu_seconds)
        files = ("-o", DOMAIN_FILE, "-f", PROBLEM_FILE, "-out", PLAN_FILE)
        options = (*MODES[self.mode], "-seed", SEED, "-cputime", f"{seconds:.2f}")
        return Job((str(find_package_folder("up_lpg") / "lpg"), *files, *options))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:  # noqa: ARG002 - the log says it all
        """Return the best plan that was written; its cost is left to validators, since LPG rounds it."""
        plan = read_best_plan(run.stdout, folder)
        if plan is not None:
            first = find_last_number(r"first_solution_cpu_time: ([\d.]+)", run.stdout)
            return Answer(Outcome.SOLVED, plan, first_plan_seconds=first)
        if run.limit is None and run.returncode >= 0:
            refusal = next((line for line in (run.stdout + run.stderr).splitlines() if REFUSALS.search(line)), None)
            if refusal is not None:
                return Answer(Outcome.UNSUPPORTED, detail=refusal.strip()[:300])
            if "Max time exceeded" in run.stdout:
                return Answer(Outcome.TIME)
            if run.returncode == 0:
                return Answer(Outcome.UNKNOWN, detail=run.last_words)
        return explain_failure(run)


def read_best_plan(log: str, folder: Path) -> str | None:
    """Return the plan of the best quality, which the last of several is not always; a file without steps is no plan."""
    stated = re.findall(r"Plan quality:\s+([\d.]+).*?Plan file:\s+(\S+)", log, re.DOTALL)
    qualities = {name: float(quality) for quality, name in stated}
    found = []
    for path in folder.glob(f"{PLAN_FILE}*.SOL"):
        text = path.read_text(encoding="utf-8", errors="replace")
        if not read_timed_steps(text):
            continue
        found.append((qualities.get(path.name, math.inf), find_makespan(text) or 0.0, path.name, text))
    return write_timed_plan(read_timed_steps(min(found)[3])) if found else None
