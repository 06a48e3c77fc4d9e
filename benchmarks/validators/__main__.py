"""`python -m benchmarks.validators NAME DOMAIN PROBLEM PLAN` prints the verdict as JSON in its last line."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from benchmarks.validators import VALIDATORS, Verdict


def main() -> None:
    """Judge the plan of the command line."""
    name, domain, problem, plan = sys.argv[1:5]
    check = import_module(VALIDATORS[name].module).check
    verdict: Verdict = check(Path(domain), Path(problem), Path(plan).read_text(encoding="utf-8"))
    sys.stdout.write("\n" + json.dumps(asdict(verdict)) + "\n")


main()
