"""Better plans by a goal: plans must cost less than a known one (branch and bound by whole searches).

So searches that know no price of a step, because that depends on the state, still find the best by a metric of numbers.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from planner.compilations.budgets import sum_terms
from planner.lightweight import replace
from planner.model.actions import Action, NumericEffect
from planner.model.arithmetic import as_number, evaluate, exact_value
from planner.model.domain import Function, numeric_fluents
from planner.model.formulas import Comparison, Number, with_conjuncts
from planner.model.problem import TOTAL_COST, Goal, Metric, NumericMetric, Problem
from planner.semantics.linear_forms import linear_form
from planner.semantics.numeric_state import Values


def demand_better(problem: Problem, metric: NumericMetric, cost: Number) -> Problem:
    """Return `problem`, whose metric is `metric`, where plans must cost less than `cost`, and any of them will do.

    The total cost becomes a function like others, which is bounded where the bounds of the others say how much they may
    gain. Raises `UnsupportedError` for costs that Python computes, and for a metric that is not linear.
    """
    domain, values = problem.domain, problem.values
    is_counted = TOTAL_COST.predicate not in domain.functions
    if is_counted:
        actions = {name: _count_cost(each) if each.cost else each for name, each in domain.actions.items()}
        domain, values = replace(domain, actions=actions), {**values, TOTAL_COST: 0}
    known = Values.of(replace(problem, domain=domain, values=values))
    now = evaluate(metric.expression, known.get, {}) or 0
    limit = as_number(exact_value(now - exact_value(cost) if metric.maximize else now + exact_value(cost)))
    assert limit is not None
    if is_counted:
        total = Function(TOTAL_COST.predicate, high=_find_most(metric, Fraction(exact_value(limit)), problem))
        domain = replace(domain, functions={**domain.functions, total.name: total})
    better = Comparison(metric.expression, ">" if metric.maximize else "<", limit)
    goal = Goal(with_conjuncts(problem.goal.hard, better), problem.goal.soft)
    return replace(problem, domain=domain, values=values, goal=goal, metric=Metric.COST)


def _count_cost(action: Action) -> Action:
    counted = NumericEffect(TOTAL_COST, "+=", sum_terms(action.cost, action, "cost"))
    return replace(action, numbers=(*action.numbers, counted))


def _find_most(metric: NumericMetric, limit: Fraction, problem: Problem) -> Number | None:
    """Return what plans within the `limit` of the metric cost at most; None where that is not known."""
    changing, values = numeric_fluents(problem.domain) | {TOTAL_COST.predicate}, Values.of(problem)
    sense = -1 if metric.maximize else 1
    form = linear_form(metric.expression, {}, lambda key: True if key[0] in changing else values.get(key))
    share, rest = sense * form.weights.get((TOTAL_COST.predicate, ()), Fraction(0)), sense * (limit - form.constant)
    for (name, _), weight in form.weights.items():
        if name == TOTAL_COST.predicate:
            continue
        function = problem.domain.functions[name]
        best = function.low if sense * weight > 0 else function.high
        if best is None:
            return None
        rest -= sense * weight * Fraction(exact_value(best))
    return ceil(rest / share) if share > 0 else None
