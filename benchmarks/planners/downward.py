"""Fast Downward and the planners that share its driver (SymK), and Fast Downward's translator by itself.

Fast Downward: Helmert 2006; SymK: Speck, Mattmüller, Nebel 2020. Each is taken from the wheel that carries its binary.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from benchmarks.planners.base import (
    DOMAIN_FILE,
    PLAN_FILE,
    PROBLEM_FILE,
    Answer,
    Effort,
    Job,
    Outcome,
    explain_failure,
    find_last_count,
    find_last_number,
    read_stated_cost,
)
from benchmarks.planners.environments import find_interpreter, find_package_folder
from benchmarks.process import Limits, Run

ADMISSIBLE: Final = frozenset({"blind", "lmcut", "hmax", "ipdb", "merge_and_shrink"})
ADMISSIBLE_WITH_AXIOMS: Final = frozenset({"blind"})
EXIT_CODES: Final = {
    10: Outcome.UNSOLVABLE,
    11: Outcome.UNSOLVABLE,
    12: Outcome.UNKNOWN,
    13: Outcome.UNKNOWN,
    20: Outcome.MEMORY,
    21: Outcome.TIME,
    22: Outcome.MEMORY,
    23: Outcome.TIME,
    24: Outcome.TIME,
    34: Outcome.UNSUPPORTED,
}
"""The driver's documented exit codes without a plan."""
GAVE_UP: Final = 12
"""The exit code of a search that ended without a plan: symbolic search says that of what it has proved, too."""


@dataclass(frozen=True, slots=True)
class Downward:
    """A planner behind Fast Downward's driver; `options` is a search, `alias=NAME`, or whole options `--…`."""

    label: str
    options: str
    kind: str = "fd"
    package: str = "up-fast-downward"
    driver: str = "up_fast_downward/downward"

    @property
    def configuration(self) -> str:
        """The kind and its options."""
        return f"{self.kind}:{self.options}"

    @property
    def packages(self) -> tuple[str, ...]:
        """The wheel with driver and binary."""
        return (self.package,)

    def job(self, limits: Limits) -> Job:
        """Return the driver's command, its own limits set to ours so that it ends in good order."""
        module, _, inner = self.driver.partition("/")
        script = find_package_folder(module) / inner / "fast-downward.py"
        bounds = [
            f"--overall-time-limit={limits.cpu_seconds:.0f}s",
            f"--overall-memory-limit={limits.memory_gib * 1024:.0f}M",
        ]
        files = [DOMAIN_FILE, PROBLEM_FILE]
        match self.options.partition("="):
            case ("alias", _, alias):
                arguments = ["--alias", alias, *files]
            case _ if self.options.startswith("--"):
                arguments = [*files, *shlex.split(self.options)]
            case _:
                arguments = [*files, "--search", self.options]
        return Job((find_interpreter(self.package), str(script), "--plan-file", PLAN_FILE, *bounds, *arguments))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        """Return the outcome from the exit code, the last plan written, and the times and bounds in the log."""
        plan = read_last_plan(folder)
        proves = self.proves(features)
        detail = ""
        if plan is not None:
            outcome = Outcome.OPTIMAL if proves and run.returncode == 0 else Outcome.SOLVED
        elif proves and run.returncode == GAVE_UP and have_bounds_met(run.stdout):
            outcome = Outcome.UNSOLVABLE
        else:
            failure = explain_failure(run)
            outcome = EXIT_CODES.get(run.returncode, failure.outcome)
            detail = failure.detail if outcome is failure.outcome else ""
        bound = None if outcome is Outcome.UNSOLVABLE else read_lower_bound(run.stdout)
        cost = None if plan is None else read_stated_cost(plan)
        return Answer(
            outcome,
            plan=plan,
            cost=cost,
            lower_bound=(cost if outcome is Outcome.OPTIMAL else bound) if proves else None,
            translate_seconds=find_last_number(r"Done! \[([\d.]+)s CPU", run.stdout),
            search_seconds=find_last_number(r"Total time: ([\d.]+)s", run.stdout),
            effort=read_effort(run.stdout),
            detail=detail,
        )

    def proves(self, features: frozenset[str]) -> bool:
        """Return whether a plan of this configuration is optimal on tasks with these features."""
        if self.options.startswith(("alias=seq-opt-", "sym_")):
            return True
        evaluators = set(re.findall(r"(\w+)\(", self.options.removeprefix("astar(")))
        admissible = ADMISSIBLE_WITH_AXIOMS if "axioms" in features else ADMISSIBLE
        return self.options.startswith("astar(") and evaluators <= admissible


def make_symk(label: str, options: str) -> Downward:
    """Return SymK with a search such as `sym_bd()`."""
    return Downward(label, options, "symk", "up-symk", "up_symk/symk")


def read_last_plan(folder: Path) -> str | None:
    """Return the best plan in `folder`: anytime configurations number theirs from `plan.1` on, each cheaper.

    A plan whose last line, the cost, is missing was cut off by a limit, and is none.
    """
    numbered = sorted(folder.glob(f"{PLAN_FILE}.*"), key=lambda path: int(path.suffix.lstrip(".")))
    texts = [path.read_text(encoding="utf-8") for path in (*numbered, *folder.glob(PLAN_FILE))]
    return next((text for text in reversed(texts) if read_stated_cost(text) is not None), None)


def read_effort(log: str) -> Effort:
    """Read the effort of the searches; their memory is the growth since they began."""
    before = re.search(r", (\d+) KB\] (?:Conducting|Starting search)", log)
    peak = find_last_count(r"Peak memory: (\d+) KB", log)
    return Effort(
        evaluations=find_last_count(r"Evaluated (\d+) state", log),
        expansions=find_last_count(r"Expanded (\d+) state", log),
        generated=find_last_count(r"Generated (\d+) state", log),
        stored_states=find_last_count(r"Number of registered states: (\d+)", log),
        effort_seconds=find_last_number(r"Search time: ([\d.]+)s", log),
        search_bytes=None if before is None or peak is None else 1024 * (peak - int(before[1])),
    )


def have_bounds_met(log: str) -> bool:
    """Return whether the last bounds of symbolic search say that no plan is left: it has exhausted one side."""
    bounds = re.findall(r"BOUND: (\d+) < (\d+) \[0/", log)
    return bool(bounds) and bounds[-1][0] == bounds[-1][1]


def read_lower_bound(log: str) -> float | None:
    """Read the lower bound of an unfinished proof: A*'s last f-value, or symbolic search's last bound."""
    return find_last_number(r"(?:\] f = |BOUND: )(\d+)", log)


@dataclass(frozen=True, slots=True)
class Translator:
    """Fast Downward's translator by itself (Helmert 2009); it also writes its result to a file."""

    configuration: ClassVar[str] = "fd-translate:"
    packages: ClassVar[tuple[str, ...]] = ("up-fast-downward",)

    label: str

    def job(self, limits: Limits) -> Job:  # noqa: ARG002 - the limits of the process are all it has
        """Return the translator's command, without the driver's process around it."""
        place = find_package_folder("up_fast_downward") / "downward" / "builds" / "release" / "bin"
        command = (find_interpreter(self.packages[0]), "-m", "fast_downward.translate", DOMAIN_FILE, PROBLEM_FILE)
        return Job(command, {"PYTHONPATH": str(place)})

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:  # noqa: ARG002 - the log says it all
        """Return the sizes of the ground task."""
        log = run.stdout
        if run.returncode not in (0, 10):
            failure = explain_failure(run)
            outcome = EXIT_CODES.get(run.returncode, failure.outcome)
            return Answer(outcome, detail=failure.detail if outcome is failure.outcome else "")
        names = {"facts": "facts", "actions": "operators", "variables": "variables", "axioms": "axioms"}
        found = {size: find_last_number(rf"Translator {word}: (\d+)", log) for size, word in names.items()}
        return Answer(
            Outcome.GROUNDED,
            translate_seconds=find_last_number(r"Done! \[([\d.]+)s CPU", log),
            sizes={size: int(count) for size, count in found.items() if count is not None},
        )
