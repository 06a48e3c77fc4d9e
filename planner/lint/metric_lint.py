"""Lint of metrics and goals: plans without a best one, and parts of the goal that nothing is to be done for.

A step is *repeatable* where all that it takes can be given again. A metric that gains by each such step has no best
plan, unless a bound, a budget or a deadline ends that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planner.lint.findings import Finding, Level, ended_atoms, enders_of, givers_of, provided_atoms
from planner.model.actions import Action, NumericEffect
from planner.model.arithmetic import exact_value
from planner.model.domain import DomainModel, numeric_effects
from planner.model.formulas import Arithmetic, Atom, Expression, Number, comparisons_in, conjuncts, unmarked
from planner.model.problem import NumericMetric, Problem


def check_endless_metric(problem: Problem) -> Iterator[Finding]:
    """Yield the functions of the metric that repeatable steps make better without end, and never worse."""
    metric = problem.metric
    if not isinstance(metric, NumericMetric) or problem.budgets or problem.deadline is not None or problem.constraints:
        return
    wanted = 1 if metric.maximize else -1
    for name, sign in _signs_in(metric.expression, wanted):
        step = _find_endless(name, sign, problem.domain)
        if step is not None:
            way = "maximises" if metric.maximize else "minimises"
            does = "raises" if sign > 0 else "lowers"
            message = (
                f"the metric {way} {name}, which action {step.name} {does} again and again, and no action"
                f" {'lowers' if sign > 0 else 'raises'}: there is no best plan"
            )
            other = "minimize" if metric.maximize else "maximize"
            yield Finding(Level.WARNING, "endless-metric", "metric", message, f"is {other} meant?", part=name)
            return


def _signs_in(expression: Expression, sign: int) -> Iterator[tuple[str, int]]:
    """Yield the functions of a sum, each with 1 where it is to rise and -1 where it is to fall."""
    match expression:
        case Atom(name):
            yield name, sign
        case Arithmetic("+" | "-" as operator, operands):
            for place, part in enumerate(operands):
                minus = operator == "-" and (place > 0 or len(operands) == 1)
                yield from _signs_in(part, -sign if minus else sign)
        case Arithmetic("*", (int(factor), part)) | Arithmetic("*", (part, int(factor))) if factor:
            yield from _signs_in(part, sign if factor > 0 else -sign)


def _find_endless(name: str, sign: int, domain: DomainModel) -> Action | None:
    """Return a repeatable action that moves a fluent in this direction, in which all others move it, too."""
    declared = domain.functions.get(name)
    bound = None if declared is None else (declared.high if sign > 0 else declared.low)
    compared = {
        term.predicate
        for action in domain.actions.values()
        for part in comparisons_in(action.requires)
        for term in part.functions
    }
    moving = [
        (action, each)
        for action in domain.actions.values()
        for each in numeric_effects(action)
        if each.fluent.predicate == name
    ]
    if bound is not None or name in compared or not all(_direction(each) == sign for _, each in moving):
        return None
    return next((action for action, _ in moving if _is_repeatable(action, name, domain)), None)


def _direction(effect: NumericEffect) -> int:
    """Return 1 for a rise, -1 for a fall, and 0 for what may be either; functions count as positive."""
    if not effect.is_additive:
        return 0
    up = 1 if effect.operator == "+=" else -1
    if isinstance(effect.value, Number):
        number = exact_value(effect.value)
        return up * ((number > 0) - (number < 0))
    return up


def _is_repeatable(action: Action, name: str, domain: DomainModel) -> bool:
    """Return whether actions give again all that `action` ends, and raise again what it lowers besides `name`."""
    given, ended = givers_of(domain).keys(), enders_of(domain).keys()
    risen = {
        effect.fluent.predicate
        for each in domain.actions.values()
        for effect in numeric_effects(each)
        if _direction(effect) >= 0
    }
    falls = {each.fluent.predicate for each in numeric_effects(action) if _direction(each) < 0}
    negated = {atom.predicate for atom in provided_atoms(action)}
    if action.outcomes or action.creates or not {atom.predicate for atom in ended_atoms(action)} <= given:
        return False
    return falls - {name} <= risen and negated <= ended


def check_given_goals(problem: Problem) -> Iterator[Finding]:
    """Yield the facts of the goal that hold from the beginning, and that no action gives: something else is meant."""
    given = {*givers_of(problem.domain), *problem.domain.derived}
    stated = set(problem.initial)
    held = [x for x in conjuncts(problem.goal.hard) if isinstance(x, Atom) and x in stated]
    names = Counter(fact.predicate for fact in held)
    for fact in held if not problem.timed else ():
        if fact.predicate not in given and names[fact.predicate] == 1:
            message = f"{unmarked(fact)} holds from the beginning, and no action gives it: nothing is to be done for it"
            near = _find_sister(fact, problem)
            hint = f"is another fact meant, such as {near}?" if near else "is another fact meant?"
            yield Finding(Level.HINT, "given-goal", "goal", message, hint, part=fact)


def _find_sister(fact: Atom, problem: Problem) -> Atom | None:
    """Return what the goal asks of another object, of `fact`'s object."""
    parts = [x for x in conjuncts(problem.goal.hard) if isinstance(x, Atom) and x.predicate != fact.predicate]
    types = {each.name: each.types for each in problem.all_objects}
    for other in parts:
        alike = [types.get(arg) for arg in other.args] == [types.get(arg) for arg in fact.args]
        if alike and other not in problem.initial and Atom(other.predicate, fact.args) not in parts:
            return Atom(other.predicate, fact.args)
    return None
