"""The problem of steps in turn: what a problem in time says about single steps, without their times."""

from __future__ import annotations

from planner.compilations.sequential_steps import compile_sequential
from planner.errors import UnsupportedError
from planner.lightweight import replace
from planner.model import Metric, NumericMetric, Problem, is_temporal
from planner.model.constructs import CONSTRAINED, has
from planner.model.domain import uncertain_actions
from planner.model.formulas import functions_in
from planner.model.timing import TOTAL_TIME


def take_in_turn(problem: Problem) -> Problem:
    """Return `problem` with each step as one change of the state; a problem without times stays as it is.

    Raises `UnsupportedError` where the effects of a start and an end on numbers may meet in a way that names do not
    show, for actions with several outcomes, of which a run in time would believe the intended one, and for constraints:
    a step that is late would break them unseen.
    """
    if not is_temporal(problem):
        return problem
    uncertain = next(iter(uncertain_actions(problem.domain)), None)
    if uncertain is not None:
        raise UnsupportedError(f"the outcomes of '{uncertain}' in a run in time", "leave them out")
    if has(problem, *CONSTRAINED):
        hint = "say by conditions of the actions what comes before what"
        raise UnsupportedError(f"the constraint '{problem.constraints[0]}' in a run in time", hint)
    found = compile_sequential(problem)
    declared = problem.domain.actions
    actions = {
        name: replace(each, cost=declared[name].cost, duration=declared[name].duration, uses=declared[name].uses)
        if not declared[name].has_moments
        else replace(each, cost=declared[name].cost)
        for name, each in found.domain.actions.items()
    }
    metric = problem.metric
    if isinstance(metric, NumericMetric) and TOTAL_TIME in functions_in(metric.expression):
        metric = Metric.COST
    return replace(found, domain=replace(found.domain, actions=actions), metric=metric)
