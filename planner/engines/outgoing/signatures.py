"""How wide the parameters of predicates and functions have to be, so that every use fits their types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.engines.outgoing.scopes import bottom_up
from planner.engines.outgoing.types import Types
from planner.model import And, Atom, Formula, Function, Predicate, Problem, Term, Variable, is_variable

TypeScope = Mapping[Term, str]


def signatures(problem: Problem, types: Types) -> dict[str, tuple[str, ...]]:
    """Return, for each predicate and function, the lowest type of each parameter that takes all arguments in use.

    In the model, the declared types of a predicate keep nothing out; in unified-planning they do.
    """
    declared: list[Predicate | Function] = [*problem.domain.predicates.values(), *problem.domain.functions.values()]
    widths = {item.name: [variable.types[0] for variable in item.parameters] for item in declared}
    objects = {item.name: item.types[0] for item in problem.all_objects}
    for atom, scope in _uses(problem):
        found = [scope[term] if is_variable(term) else objects[term] for term in atom.args]
        known = widths.setdefault(atom.predicate, found)
        widths[atom.predicate] = [types.lowest(pair) for pair in zip(known, found, strict=True)]
    return {name: tuple(parameters) for name, parameters in widths.items()}


def _uses(problem: Problem) -> Iterator[tuple[Atom, TypeScope]]:
    """Yield every atom, with the types of the variables around it."""
    yield from ((fact, {}) for fact in (*problem.initial, *problem.values))
    yield from _inside(problem.goal.hard, {})
    for action in problem.domain.actions.values():
        outer = _scoped(action.parameters)
        yield from _inside(action.requires, outer)
        yield from ((term, outer) for term in action.cost if isinstance(term, Atom))
        for effect in action.effects:
            yield from _inside(And((effect.requires, *effect.provides)), {**outer, **_scoped(effect.variables)})


def _inside(formula: Formula, scope: TypeScope) -> Iterator[tuple[Atom, TypeScope]]:
    parts = bottom_up(formula, scope, lambda variable: variable.types[0])
    return ((part, inner) for part, inner in parts if isinstance(part, Atom))


def _scoped(variables: Iterable[Variable]) -> dict[Term, str]:
    return {variable.name: variable.types[0] for variable in variables}
