"""pyperplan (Alkhazraji et al. 2020): STRIPS with types, every action at cost 1."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.planners.base import DOMAIN_FILE, PROBLEM_FILE, Answer, Job, Outcome, failed, last_number
from benchmarks.process import Limits, Run

SHORTEST: Final = frozenset({("bfs", ""), ("ids", ""), ("astar", "blind"), ("astar", "hmax"), ("astar", "lmcut")})
"""Search and heuristic where the first plan is a shortest one."""
COMPLETE: Final = frozenset({"astar", "wastar", "gbf", "bfs"})


@dataclass(frozen=True, slots=True)
class Pyperplan:
    """pyperplan with a search and, where that takes one, a heuristic."""

    label: str
    search: str
    heuristic: str = ""

    @property
    def configuration(self) -> str:
        """The kind and its options."""
        return f"pyperplan:search={self.search}" + (f",heuristic={self.heuristic}" if self.heuristic else "")

    @property
    def packages(self) -> tuple[str, ...]:
        """The distribution."""
        return ("pyperplan",)

    def job(self, limits: Limits) -> Job:  # noqa: ARG002 - it has no limits of its own
        """Return its command; it writes the plan beside the problem file."""
        options = ("-s", self.search, *(("-H", self.heuristic) if self.heuristic else ()))
        return Job((sys.executable, "-m", "pyperplan", *options, DOMAIN_FILE, PROBLEM_FILE))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        """Return the outcome; what its parser refuses is unsupported."""
        seconds = last_number(r"Search time: ([\d.e+-]+)", run.stdout)
        solution = folder / f"{PROBLEM_FILE}.soln"
        if run.returncode == 0 and solution.exists():
            plan = solution.read_text(encoding="utf-8")
            proved = (self.search, self.heuristic) in SHORTEST and "costs" not in features
            length = plan.count("(")
            return Answer(
                Outcome.OPTIMAL if proved else Outcome.SOLVED,
                plan=plan,
                cost=None if "costs" in features else length,
                lower_bound=length if proved else None,
                search_seconds=seconds,
            )
        if run.returncode == 0 and "No solution could be found" in run.stdout:
            return Answer(Outcome.UNSOLVABLE if self.search in COMPLETE else Outcome.UNKNOWN, search_seconds=seconds)
        if run.limit is None and "pyperplan/pddl/" in run.stderr:
            return Answer(Outcome.UNSUPPORTED, detail=run.last_words)
        return failed(run)
