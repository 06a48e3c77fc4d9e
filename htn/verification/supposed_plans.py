"""Verifies plans for tasks where facts are unknown: finds the suppositions on which they work."""

from __future__ import annotations

from htn.compilations.htn_in_time import is_in_time
from htn.compilations.htn_reductions import add_placeholders_of_steps
from htn.compilations.htn_suppositions import find_needs, list_preconditions, read_methods
from htn.model import HtnProblem
from htn.verification.chart_parsing import verify
from planner.compilations.contingent.knowledge import Translation
from planner.compilations.contingent.readings import reading_of_known
from planner.lightweight import Final, replace
from planner.limits import Limits
from planner.model import Problem
from planner.plan import Plan
from planner.validation.translated_suppositions import validate_by_translation
from planner.validation.verdict import Verdict

SECONDS: Final = 10.0
"""Time limit, in seconds, of the search for a decomposition of a plan that comes without one."""


def verify_on_suppositions(problem: HtnProblem, plan: Plan, limits: Limits | None = None) -> Verdict:
    """Return whether `plan` works on suppositions about unknown facts of `problem`, those of the plan if possible.

    Raises `UnsupportedError` where facts grow stale with unknown ones.
    """
    limits = Limits(SECONDS) if limits is None else limits
    problem = add_placeholders_of_steps(problem, plan.steps)

    def judge(known: Problem, asked: Translation) -> Verdict:
        hierarchy = read_methods(problem, known, reading_of_known(asked.words.possible))
        return verify(hierarchy, replace(plan, problem=hierarchy), limits)

    def judge_case(case: Problem) -> Verdict:
        hierarchy = _in_case(problem, case)
        return verify(hierarchy, replace(plan, problem=hierarchy), limits)

    return validate_by_translation(
        problem.classical,
        plan,
        judge,
        judge_case,
        also=list_preconditions(problem),
        needs=lambda asked: find_needs(problem, plan, reading_of_known(asked.words.possible)),
        lasts=is_in_time(problem),
    )


def _in_case(problem: HtnProblem, case: Problem) -> HtnProblem:
    return replace(problem, classical=case, seal=())
