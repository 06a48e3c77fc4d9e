"""Wishes, budgets and constraints of tasks in time, compiled away as those of goals in time.

Budgets become numbers with bounds. Of the wishes, all choices are looked at; in each, those that are chosen are hard
goals and hard constraints. Monitors of starts, ends and known changes then keep the constraints.
"""

from __future__ import annotations

from htn.compilations.htn_reductions import HtnDriver
from htn.model import HtnProblem
from planner.compilations.constraints_in_time import solve_with_constraints_in_time
from planner.compilations.wishes_in_time import MOST_CHOSEN, WishChoices, solve_with_budgets_in_time
from planner.lightweight import replace
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.model.problem import Problem
from planner.options import Solve, SolveOptions
from planner.plan import Result, unsupported_result
from planner.problem_kinds import with_classical


def plan_parts_in_time(problem: HtnProblem, options: SolveOptions, solve: Solve) -> Result:
    """Compile wishes, budgets and constraints of `problem` away; `solve` takes what has none of them."""
    classical = problem.classical

    def put(compiled: Problem) -> HtnProblem:
        found: HtnProblem = replace(with_classical(problem, compiled), seal=())
        return found

    def solve_rest(part: HtnProblem, given: SolveOptions) -> Result:
        return plan_parts_in_time(part, given, solve)

    driver = HtnDriver(problem, options, solve_rest)
    if len(classical.wishes) > MOST_CHOSEN:
        return unsupported_result(f"more than {MOST_CHOSEN} wishes in a problem with tasks in time")
    if classical.wishes:
        return WishChoices(driver, put).run()
    if has(classical, Construct.BUDGETS):
        return solve_with_budgets_in_time(driver, put)
    if has(classical, *CONSTRAINED):
        return solve_with_constraints_in_time(driver, put)
    return solve(problem, options)
