"""Our own validators, on the source model: of plans, and of plans with their decomposition."""

from __future__ import annotations

from pathlib import Path

from benchmarks.suite import HDDL
from benchmarks.validators import VALID, Verdict
from htn.language.hddl import read as read_hierarchical
from htn.language.plan_text import plan_from_text
from htn.verification.chart_parsing import verify
from planner.errors import PlanError, UnsupportedError
from planner.language.pddl import read
from planner.language.pddl.plan_files import read_plan
from planner.limits import Limits
from planner.plan import json_number
from planner.validation.validate import validate
from planner.validation.verdict import Verdict as Judgement


def check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return the verdict of `planner.validate`, or for a hierarchical problem of `htn.verification`."""
    judge = hierarchical if problem_path.suffix == HDDL else classical
    try:
        verdict = judge(domain_path, problem_path, plan)
    except PlanError as error:
        return Verdict(f"invalid: {error}")
    except UnsupportedError as error:
        return Verdict(str(error))
    return Verdict(VALID, json_number(verdict.cost)) if verdict.valid else Verdict(f"invalid: {verdict.reason}")


def classical(domain_path: Path, problem_path: Path, plan: str) -> Judgement:
    """Return what `planner.validate` says of steps; raises `PlanError` and `UnsupportedError`."""
    problem = read(domain_path, problem_path)
    return validate(problem, read_plan(plan, problem, "plan").steps)


def hierarchical(domain_path: Path, problem_path: Path, plan: str) -> Judgement:
    """Return the verdict of `htn.verification`; without a decomposition it searches for one, without limits."""
    problem = read_hierarchical(domain_path, problem_path)
    return verify(problem, plan_from_text(plan, problem, "plan"), Limits())
