"""What is to be carried out: the plan that was given, or one that is found for the problem that was."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from executor.plans.action_plan import ActionPlan, steps_of
from executor.recovery.hierarchy import check_tasks
from executor.world.world import World
from planner.errors import PlanError
from planner.kinds import is_other_problem
from planner.model import Goal, Problem, SoftGoal
from planner.model.formulas import conjunction, conjuncts
from planner.plan import Plan, Result
from planner.records import replace


def planned(
    world: World, what: Any, planning: Mapping[str, Any], memory: Collection[str] = ()
) -> tuple[ActionPlan, Problem, list[SoftGoal]]:
    """Return the plan to carry out, its problem, and the soft goals that it gives up.

    `planning` are options of `solve`, and `memory` names the data parameters that working memory has. Raises
    `NoPlan` where there is no plan, and `PlanError` with everything that is wrong with one that was given.
    """
    if isinstance(what, Problem) or is_other_problem(what):
        return _solved(world, what, planning)
    if isinstance(what, Result):
        what = what.expect_plan()
    if isinstance(what, ActionPlan):
        _check(world, what, memory)
        problem = what.problem(world.model)
        check_tasks(what, problem, world.hierarchy)
        return what, problem, []
    problem = what.problem.classical if is_other_problem(what.problem) else what.problem
    return ActionPlan.of(what), problem, []


def _check(world: World, plan: ActionPlan, memory: Collection[str]) -> None:
    """Raise `PlanError` with everything that is wrong with `plan`, if anything is."""
    from executor.checks import check_plan, errors_in  # noqa: PLC0415 - plans that were found need no check

    errors = errors_in(check_plan(plan, world, memory=memory))
    if errors:
        raise PlanError("this plan cannot be run:\n" + "\n".join(map(str, errors)))


def _solved(world: World, problem: Any, planning: Mapping[str, Any]) -> tuple[ActionPlan, Problem, list[SoftGoal]]:
    """Return a plan for `problem`: for as much of the soft goals as can be had, the least useful given up first."""
    from planner.solve import solve  # noqa: PLC0415 - plans that are given need no search

    if not (isinstance(problem, Problem) and problem.goal.soft):
        return planned(world, solve(problem, **planning), {})
    wishes, dropped = sorted(problem.goal.soft, key=lambda each: each.utility), list[SoftGoal]()
    while True:
        hard = conjunction([*conjuncts(problem.goal.hard), *(each.condition for each in wishes)])
        found = solve(replace(problem, goal=Goal(hard)), **planning)
        if found.has_plan or not wishes:
            steps = tuple(steps_of(found.expect_plan().steps, world.model))
            return ActionPlan.of(Plan((), problem), steps=steps), problem, dropped
        dropped.append(wishes.pop(0))
