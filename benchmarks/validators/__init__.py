"""Validators: who says that a plan is one, and which features of tasks each covers.

| validator          | covers                                                                              |
|--------------------|-------------------------------------------------------------------------------------|
| `forethought`      | our own, on the source model: everything that we read, hierarchies too              |
| `pyperplan`        | pyperplan's parser and operators, replayed: STRIPS with types                       |
| `unified-planning` | its PDDL reader and its validators of plans: all but axioms, no hierarchies         |
| `fast-downward`    | the plan compiled into the task: all but hierarchies, numbers and time              |
| `val`              | VAL, where `FORETHOUGHT_VAL` names its program: all but hierarchies                 |

Each is a function `check(domain_path, problem_path, plan_text) -> Verdict`, run in a process of its own
(`python -m benchmarks.validators.plan_checks NAME DOMAIN PROBLEM PLAN`), since it may take long or crash.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.planners.environments import find_installed
from benchmarks.planners.ours import HERE
from benchmarks.process import Limits, run_limited

VALID: Final = "valid"
VAL_VARIABLE: Final = "FORETHOUGHT_VAL"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`said` is "valid", or a word and a reason: "invalid: …", "unsupported: …", "error: …", or the limit reached.

    `cost` is the plan's cost where the validator computes one.
    """

    said: str
    cost: float | None = None

    @property
    def valid(self) -> bool:
        """Whether the plan was accepted."""
        return self.said == VALID

    @property
    def invalid(self) -> bool:
        """Whether the plan was refused."""
        return self.said.startswith("invalid")


@dataclass(frozen=True, slots=True)
class Validator:
    """The distribution or program that a validator needs, and the features that it does not cover.

    `variable` is the environment variable that names the program.
    """

    package: str | None = None
    lacks: frozenset[str] = frozenset()
    variable: str | None = None

    def takes(self, features: Iterable[str]) -> bool:
        """Return whether it covers `features` and is installed."""
        return self.lacks.isdisjoint(features) and self.available

    @property
    def available(self) -> bool:
        """Whether the distribution that it needs is installed, and its program there."""
        if self.variable is not None and which(os.environ.get(self.variable, "")) is None:
            return False
        return self.package is None or bool(find_installed((self.package,)))

    @property
    def missing(self) -> str:
        """What is not installed: the distribution, or the variable that would name the program; else nothing."""
        return "" if self.available else self.package or self.variable or ""


BEYOND_STRIPS: Final = frozenset(
    {
        "axioms",
        "conditional effects",
        "costs",
        "disjunctive conditions",
        "equality",
        "hierarchy",
        "negative conditions",
        "quantified conditions",
        "universal effects",
    }
)

HIERARCHY: Final = frozenset({"hierarchy"})
NUMBERS: Final = frozenset({"numeric conditions", "numeric effects", "decreased costs", "state-dependent costs"})
"""What tasks with numbers have beyond action costs."""
TIME: Final = frozenset({"durations"})
OURS: Final = "forethought"
VALIDATORS: Final = {
    OURS: Validator(),
    "pyperplan": Validator("pyperplan", BEYOND_STRIPS | NUMBERS | TIME),
    "unified-planning": Validator("unified-planning", HIERARCHY | {"axioms"}),
    "fast-downward": Validator("up-fast-downward", HIERARCHY | NUMBERS | TIME),
    "val": Validator(None, HIERARCHY, VAL_VARIABLE),
}
FOREIGN: Final = tuple(name for name in VALIDATORS if name != OURS)


def validate_plan(
    name: str, domain: Path, problem: Path, plan: str, limits: Limits, *, cores: Sequence[int] = ()
) -> Verdict:
    """Run the validator `name` on `plan` in a process of its own, under `limits` and on these processors."""
    with TemporaryDirectory(prefix="validate-") as folder:
        file = Path(folder) / "plan"
        file.write_text(plan, encoding="utf-8")
        command = (
            sys.executable,
            "-m",
            "benchmarks.validators.plan_checks",
            name,
            str(domain),
            str(problem),
            str(file),
        )
        run = run_limited(command, Path(folder), limits, cores=cores, environment=HERE)
        try:
            answer = json.loads(run.stdout.splitlines()[-1])
            return Verdict(answer["said"], answer["cost"])
        except (ValueError, IndexError, KeyError, TypeError):
            return Verdict(run.limit or f"error: {run.last_words}")
