"""Peers with Python interfaces: pyperplan, and others, such as kairos-planner and Aries, in their own environments.

pyperplan (Alkhazraji et al. 2020) plans in STRIPS with types, every action at cost 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from benchmarks.plain_pddl import Rewriting, rewrite_for_integers, rewrite_for_unified_planning
from benchmarks.planners.base import (
    DOMAIN_FILE,
    PROBLEM_FILE,
    Answer,
    Effort,
    Job,
    Outcome,
    explain_failure,
    find_last_number,
)
from benchmarks.planners.environments import interpreter_of
from benchmarks.process import Limits, Run
from benchmarks.suite import HDDL, PDDL

SHORTEST: Final = frozenset({("bfs", ""), ("ids", ""), ("astar", "blind"), ("astar", "hmax"), ("astar", "lmcut")})
"""Search and heuristic where the first plan is a shortest one."""
COMPLETE: Final = frozenset({"astar", "wastar", "gbf", "bfs"})


@dataclass(frozen=True, slots=True)
class Pyperplan:
    """pyperplan with a search and, where that takes one, a heuristic."""

    packages: ClassVar[tuple[str, ...]] = ("pyperplan",)

    label: str
    search: str
    heuristic: str = ""

    @property
    def configuration(self) -> str:
        """The kind and its options."""
        return f"pyperplan:search={self.search}" + (f",heuristic={self.heuristic}" if self.heuristic else "")

    def job(self, limits: Limits) -> Job:  # noqa: ARG002 - it has no limits of its own
        """Return its command; it writes the plan beside the problem file."""
        options = ("-s", self.search, *(("-H", self.heuristic) if self.heuristic else ()))
        return Job((sys.executable, "-m", "pyperplan", *options, DOMAIN_FILE, PROBLEM_FILE))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        """Return the outcome; what its parser refuses is unsupported."""
        seconds = find_last_number(r"Search time: ([\d.e+-]+)", run.stdout)
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
        return explain_failure(run)


SCRIPT: Final = Path(__file__).with_name("guest_script.py")
GTPYHOP_SCRIPT: Final = Path(__file__).parents[1] / "hop" / "gtpyhop_guest.py"

OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "kairos": frozenset({"first", "warm"}),
    "jupyddl": frozenset({"search", "heuristic", "warm"}),
    "aries": frozenset({"anytime"}),
    "nextflap": frozenset(),
    "gtpyhop": frozenset({"strategy"}),
}
LANGUAGES: Final = {"aries": frozenset({PDDL, HDDL}), "gtpyhop": frozenset({HDDL})}
"""What kinds read that do not read PDDL alone."""
REWRITINGS: Final = {"aries": rewrite_for_integers, "nextflap": rewrite_for_unified_planning}
"""How tasks in time are written for kinds that read less than they use."""
SPARE_SECONDS: Final = 0.5
"""How long before the time limit kairos and anytime searches end by themselves; or a twentieth of the limit."""
COUNTS: Final = ("evaluations", "expansions", "stored_states", "search_bytes", "effort_seconds")
OUTCOMES: Final = {
    "optimal": Outcome.OPTIMAL,
    "solved": Outcome.SOLVED,
    "unsolvable": Outcome.UNSOLVABLE,
    "time": Outcome.TIME,
    "timeout": Outcome.TIME,
    "cancelled": Outcome.TIME,
    "out_of_memory": Outcome.MEMORY,
    "grounding_too_large": Outcome.MEMORY,
    "unsupported": Outcome.UNSUPPORTED,
    "unknown": Outcome.UNKNOWN,
    "no_plan_found": Outcome.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Guest:
    """A peer in an environment of its own: its kind, one of `OPTIONS`, and its options."""

    label: str
    kind: str
    package: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = set(self.options) - OPTIONS[self.kind]
        if unknown:
            raise ValueError(f"{self.kind} has no option '{min(unknown)}'")

    @property
    def configuration(self) -> str:
        """The kind and its options."""
        return f"{self.kind}:" + ",".join(f"{name}={value}" for name, value in self.options.items())

    @property
    def languages(self) -> frozenset[str]:
        """PDDL, HDDL, or both."""
        return LANGUAGES.get(self.kind, frozenset({PDDL}))

    @property
    def rewrite(self) -> Rewriting | None:
        """How tasks in time are written for this kind."""
        return REWRITINGS.get(self.kind)

    @property
    def packages(self) -> tuple[str, ...]:
        """The distribution in an environment of its own."""
        return (self.package,)

    def job(self, limits: Limits) -> Job:
        """Return the script, run by the peer's interpreter; kairos ends by itself, with the best plan so far."""
        spare = max(SPARE_SECONDS, 0.05 * limits.cpu_seconds)
        ends_itself = self.kind == "kairos" or "anytime" in self.options
        seconds = limits.cpu_seconds - spare if ends_itself else limits.wall_seconds
        words = (self.kind, json.dumps(dict(self.options)), DOMAIN_FILE, PROBLEM_FILE, f"{seconds:.2f}")
        return Job(
            (str(interpreter_of(self.package)), "-I", str(GTPYHOP_SCRIPT if self.kind == "gtpyhop" else SCRIPT), *words)
        )

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:  # noqa: ARG002 - the answer says it all
        """Return what the script has printed. What LM-cut says of conditional effects and axioms is not relied on."""
        try:
            told: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            return explain_failure(run)
        outcome = OUTCOMES.get(told["status"], Outcome.ERROR)
        if outcome is Outcome.OPTIMAL and self.kind == "jupyddl" and features & {"axioms", "conditional effects"}:
            outcome = Outcome.SOLVED
        cost = told.get("cost")
        return Answer(
            outcome,
            plan=told.get("plan"),
            cost=cost,
            lower_bound=cost if outcome is Outcome.OPTIMAL else None,
            translate_seconds=told.get("read_seconds"),
            search_seconds=told.get("search_seconds"),
            first_plan_seconds=told.get("first_plan_seconds"),
            effort=Effort(*map(told.get, COUNTS)),
            detail=told.get("detail") or "",
        )
