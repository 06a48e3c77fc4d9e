"""Costs that PDDL files can express: integers, and tables of static functions for costs that Python computes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal

from planner.language.pddl.sections import choose_free_name
from planner.lightweight import replace
from planner.limits import Limits
from planner.model.actions import Action, CostFunction, CostTerm
from planner.model.domain import Function, Predicate
from planner.model.formulas import (
    Arithmetic,
    Atom,
    Number,
    Term,
    conjunction,
    conjuncts,
    functions_in,
    is_variable,
)
from planner.model.problem import TOTAL_COST, Goal, Metric, NumericMetric, Problem, is_numeric
from planner.plan import exact_sum


def without_needless_costs(problem: Problem) -> Problem:
    """Remove the costs of `problem` if the cost of a plan is its length, or the metric does not count them."""
    actions = problem.domain.actions.values()
    if isinstance(problem.metric, NumericMetric):
        counted = TOTAL_COST in functions_in(problem.metric.expression)
        return problem if counted else replace(without_costs(problem), metric=problem.metric)
    needless = problem.metric is Metric.LENGTH or all(action.cost == (1,) for action in actions)
    return without_costs(problem) if needless else problem


def without_costs(problem: Problem) -> Problem:
    """Remove all costs of `problem`, and the functions that only costs can read."""
    actions = {name: replace(action, cost=()) for name, action in problem.domain.actions.items()}
    if is_numeric(problem):
        return replace(problem, domain=replace(problem.domain, actions=actions), metric=Metric.LENGTH)
    domain = replace(problem.domain, actions=actions, functions={})
    return replace(problem, domain=domain, values={}, metric=Metric.LENGTH)


def with_tables(problem: Problem, limits: Limits) -> Problem:
    """Give each cost of `problem` one term: static functions replace arithmetic and costs that Python computes.

    The function of a computed cost has a value for each reachable instance, and a static condition excludes the others.
    Beside numbers, they stay, and only sums are split.
    """
    if is_numeric(problem):
        return _with_flat_costs(problem)
    for action in problem.domain.actions.values():
        if len(action.cost) > 1 and not _is_computed(action):
            problem = _with_sum(problem, action)
    computed = [action for action in problem.domain.actions.values() if _is_computed(action)]
    if not computed:
        return problem
    from planner.grounding.ground import explore
    from planner.grounding.instantiate import as_actions

    task = explore(replace(problem, goal=Goal()), limits).task
    raw = [*task.actions, *as_actions(task.tables)]
    for action in computed:
        rows = {each.arguments: each.cost for each in raw if each.action.name == action.name}
        problem = _with_table(problem, action, rows)
    return problem


def _with_flat_costs(problem: Problem) -> Problem:
    """Split sums in the costs of `problem` into their terms."""
    actions = {
        name: replace(action, cost=tuple([part for term in action.cost for part in _terms(term)]))
        for name, action in problem.domain.actions.items()
    }
    return replace(problem, domain=replace(problem.domain, actions=actions))


def _terms(term: CostTerm) -> Iterator[CostTerm]:
    if isinstance(term, Arithmetic) and term.operator == "+":
        for operand in term.operands:
            yield from _terms(operand)
    else:
        yield term


def _with_sum(problem: Problem, action: Action) -> Problem:
    """Replace the cost of `action` by one term, since Fast Downward takes only the last of several increases."""
    constant = exact_sum(term for term in action.cost if isinstance(term, int | Decimal))
    terms = [term for term in action.cost if isinstance(term, Atom)]
    if not terms or (constant == 0 and len(terms) == 1):
        return _with_cost(problem, action, terms[0] if terms else constant)
    used = [parameter for parameter in action.parameters if any(parameter.name in term.args for term in terms)]
    function = choose_free_name(f"cost-of-{action.name}", set(problem.domain.functions))
    names = tuple([parameter.name for parameter in used])
    values = {
        Atom(function, tuple([binding[name] for name in names])): cost
        for binding, cost in _sums(problem, terms, constant)
    }
    functions = {**problem.domain.functions, function: Function(function, tuple(used))}
    problem = replace(problem, domain=replace(problem.domain, functions=functions), values={**problem.values, **values})
    return _with_cost(problem, action, Atom(function, names))


def _sums(problem: Problem, terms: list[Atom], constant: Number) -> list[tuple[dict[Term, Term], Number]]:
    """Return the sum of `terms` and `constant` for every binding of their variables that has values for all terms."""
    sums: list[tuple[dict[Term, Term], Number]] = [({}, constant)]
    known: set[Term] = set()
    for term in terms:
        fixed = [place for place, arg in enumerate(term.args) if not is_variable(arg) or arg in known]
        rows: dict[tuple[Term, ...], list[tuple[tuple[Term, ...], Number]]] = defaultdict(list)
        for atom, value in problem.values.items():
            if atom.predicate == term.predicate:
                rows[tuple([atom.args[place] for place in fixed])].append((atom.args, value))
        found = [
            (_extend_binding(term, args, binding), cost + value)
            for binding, cost in sums
            for args, value in rows.get(tuple([binding.get(term.args[x], term.args[x]) for x in fixed]), ())
        ]
        sums = [(binding, cost) for binding, cost in found if binding is not None]
        known.update(term.args)
    return sums


def _with_cost(problem: Problem, action: Action, cost: CostTerm) -> Problem:
    actions = {**problem.domain.actions, action.name: replace(action, cost=(cost,))}
    return replace(problem, domain=replace(problem.domain, actions=actions))


def _extend_binding(term: Atom, args: tuple[Term, ...], binding: dict[Term, Term]) -> dict[Term, Term] | None:
    """Extend `binding` so that `term` has the arguments `args`; return None if that is impossible."""
    extended = dict(binding)
    for mine, value in zip(term.args, args, strict=True):
        if (extended.setdefault(mine, value) if is_variable(mine) else mine) != value:
            return None
    return extended


def _is_computed(action: Action) -> bool:
    return any(isinstance(term, CostFunction | Arithmetic) for term in action.cost)


def _with_table(problem: Problem, action: Action, rows: dict[tuple[str, ...], Number]) -> Problem:
    domain = problem.domain
    function = choose_free_name(f"cost-of-{action.name}", set(domain.functions))
    predicate = choose_free_name(f"has-cost-{action.name}", set(domain.predicates))
    names = tuple([parameter.name for parameter in action.parameters])
    requires = conjunction([Atom(predicate, names), *conjuncts(action.requires)])
    known = replace(action, requires=requires, cost=(Atom(function, names),))
    domain = replace(
        domain,
        actions={**domain.actions, action.name: known},
        predicates={**domain.predicates, predicate: Predicate(predicate, action.parameters)},
        functions={**domain.functions, function: Function(function, action.parameters)},
    )
    initial = (*problem.initial, *(Atom(predicate, row) for row in rows))
    values = {**problem.values, **{Atom(function, row): cost for row, cost in rows.items()}}
    return replace(problem, domain=domain, initial=initial, values=values)


def scale_to_integers(problem: Problem) -> tuple[Problem, int]:
    """Multiply all costs of `problem` by a power of ten that makes them integers; return the problem and the factor."""
    factor = _scaling_factor(_numbers(problem))
    if factor == 1:
        return problem, 1
    actions = {
        name: replace(action, cost=tuple([int(x * factor) if isinstance(x, int | Decimal) else x for x in action.cost]))
        for name, action in problem.domain.actions.items()
    }
    values = {atom: int(value * factor) for atom, value in problem.values.items()}
    return replace(problem, domain=replace(problem.domain, actions=actions), values=values), factor


def _numbers(problem: Problem) -> Iterator[Number]:
    yield from problem.values.values()
    for action in problem.domain.actions.values():
        yield from (term for term in action.cost if isinstance(term, int | Decimal))


def _scaling_factor(numbers: Iterable[Number]) -> int:
    """Return the smallest power of ten whose product with each of `numbers` is an integer."""
    places = [-int(number.normalize().as_tuple().exponent) for number in numbers if isinstance(number, Decimal)]
    return int(10 ** max([0, *places]))
