"""Rounds of search for plans of tasks that are better by a metric of numbers, until there are none."""

from __future__ import annotations

from htn.compilations.htn_reductions import HtnDriver
from htn.model import HtnProblem
from planner.compilations import Claim, Compiled
from planner.compilations.better_metric import demand_better
from planner.errors import UnsupportedError
from planner.lightweight import replace
from planner.model.problem import NumericMetric
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result, Status
from planner.problem_kinds import with_classical
from planner.semantics.simulation import price_steps


def improve_by_rounds(problem: HtnProblem, known: Result, options: SolveOptions, solve: Solve) -> Result:
    """Return the best plan of `problem` that `solve` finds, at least as good as that of the answer `known`.

    The best one is proved by a round without a plan.
    """
    classical = problem.classical
    assert isinstance(classical.metric, NumericMetric)
    driver = HtnDriver(problem, replace(options, mode="first"), solve)
    driver.plan = known.plan

    def lift(plan: Plan) -> Plan:
        return replace(plan, steps=price_steps(classical, plan.steps), problem=problem)

    found = known
    while driver.plan is not None:
        before = driver.plan
        try:
            better = demand_better(classical, classical.metric, before.cost)
        except UnsupportedError:
            return known
        asked: HtnProblem = replace(with_classical(problem, better), seal=())
        claim = Claim(bounds=False, unsolvable=False, doubt=known.reason)
        compiled = Compiled(asked, lift, claim)
        found = driver.ask(compiled)
        if found.status is Status.UNSOLVABLE:
            driver.bound = before.cost
        if driver.plan is before:
            break
    return driver.finish(found, compiled)
