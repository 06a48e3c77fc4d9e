"""Our own validators, on the source model: of plans, and of plans with their decomposition."""

from __future__ import annotations

from pathlib import Path

from benchmarks.suite import HDDL
from benchmarks.validators import VALID, Verdict
from htn.hddl import read as read_hierarchical
from htn.plan_files import plan_from_text
from htn.verify.sequence import judged
from planner.budget import Budget
from planner.errors import PlanError, UnsupportedError
from planner.pddl import read
from planner.pddl.plans import read_plan
from planner.plan import json_number
from planner.validate import Verdict as Judgement
from planner.validate import validate


def check(domain_path: Path, problem_path: Path, plan: str) -> Verdict:
    """Return what `planner.validate` says, or `htn.verify` of a plan for a hierarchical problem."""
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
    """Return what `htn.verify` says; for steps without decomposition one is searched for, however long that takes."""
    problem = read_hierarchical(domain_path, problem_path)
    return judged(problem, plan_from_text(plan, problem, "plan"), Budget())
