"""Read the condition and the goal of a standing goal, whose variables stand for objects that turn up.

A name that is no object of the problem is a variable, with or without `?`. Its type follows from its places. A name in
quotes is always an object.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from executor.observe.condition_facts import find_predicates
from executor.tools.containment import quote_value
from planner.errors import InputError, did_you_mean
from planner.language.declare import Domain, Entity
from planner.language.declare.condition_reader import Conditions, read_item
from planner.language.declare.declared_names import Scope
from planner.language.declare.fields import Place, find_caller
from planner.lightweight import dataclass, replace
from planner.model import TRUE, Atom, Equals, Exists, Forall, Formula, Not, Problem
from planner.model.domain import DomainModel, Predicate, TypeHierarchy
from planner.model.formulas import (
    Variable,
    atoms_in,
    children,
    conjunction,
    free_variables,
    is_variable,
    substitute,
    walk,
)
from planner.model.object_names import protect_quoted

MISTAKABLE: Final = 3
"""Least length of a variable's name at which its likeness to an object's name counts as a misspelling."""
NUMERIC: Final = re.compile(r"[<>]|[^=!]==\s*[\d.]+\s*$")


@dataclass(frozen=True, slots=True)
class GoalPattern:
    """A `goal` for all values of `variables` for which `condition` holds."""

    variables: tuple[Variable, ...]
    condition: Formula
    goal: Formula
    predicates: frozenset[str] = frozenset()
    """The predicates that condition and goal depend on, through axioms, too."""
    is_local: bool = False
    """Whether a fact bears only on the objects that it names: no quantifier, no derived predicate."""

    def bind(self, objects: tuple[str, ...]) -> Mapping[str, str]:
        """Return `objects` by the variables that they stand for."""
        return {each.name: name for each, name in zip(self.variables, objects, strict=True)}

    def goal_for(self, objects: tuple[str, ...]) -> Formula:
        """Return the ground goal for `objects`."""
        return substitute(self.goal, self.bind(objects))

    def condition_for(self, objects: tuple[str, ...]) -> Formula:
        """Return the ground condition for `objects`."""
        return substitute(self.condition, self.bind(objects))


def read_pattern(
    problem: Problem, condition: Any, goal: Any, *, types: Mapping[str, tuple[str, ...]] | None = None
) -> GoalPattern:
    """Read a condition and a goal: atoms as texts, lists of them, PDDL expressions, or formulas.

    `types` are the types of variables that a Python condition has as parameters. A goal may only have variables of the
    condition; without a condition, it may have its own. Raises `InputError` for the first mistake.
    """
    place = find_caller()
    try:
        stated, wanted = _read_parts(condition, place), _read_parts(goal, place)
        found = _infer_types([*stated, *wanted], problem) | {f"?{name}": each for name, each in (types or {}).items()}
        named = {*_names_in(stated), *(f"?{name}" for name in types or ())}
        if stated or types:
            _check_bound(_names_in(wanted), named, problem)
        _check_spelling(found, problem)
        variables = tuple([Variable(name, each) for name, each in found.items()])
        holding, aim = (_resolve(each, variables, problem, place) for each in (stated, wanted))
    except InputError as error:
        raise error.without_place() from None
    if aim == TRUE:
        raise InputError("there is no goal to achieve", hint="such as achieve='handled(o)'")
    used = free_variables(holding) | free_variables(aim) | {f"?{name}" for name in types or ()}
    kept, parts = tuple([each for each in variables if each.name in used]), [holding, aim]
    return GoalPattern(kept, holding, aim, find_predicates(parts, problem.domain), _is_local(parts, problem.domain))


def _is_local(parts: list[Formula], domain: DomainModel) -> bool:
    derived = domain.derived
    return not any(
        isinstance(each, Forall | Exists) or (isinstance(each, Atom) and each.predicate in derived)
        for part in parts
        for each in walk(part)
    )


def _read_parts(value: Any, place: Place) -> list[tuple[Formula, bool]]:
    """Parse the parts of a condition; each with whether names without `?` in it may be variables."""
    if isinstance(value, Mapping):
        hint = "give what has to hold: an atom, a list of atoms, or a PDDL expression"
        raise InputError("a standing goal has no soft goals", hint=hint)
    items = [] if value is None else list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    for each in items:
        if isinstance(each, str) and not each.lstrip().startswith("(") and NUMERIC.search(protect_quoted(each)[0]):
            hint = "give a function that returns the number: agent.maintain(stock, low=5, restore=…)"
            raise InputError(f"{quote_value(each)} compares numbers, and facts have none", hint=hint)
    return [read_item(each, place) for each in items]


def _terms_in(part: Formula, bare: bool) -> Iterator[str]:
    """Yield the free terms of a parsed formula that may be variables, each with `?`."""
    match part:
        case Atom(_, args):
            terms: tuple[str, ...] = args
        case Equals(left, right):
            terms = (left, right)
        case Forall(variables, inner) | Exists(variables, inner):
            hidden = {each.name for each in variables}
            yield from (each for each in _terms_in(inner, bare) if each not in hidden)
            return
        case _:
            for each in children(part):
                yield from _terms_in(each, bare)
            return
    for term in terms:
        if is_variable(term):
            yield term
        elif bare and term != "_" and not term.endswith('"'):
            yield f"?{term}"


def _names_in(parts: list[tuple[Formula, bool]]) -> set[str]:
    return {name for part, bare in parts for name in _terms_in(part, bare)}


def find_predicate(atom: Atom, domain: DomainModel) -> Predicate:
    """Return the predicate of `atom`; raises `InputError` if there is none."""
    predicate = domain.predicates.get(atom.predicate)
    if predicate is None:
        near = did_you_mean(atom.predicate, domain.predicates)
        raise InputError(f"there is no predicate {atom.predicate!r} in domain {domain.name!r}", hint=near)
    return predicate


def check_arguments(atom: Atom, predicate: Predicate) -> None:
    """Raise `InputError` if `atom` has more or fewer arguments than its `predicate`."""
    wanted = len(predicate.parameters)
    if len(atom.args) != wanted:
        raise InputError(f"{atom} has {len(atom.args)} arguments, but {predicate.name} has {wanted}")


def _infer_types(parts: list[tuple[Formula, bool]], problem: Problem) -> dict[str, tuple[str, ...]]:
    """Return the narrowest type of the places of each variable, in their order; raises `InputError` for a clash."""
    domain, hierarchy = problem.domain, TypeHierarchy(problem.domain.types)
    objects = {f"?{each.name}" for each in problem.all_objects}
    found: dict[str, tuple[str, ...]] = {}
    for part, bare in parts:
        free = list(dict.fromkeys(_terms_in(part, bare)))
        for name in free:
            if name in objects and bare:
                continue
            for atom in atoms_in(part):
                predicate = find_predicate(atom, domain)
                check_arguments(atom, predicate)
                for arg, place in zip(atom.args, predicate.parameters, strict=True):
                    if arg not in (name, name.removeprefix("?") if bare else name):
                        continue
                    types = found.get(name, place.types)
                    if not (hierarchy.is_a(types, place.types) or hierarchy.is_a(place.types, types)):
                        clash = f"{' or '.join(types)} in one place and {' or '.join(place.types)} in another"
                        raise InputError(f"the variable {name} is {clash}")
                    found[name] = types if hierarchy.is_a(types, place.types) else place.types
            found.setdefault(name, ("object",))
    return found


def _check_bound(wanted: set[str], named: set[str], problem: Problem) -> None:
    objects = {f"?{each.name}" for each in problem.all_objects}
    for name in sorted(wanted - named - objects):
        plain = name.removeprefix("?")
        near = did_you_mean(plain, [each.removeprefix("?") for each in {*named, *objects}])
        hint = near or f"the condition has {', '.join(sorted(named - objects)) or 'no variables'}"
        raise InputError(f"{plain!r} in the goal is neither an object nor a variable of the condition", hint=hint)


def _check_spelling(variables: Mapping[str, Any], problem: Problem) -> None:
    for name in variables:
        plain = name.removeprefix("?")
        near = did_you_mean(plain, [each.name for each in problem.all_objects], cutoff=0.8)
        if near is not None and len(plain) >= MISTAKABLE:
            raise InputError(f"there is no object {plain!r}; {near}", hint="rename it if it is a variable")


def _resolve(
    parts: list[tuple[Formula, bool]], variables: tuple[Variable, ...], problem: Problem, place: Place
) -> Formula:
    """Return the conjunction of `parts`, with its names looked up and its predicates checked by the domain."""
    if not parts:
        return TRUE
    objects = {each.name: each for each in problem.all_objects}
    scope = Scope("the standing goal", {each.name: each.types for each in variables}, objects)
    resolved = [Conditions(scope, problem.domain.types, exact=not bare).formula(part, place) for part, bare in parts]
    found = conjunction(resolved)
    free = tuple([each for each in variables if each.name in free_variables(found)])
    named = _terms_of(found)
    Domain.of(problem.domain).problem(  # checks predicates and types
        problem.name,
        objects=[each for each in problem.objects if each.name in named],
        goal=[Exists(free, found) if free else found],
    )
    return found


def _terms_of(formula: Formula) -> set[str]:
    """Return all terms of `formula`."""
    equals = {term for each in walk(formula) if isinstance(each, Equals) for term in (each.left, each.right)}
    return equals | {arg for atom in atoms_in(formula) for arg in atom.args}


def negate(pattern: GoalPattern) -> GoalPattern:
    """Return the pattern with its condition negated."""
    return replace(pattern, condition=Not(pattern.condition))


def read_parameters(function: Callable[..., Any], problem: Problem) -> dict[str, tuple[str, ...]]:
    """Return the planning types of the parameters of a Python condition; raises `InputError` for others."""
    what = getattr(function, "__name__", quote_value(function))
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise InputError(f"nobody can say which parameters the condition {what} has") from None
    found: dict[str, tuple[str, ...]] = {}
    for name, each in parameters.items():
        kind = _evaluate(each.annotation, function, problem.domain)
        named = kind.type_name if isinstance(kind, type) and issubclass(kind, Entity) else kind
        if not isinstance(named, str) or named not in problem.domain.types:
            hint = "annotate it with a class derived from Entity, or the name of a type"
            raise InputError(f"the parameter {name!r} of the condition {what} has no planning type", hint=hint)
        found[name] = (named,)
    return found


def _evaluate(annotation: Any, function: Callable[..., Any], domain: DomainModel) -> Any:
    """Return what an annotation means; a text may be the name of a type, or of a class."""
    if not isinstance(annotation, str) or annotation in domain.types:
        return annotation
    named = getattr(function, "__globals__", {}).get(annotation.strip("'\""))
    return annotation.strip("'\"") if named is None else named
