"""Plans as they are handed on: of the declared problem, checked, and left out where they break a limit."""

from __future__ import annotations

from collections.abc import Sequence

from planner.budget import Finishing
from planner.model import Problem
from planner.plan import Plan, exact_sum
from planner.records import replace
from planner.task import Task
from planner.validate import checker
from planner.wishes import valued


class Handing:
    """Makes plans for `problem` of the actions of `task`, which was ground from it, or from one without wishes."""

    def __init__(self, problem: Problem, task: Task) -> None:
        self._problem, self._task = problem, task
        self._check = checker(replace(problem, budgets={}, deadline=None))
        self._check_limits = checker(problem) if problem.is_limited else None

    def plan(self, actions: Sequence[int]) -> Plan | None:
        """Return the plan; None where it breaks a limit, or forgoes a wish that comes true."""
        steps = [self._task.actions[action].step for action in actions]
        declared = tuple([step for step in steps if step.action in self._problem.domain.actions])
        plan = Plan(declared, self._problem)
        with Finishing():
            verdict = self._check(plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
            if self._check_limits is not None and not self._check_limits(plan).valid:
                return None
        if len(declared) == len(steps):
            return plan
        plan = valued(plan, verdict)
        return plan if plan.charge == exact_sum(step.cost for step in steps) else None
