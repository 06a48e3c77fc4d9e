"""Our own validator, on the source model."""

from __future__ import annotations

from pathlib import Path

from benchmarks.validators import VALID, Verdict
from planner.errors import PlanError, UnsupportedError
from planner.pddl import read
from planner.pddl.plans import read_plan
from planner.plan import json_number
from planner.validate import validate


def check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return what `planner.validate` says."""
    problem = read(domain_path, problem_path)
    try:
        steps = read_plan(plan, problem, "plan").steps
        verdict = validate(problem, steps)
    except PlanError as error:
        return Verdict(f"invalid: {error}")
    except UnsupportedError as error:
        return Verdict(str(error))
    return Verdict(VALID, json_number(verdict.cost)) if verdict.valid else Verdict(f"invalid: {verdict.reason}")
