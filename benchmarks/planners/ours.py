"""Our planner, as the command `python -m planner.cli solve …`, and its grounding by itself."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

import planner
from benchmarks.planners.base import DOMAIN_FILE, PLAN_FILE, PROBLEM_FILE, Answer, Effort, Job, Outcome, explain_failure
from benchmarks.process import Limits, Run
from benchmarks.suite import HDDL, PDDL

HERE: Final = {"PYTHONPATH": str(Path(planner.__file__).parents[1])}
"""The process runs in another folder, and the packages need not be installed."""
MEMORY_SHARE: Final = 0.9
"""The part of the memory limit at which it is to stop by itself."""
STATUSES: Final = {
    "OPTIMAL": Outcome.OPTIMAL,
    "SOLVED": Outcome.SOLVED,
    "UNSOLVABLE": Outcome.UNSOLVABLE,
    "UNSUPPORTED": Outcome.UNSUPPORTED,
}
COUNTS: Final = {
    "evaluations": "evaluated",
    "expansions": "expanded",
    "generated": "generated",
    "stored_states": "stored",
    "search_bytes": "search_bytes",
}
"""The names of our statistics for what `Effort` counts."""
OPTIONS: Final = ("mode", "search", "heuristic", "engine")
LEFT_OUT: Final = "without"
"""Names parts of the automatic choice that it does without, with + between; see `benchmarks.leaving_out`."""
STOPS: Final = {"memory": Outcome.MEMORY, "time": Outcome.TIME, "cancelled": Outcome.TIME}
"""What an unknown result was stopped by; the only one who cancels is the harness, when time is up."""
EXITS: Final = {11: Outcome.UNKNOWN, 12: Outcome.UNSUPPORTED}
"""Exit codes of a command that ends without printing a result; 11 also stands for its memory limit."""


@dataclass(frozen=True, slots=True)
class Ours:
    """Our command with `options` such as `mode`, `search` and `heuristic`."""

    packages: ClassVar[tuple[str, ...]] = ()
    languages: ClassVar[frozenset[str]] = frozenset({PDDL, HDDL})

    label: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from planner.portfolio.portfolio import MODES, check_name, check_names_of_any_kind

        for name in self.options:
            if name not in (*OPTIONS, LEFT_OUT):
                raise ValueError(f"there is no option {name!r}; there are {', '.join((*OPTIONS, LEFT_OUT))}")
        check_name("mode", self.options.get("mode"), MODES)
        check_names_of_any_kind(self.options.get("search"), self.options.get("heuristic"))

    @property
    def configuration(self) -> str:
        """The kind and its options."""
        return "ours:" + ",".join(f"{name}={value}" for name, value in self.options.items())

    def job(self, limits: Limits) -> Job:
        """Return the command without a time limit of its own: that counts the clock, the harness CPU time."""
        memory = f"--memory-limit={limits.memory_gib * MEMORY_SHARE:.3f}"
        options = [f"--{name}={value}" for name, value in self.options.items() if name != LEFT_OUT]
        without = self.options.get(LEFT_OUT)
        module = ["planner.cli"] if without is None else ["benchmarks.leaving_out", without]
        command = [sys.executable, "-m", *module, "solve", DOMAIN_FILE, PROBLEM_FILE, "--plan-file", PLAN_FILE]
        return Job((*command, "--json", "--quiet", "--time-limit=none", memory, *options), HERE, asks=True)

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:  # noqa: ARG002 - the answer says it all
        """Read the printed JSON."""
        result = _parse_json(run.stdout)
        if result is None:
            return _explain_missing_result(run)
        written = folder / PLAN_FILE
        statistics: dict[str, Any] = result["statistics"]
        return Answer(
            STATUSES.get(result["status"]) or STOPS.get(result["stopped_by"], Outcome.UNKNOWN),
            plan=written.read_text(encoding="utf-8") if result["plan"] is not None and written.exists() else None,
            cost=result["cost"],
            lower_bound=result["lower_bound"],
            translate_seconds=statistics.get("ground_seconds"),
            search_seconds=statistics.get("search_seconds"),
            effort=read_effort(statistics, run),
            sizes={name: statistics[name] for name in ("facts", "actions", "variables") if name in statistics},
            by=" ".join(filter(None, [statistics.get("search"), statistics.get("heuristic")])),
            tier=statistics.get("tier") or "",
            detail=result.get("reason") or "",
        )


def read_effort(statistics: Mapping[str, Any], run: Run) -> Effort:
    """Read the effort of the search from our statistics.

    Where its time is told by the clock only, its CPU time is estimated from the share that the whole process had.
    """
    seconds = statistics.get("search_cpu_seconds")
    if seconds is None and run.wall_seconds > 0 and "search_seconds" in statistics:
        seconds = statistics["search_seconds"] * run.cpu_seconds / run.wall_seconds
    counts = {name: statistics.get(ours) for name, ours in COUNTS.items()}
    return Effort(**counts, effort_seconds=seconds)


@dataclass(frozen=True, slots=True)
class TaskProbe:
    """A probe of `benchmarks.task_probe`: grounding by itself, or LM-cut's value of the initial state."""

    packages: ClassVar[tuple[str, ...]] = ()

    label: str
    kind: str
    probe: str

    @property
    def configuration(self) -> str:
        """The kind."""
        return f"{self.kind}:"

    def job(self, limits: Limits) -> Job:
        """Return the command."""
        memory = f"{limits.memory_gib * MEMORY_SHARE:.3f}"
        return Job((sys.executable, "-m", "benchmarks.task_probe", self.probe, DOMAIN_FILE, PROBLEM_FILE, memory), HERE)

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:  # noqa: ARG002 - the answer says it all
        """Read the printed dict."""
        try:
            result = ast.literal_eval(run.stdout)  # not JSON: importing that would be a tenth of a small task's time
        except (ValueError, SyntaxError):
            return explain_failure(run)
        return Answer(
            Outcome(result["outcome"]),
            lower_bound=result.get("lower_bound"),
            translate_seconds=result.get("seconds"),
            sizes=result.get("sizes", {}),
            detail=result["detail"],
        )


def _explain_missing_result(run: Run) -> Answer:
    if run.limit is None and run.returncode in EXITS:
        by_memory = "memory" in run.last_words
        return Answer(Outcome.MEMORY if by_memory else EXITS[run.returncode], detail=run.last_words)
    return explain_failure(run)


def _parse_json(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
