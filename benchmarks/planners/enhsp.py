"""ENHSP, which plans with numbers by heuristic search (Scala, Haslum, Thiébaux, Ramirez 2020), as a Java process.

The jar comes from the wheel `up-enhsp`; a Java runtime has to be there as the program `java`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from benchmarks.pddltext import NONSIMPLE
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
)
from benchmarks.planners.environments import find_package_folder
from benchmarks.process import Limits, Run

PRESETS: Final = (
    "opt-blind",
    "opt-hmax",
    "opt-hrmax",
    "sat-aibr",
    "sat-hadd",
    "sat-hmrp",
    "sat-hmrpff",
    "sat-hmrph",
    "sat-hmrphj",
    "sat-hradd",
)
"""The configurations of the jar, but for those with landmarks (`opt-hlm`, `opt-hlmrd`): these call CPLEX."""
UNPROVED: Final = frozenset(
    {
        "conditional effects",
        "decreased costs",
        "general metric",
        "maximised metric",
        "nonlinear expressions",
        "scaling",
        "state-dependent costs",
    }
)
"""The features with which nothing is proved: A* takes the cost of an action for constant and not negative. On random
tasks with general metrics, scaling or conditional effects the jar calls plans optimal that are not, and solvable tasks
unsolvable."""
MISCOUNTED: Final = frozenset({"general metric", "maximised metric", "state-dependent costs"})
"""The features with which the stated cost is not that of the metric."""
PROVING: Final = {
    "opt-blind": UNPROVED,
    "opt-hmax": UNPROVED | NONSIMPLE,
    "opt-hrmax": UNPROVED | NONSIMPLE,
}
"""The optimal configurations, each with the features with which it proves nothing: subgoaling heuristics are admissible
where effects add constants."""
OUTSIDE_HEAP_GIB: Final = 0.75
"""The part of the memory limit that the heap is not given: address space for classes, code, libraries and stacks takes
0.5 GiB with these options."""
JAVA_OPTIONS: Final = (
    "-XX:+UseSerialGC",
    "-XX:CompressedClassSpaceSize=64m",
    "-XX:ReservedCodeCacheSize=96m",
    "-Xss16m",
)
"""A collector without threads of its own, so that one processor is as good as many, and small reservations: by default
Java reserves more than a gigabyte of address space for classes and code."""
EXACT_FLOAT: Final = 2**24
"""Binary32, in which costs are added up, holds all integers up to this one."""


ONE_AFTER_THE_OTHER: Final = f'for preset in $PRESETS; do "$@" -planner $preset; [ -e {PLAN_FILE} ] && break; done'
"""A shell's script that tries configurations until one has a plan: helpful actions leave searches without any."""


@dataclass(frozen=True, slots=True)
class Enhsp:
    """ENHSP in one of `PRESETS`, or in several with + between until one has a plan; it ends with its first plan."""

    packages: ClassVar[tuple[str, ...]] = ("up-enhsp",)
    programs: ClassVar[tuple[str, ...]] = ("java",)

    label: str
    preset: str

    def __post_init__(self) -> None:
        for preset in self.presets:
            if preset not in PRESETS:
                raise ValueError(f"there is no configuration {preset!r}; there are {', '.join(PRESETS)}")

    @property
    def presets(self) -> list[str]:
        """The names of the configurations in the jar."""
        return self.preset.split("+")

    @property
    def configuration(self) -> str:
        """The kind and its options."""
        return f"enhsp:{self.preset}"

    def job(self, limits: Limits) -> Job:
        """Return the command of the Java process."""
        jar = find_package_folder("up_enhsp") / "ENHSP" / "enhsp.jar"
        heap = f"-Xmx{max(limits.memory_gib - OUTSIDE_HEAP_GIB, limits.memory_gib / 4) * 1024:.0f}m"
        files = ("-o", DOMAIN_FILE, "-f", PROBLEM_FILE, "-sp", PLAN_FILE)
        command = ("java", heap, *JAVA_OPTIONS, "-jar", str(jar), *files, "-npm")
        environment = {"MALLOC_ARENA_MAX": "1"}  # an arena for each thread would reserve 64 MiB
        if len(self.presets) == 1:
            return Job((*command, "-planner", self.preset), environment)
        script = ("sh", "-c", ONE_AFTER_THE_OTHER, "enhsp")
        return Job((*script, *command), {**environment, "PRESETS": " ".join(self.presets)})

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        """Return the outcome from the plan file and the log; the exit code is 0 whatever happened."""
        proves = all(preset in PROVING and PROVING[preset].isdisjoint(features) for preset in self.presets)
        plan = read_plan(run.stdout, folder)
        cost = read_cost(run.stdout) if MISCOUNTED.isdisjoint(features) else None
        effort = read_effort(run.stdout)
        search = find_last_number(r"Planning Time \(msec\): (\d+)", run.stdout)
        seconds = None if search is None else search / 1000
        if plan is not None:
            outcome = Outcome.OPTIMAL if proves else Outcome.SOLVED
            bound = cost if proves else None
            return Answer(outcome, plan, cost, bound, search_seconds=seconds, effort=effort)
        if re.search(r"Problem unsolvable|Unsolvable Problem", run.stdout) and not run.stderr:
            return Answer(Outcome.UNSOLVABLE if proves else Outcome.UNKNOWN, search_seconds=seconds, effort=effort)
        if run.limit is None and "com.hstairs.ppmajal" in run.stderr:
            reason = next((line for line in run.stderr.splitlines() if re.search(r"Exception|Error", line)), "")
            return Answer(Outcome.UNSUPPORTED, detail=reason[:300])
        return explain_failure(run)


def read_plan(log: str, folder: Path) -> str | None:
    """Return the plan that was saved in `folder`, if the log says that one was found; an empty one is a plan, too."""
    saved = folder / PLAN_FILE
    if "Problem Solved" not in log or not saved.exists():
        return None
    return saved.read_text(encoding="utf-8")


def read_cost(log: str) -> float | None:
    """Return the stated cost where it is an integer, and exact; fractions are rounded and left to validators."""
    cost = find_last_number(r"Metric \(Search\):(-?[\d.E]+)", log)
    return cost if cost is not None and cost % 1 == 0 and 0 <= cost <= EXACT_FLOAT else None


def read_effort(log: str) -> Effort:
    """Read how many states the search expanded and evaluated."""
    return Effort(
        evaluations=find_last_count(r"States Evaluated:(\d+)", log),
        expansions=find_last_count(r"Expanded Nodes:(\d+)", log),
    )
