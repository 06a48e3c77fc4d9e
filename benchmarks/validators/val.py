"""Check a plan with VAL (Howey, Long, Fox 2004), the validator of the planning competitions, where it is installed.

`FORETHOUGHT_VAL` names its program `Validate`: VAL is built from its sources, no package carries it. It reads PDDL 2.2
and calculates in double precision. Its comparisons allow an error of 0.0001, strict ones too: it takes 0 > 0 for true.

VAL gets copies of the files that it can take (`val_files`). Costs are what steps add to the metric: from its value,
what the metric is before the first step is taken away.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.pddltext import find_sections, read_file, read_plan_steps, write_expression
from benchmarks.planners.base import parse_number
from benchmarks.timed_plans import read_timed_steps, write_timed_plan
from benchmarks.validators import VAL_VARIABLE, VALID, Verdict
from benchmarks.validators.fast_downward import find_misfit
from benchmarks.validators.val_files import adapt_domain, read_values, value_at_start

REFUSALS: Final = ("Goal not satisfied", "Plan failed to execute", "Bad plan description!")
"""What it says of plans that are none; all else without a value is a fault of the files, or a crash."""
PRINTED_DIGITS: Final = 6
"""How many digits VAL prints of a value; one with so many may be rounded."""
TOLERANCE: Final = "0.001"
"""VAL's tolerance for plans in time, in seconds: durations may differ by as much."""


def check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return VAL's verdict; names and numbers of arguments are looked at first, since it crashes on wrong ones."""
    steps = read_plan_steps(plan)
    domain, problem = read_file(domain_path), read_file(problem_path)
    wrong = find_misfit(domain, problem, steps)
    if wrong:
        return Verdict(f"invalid: {wrong}")
    timed = read_timed_steps(plan)
    lines = write_timed_plan(timed) if timed else "".join(f"({' '.join(step)})\n" for step in steps)
    with TemporaryDirectory(prefix="val-") as folder:
        files = [Path(folder, name) for name in ("domain.pddl", "problem.pddl", "plan")]
        texts = (write_expression(adapt_domain(domain)), write_expression(problem), lines)
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, encoding="utf-8")
        options = ("-t", TOLERANCE) if timed else ()
        command = (os.environ[VAL_VARIABLE], *options, *map(str, files))
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    verdict = read_verdict(run.stdout, run.stderr, run.returncode, rounded=bool(timed))
    if not verdict.valid:
        return verdict
    metrics = list(find_sections(problem, ":metric"))
    if not metrics:
        return Verdict(VALID, len(steps))
    before = value_at_start(metrics[0][-1], read_values(problem))
    return verdict if verdict.cost is None or before is None else replace(verdict, cost=verdict.cost - before)


def read_verdict(stdout: str, stderr: str, returncode: int, *, rounded: bool = False) -> Verdict:
    """Return the verdict that VAL's report amounts to; the cost only where it is exact, or may be `rounded`."""
    value = re.search(r"^Plan valid\s+Final value: (\S+)", stdout, re.MULTILINE)
    if value:
        return Verdict(VALID, float(value[1]) if rounded else read_exact(value[1]))
    refusal = next((words for words in REFUSALS if words in stdout), None)
    if refusal:
        return Verdict(f"invalid: {refusal}")
    if returncode < 0:
        return Verdict(f"error: VAL was ended by signal {-returncode}")
    said = [
        line.strip()
        for line in (stdout + "\n" + stderr).splitlines()
        if re.search(r"error|problem", line, re.IGNORECASE)
    ]
    return Verdict(f"unsupported: {said[-1] if said else f'exit code {returncode}'}")


def read_exact(value: str) -> float | None:
    """Return the number in `value` unless it has as many digits as VAL prints."""
    digits = value.lstrip("-").replace(".", "")
    return parse_number(value) if digits.isdecimal() and len(digits) < PRINTED_DIGITS else None
