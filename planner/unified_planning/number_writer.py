"""Numbers of the model in the terms of unified-planning: types, total costs, and effects that exclude each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement

from planner.errors import UnsupportedError
from planner.language.pddl.pddl_costs import TOTAL_AS_FUNCTION
from planner.language.pddl.sections import choose_free_name
from planner.model.actions import Action, CostFunction, NumericEffect, When
from planner.model.arithmetic import evaluate
from planner.model.domain import (
    DomainModel,
    Function,
    amounts_of,
    conditions_of,
    numeric_effects,
    numeric_fluents,
)
from planner.model.formulas import (
    Arithmetic,
    Atom,
    Equals,
    Exists,
    Expression,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    comparisons_in,
    conjunction,
    conjuncts,
    functions_in,
    substitute,
    with_conjuncts,
)
from planner.model.problem import TOTAL_COST, NumericMetric, Problem


def find_integral_functions(problem: Problem) -> frozenset[str]:
    """Return the functions of `problem` whose values are always integers."""
    functions = problem.domain.functions
    numbers = [(term.predicate, value) for term, value in problem.values.items()]
    bounds = [(name, bound) for name, each in functions.items() for bound in (each.low, each.high)]
    numbers += [(name, bound) for name, bound in bounds if bound is not None]
    found = set(functions) - {name for name, number in numbers if not isinstance(number, int)}
    effects = [effect for action in problem.domain.actions.values() for effect in numeric_effects(action)]
    size = -1
    while size != len(found):
        size = len(found)
        found -= {each.fluent.predicate for each in effects if not _keeps_integers(each, found)}
    return frozenset(found)


def _keeps_integers(effect: NumericEffect, integral: set[str]) -> bool:
    return effect.operator != "/=" and _is_integral(effect.value, integral)


def _is_integral(expression: Expression, integral: set[str]) -> bool:
    match expression:
        case Atom(name):
            return name in integral
        case Arithmetic(operator, operands):
            return operator != "/" and all(_is_integral(each, integral) for each in operands)
        case _:
            return isinstance(expression, int)


def prepare_numbers(problem: Problem) -> Problem:
    """Return `problem`, whose costs are flat, with single costs, and a function for the total cost that a metric reads.

    An action requires that no two of its effects that exclude each other happen together: in unified-planning they may,
    where they give the same value. Raises `UnsupportedError` for costs that Python computes, and for divisions that
    unified-planning, which computes with constants at once, may find to be divisions by 0.
    """
    refuse_divisions(problem)
    for name, action in problem.domain.actions.items():
        if any(isinstance(term, CostFunction) for term in action.cost):
            raise UnsupportedError(f"a cost that Python computes (of {name}) beside numbers, in unified-planning")
    domain: DomainModel = replace(
        problem.domain,
        actions={name: _exclude(action) for name, action in problem.domain.actions.items()},
    )
    problem = replace(problem, domain=domain)
    metric = problem.metric
    if not isinstance(metric, NumericMetric) or TOTAL_COST not in functions_in(metric.expression):
        return problem
    return problem if TOTAL_COST.predicate in domain.functions else _with_total(problem, metric)


def refuse_divisions(problem: Problem) -> None:
    """Raise `UnsupportedError` for a division that unified-planning may find to be one by 0."""
    for division in filter(_is_division, _expressions_in(problem)):
        _refuse_zero(division, problem)


def _expressions_in(problem: Problem) -> Iterator[Arithmetic]:
    """Yield all arithmetic in `problem`, whose effects `/=` divide as well."""
    stack: list[Expression] = []
    conditions = [problem.goal.hard]
    for action in problem.domain.actions.values():
        conditions += conditions_of(action)
        stack += [term for term in amounts_of(action) if not isinstance(term, CostFunction)]
        for each in numeric_effects(action):
            stack.append(Arithmetic("/", (each.fluent, each.value)) if each.operator == "/=" else each.value)
    for condition in conditions:
        stack += [side for each in comparisons_in(condition) for side in (each.left, each.right)]
    if isinstance(problem.metric, NumericMetric):
        stack.append(problem.metric.expression)
    while stack:
        current = stack.pop()
        if isinstance(current, Arithmetic):
            yield current
            stack += current.operands


def _is_division(expression: Arithmetic) -> bool:
    return expression.operator == "/"


def _refuse_zero(division: Arithmetic, problem: Problem) -> None:
    divisor = division.operands[1]
    names = {term.predicate for term in functions_in(divisor)}
    if isinstance(divisor, Atom):
        values = [value for term, value in problem.values.items() if term.predicate == divisor.predicate]
        may_be_zero = divisor.predicate not in numeric_fluents(problem.domain) and 0 in values
    elif names:
        may_be_zero = _has_zero(divisor) or names.isdisjoint(numeric_fluents(problem.domain))
    else:
        may_be_zero = evaluate(divisor, lambda _: None, {}) in (0, None)
    if may_be_zero:
        raise UnsupportedError(f"the division {division}, whose divisor may be the constant 0, in unified-planning")


def _has_zero(expression: Expression) -> bool:
    """Return whether a constant 0 occurs in `expression`."""
    if isinstance(expression, Arithmetic):
        return any(map(_has_zero, expression.operands))
    return expression == 0


def _with_total(problem: Problem, metric: NumericMetric) -> Problem:
    name = choose_free_name(TOTAL_AS_FUNCTION, set(problem.domain.functions))
    total = Atom(name)
    actions = {}
    for action in problem.domain.actions.values():
        own = [NumericEffect(total, "+=", term) for term in action.cost if not isinstance(term, CostFunction)]
        actions[action.name] = replace(action, numbers=(*action.numbers, *own))
    functions = {**problem.domain.functions, name: Function(name)}
    return replace(
        problem,
        domain=replace(problem.domain, actions=actions, functions=functions),
        values={**problem.values, total: 0},
        metric=replace(metric, expression=_replace_total(metric.expression, total)),
    )


def _replace_total(expression: Expression, total: Atom) -> Expression:
    if isinstance(expression, Arithmetic):
        return replace(expression, operands=tuple([_replace_total(each, total) for each in expression.operands]))
    return total if expression == TOTAL_COST else expression


def _exclude(action: Action) -> Action:
    """Add the conditions under which no two effects of `action` exclude each other."""
    effects = [(when, number) for when in action.effects for number in when.numbers]
    pairs = combinations_with_replacement(effects, 2)
    needs = [each for one, other in pairs for each in _exclusion(*one, *other)]
    return replace(action, requires=with_conjuncts(action.requires, *needs)) if needs else action


def _exclusion(when: When, effect: NumericEffect, other_when: When, other: NumericEffect) -> Iterator[Formula]:
    """Yield the condition that both effects do not happen together, unless unified-planning says so as well.

    It does for increases beside assignments, and for two constants.
    """
    assigned = effect.operator == other.operator == ":="
    names = _names_in(effect) | _names_in(other)
    if effect.fluent.predicate != other.fluent.predicate or effect.is_additive or other.is_additive:
        return
    if assigned and (not names or (effect is not other and effect == other)):
        return
    renamed = {each.name: f"{each.name}-other" for each in other_when.variables}
    pairs = zip(effect.fluent.args, other.fluent.substitute(renamed).args, strict=True)
    equal = [Equals(*pair) for pair in pairs if pair[0] != pair[1]]
    parts = [when.requires, substitute(other_when.requires, renamed), *equal]
    if effect is other:
        apart = [name for name in renamed if not assigned or name in names]
        if not apart:
            return
        parts.append(Or(tuple([Not(Equals(name, renamed[name])) for name in apart])))
    both = conjunction([inner for part in parts for inner in conjuncts(part)])
    variables = (*when.variables, *[Variable(renamed[each.name], each.types) for each in other_when.variables])
    yield Not(Exists(variables, both) if variables else both)


def _names_in(effect: NumericEffect) -> set[Term]:
    """Return the terms of the functions that the value of `effect` reads, and their names."""
    return {name for term in functions_in(effect.value) for name in (term.predicate, *term.args)}
