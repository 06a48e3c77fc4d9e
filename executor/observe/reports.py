"""Read what a handler reports in its result: facts, objects that turned up, and the items of a listing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from executor.events.fluent_values import FluentValue, is_numeric_fluent, parse_fact
from executor.observe.beliefs import Beliefs
from executor.observe.discovery import describe_misfit, find_class_type, name_misfit, place_facts, place_term
from executor.plans.created_objects import Bindings, is_object, name_of, term_of_value
from executor.tools.containment import quote_value
from executor.tools.results import ActionResult
from executor.tools.returned_values import result_of
from planner.errors import InputError, did_you_mean, with_article
from planner.language.declare.atom_syntax import NotationError, read_terms
from planner.language.declare.declared_names import fold_name
from planner.language.declare.marks import Entity, type_names
from planner.lightweight import dataclass, field
from planner.model import OPEN, Atom, DomainModel, Not
from planner.model.domain import ROOT_TYPE, TypeHierarchy, numeric_fluents
from planner.model.object_names import term_of


@dataclass(frozen=True, slots=True)
class Report:
    """Reported `facts` with their values; `strangers` are those about objects that the problem lacks.

    `found` are the types of the new objects that the result names, `entities` the Python values of some of them.
    `contradicted` are the facts that it says both of: that they hold, and that they do not.
    """

    facts: Mapping[Atom, bool] = field(default_factory=dict)
    strangers: Mapping[Atom, bool] = field(default_factory=dict)
    found: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    entities: Mapping[str, Any] = field(default_factory=dict)
    contradicted: tuple[Atom, ...] = ()

    def after_joining(self, beliefs: Beliefs) -> Report:
        """Return the report for `beliefs` that the found objects have joined."""
        known = {fact: holds for fact, holds in self.strangers.items() if not beliefs.describe_stranger(fact)}
        others = {fact: holds for fact, holds in self.strangers.items() if fact not in known}
        return Report({**self.facts, **known}, others, contradicted=self.contradicted)


def read_report(
    result: ActionResult,
    beliefs: Beliefs,
    objects: Bindings,
    lists: Sequence[Atom] = (),
    seen: Collection[Atom] = (),
) -> Report:
    """Read what `result` reports, with the names of objects in the plan.

    `lists` are the patterns that the step lists: all their items are among the reported facts, unless observers find
    the items, as they do for the patterns in `seen`. Raises `InputError` for a literal or an object that cannot be
    reported in this domain, and where nobody names the items.
    """
    if not (result.observed or result.found or lists):
        return NOTHING
    domain = beliefs.simulation.problem.domain
    named = _read_found(result.found, beliefs, objects)
    literals: dict[Atom, bool] = {}
    contradicted: list[Atom] = []
    for literal in result.observed:
        fact, holds = literal_of(literal)
        _check_fact(fact, domain)
        named_fact = objects.renamed(fact)
        contradicted += [named_fact] if literals.get(named_fact, holds) is not holds else []
        literals[named_fact] = holds
    for pattern in lists if result.success else ():
        is_only = len(lists) == 1
        items = _read_listing(pattern, result, literals, named, beliefs, objects=objects, is_only=is_only)
        if items is None and pattern not in seen:
            hint = (
                "return a list of names, [] where there are none" if is_only else "report them as `observed` or `found`"
            )
            raise InputError(f"the handler names no items of {pattern}, and no observer finds them all", hint=hint)
        literals |= items or {}
    types_of = partial(_find_types, beliefs, named)
    literals = place_facts(literals, domain, types_of, objects.name_apart)
    strangers = {fact: holds for fact, holds in literals.items() if beliefs.describe_stranger(fact)}
    facts = {fact: holds for fact, holds in literals.items() if fact not in strangers}
    found = beliefs.find_new_objects([fact for fact, holds in strangers.items() if holds])
    found |= {name: types for name, types in named.items() if not beliefs.types_of(name)}
    listed = result.data if lists and isinstance(result.data, list | tuple | set) else ()
    values = [*(each for group in result.found.values() for each in _list_values(group)), *_flatten(listed)]
    given = {_name_entity(each, beliefs, objects): each for each in values if isinstance(each, Entity)}
    entities = {name: each for name, each in given.items() if name in found or _lacks_value(name, beliefs, objects)}
    found |= {name: beliefs.types_of(name) for name in entities if name not in found}
    found |= {name: _narrow_types(each, found[name], domain) for name, each in entities.items()}
    return Report(facts, strangers, found, entities, tuple([fact for fact in facts if fact in contradicted]))


def _find_types(beliefs: Beliefs, named: Mapping[str, tuple[str, ...]], name: str) -> tuple[str, ...]:
    """Return the types of the object `name`, which is known or among the `named` ones; none for any other."""
    return beliefs.types_of(name) or named.get(name, ())


def _name_entity(value: Entity, beliefs: Beliefs, objects: Bindings) -> str:
    """Return the name in plans of `value`, which is an object of its class."""
    domain, name = beliefs.simulation.problem.domain, objects.plan_name(term_of_value(value))
    kind = find_class_type(value, domain)
    return name if kind is None else place_term(name, (kind,), beliefs.types_of(name), domain, objects.name_apart)


def _narrow_types(value: Entity, types: tuple[str, ...], domain: DomainModel) -> tuple[str, ...]:
    """Return the type of the class of `value` where the domain has it; raises `InputError` where it is no `types`."""
    kind = next((each for each in type_names(type(value)) if each in domain.types), ROOT_TYPE)
    hierarchy = TypeHierarchy(domain.types)
    if kind == ROOT_TYPE or hierarchy.is_a(types, (kind,)):
        return types
    if not hierarchy.is_a((kind,), types):
        found, wanted = with_article(type(value).__name__), with_article(" or ".join(types))
        raise InputError(f"the handler names {value.name!r} as {wanted}, and it is {found}")
    return (kind,)


def _lacks_value(name: str, beliefs: Beliefs, objects: Bindings) -> bool:
    """Return whether the object `name` turned up earlier, and nobody has given a Python value for it."""
    return beliefs.has_joined(name) and isinstance(objects.get(name), str | None)


def _read_found(found: Mapping[str, Any], beliefs: Beliefs, objects: Bindings) -> dict[str, tuple[str, ...]]:
    """Return the objects that a result names, with their types; raises `InputError` for what is no object."""
    domain, named = beliefs.simulation.problem.domain, dict[str, tuple[str, ...]]()
    kinds = {ROOT_TYPE, *domain.types, *(each for types in domain.types.values() for each in types)}
    hierarchy = TypeHierarchy(domain.types)
    for key, group in found.items():
        kind = key if key in kinds else next((each for each in kinds if fold_name(each) == fold_name(key)), None)
        if kind is None:
            hint = did_you_mean(key, kinds) or f"the types are {', '.join(sorted(kinds))}"
            raise InputError(f"the handler found objects of {key!r}, which is no type", hint=hint)
        for value in _list_values(group):
            if not is_object(value):
                hint = "give the names of objects, or objects that have names"
                raise InputError(f"the handler found the {kind} {quote_value(value)}, which has no name", hint=hint)
            known = objects.plan_name(term_of_value(value))
            known = place_term(known, (kind,), _find_types(beliefs, named, known), domain, objects.name_apart)
            types = beliefs.types_of(known)
            if types and not hierarchy.is_a(types, (kind,)):
                name = name_of(value)
                raise InputError(f"the handler found the {kind} {name!r}, and {name!r} is {with_article(types[0])}")
            named[known] = (kind,)
    return named


def _list_values(group: Any) -> list[Any]:
    """Return the values of one or several found objects."""
    if group is None:
        return []
    if isinstance(group, str | Entity) or not isinstance(group, Iterable) or isinstance(group, Mapping):
        return [group]
    return list(group)


def _flatten(rows: Iterable[Any]) -> Iterator[Any]:
    for row in rows:
        yield from row if isinstance(row, list | tuple) else (row,)


def _read_listing(
    pattern: Atom,
    result: ActionResult,
    literals: Mapping[Atom, bool],
    named: Mapping[str, tuple[str, ...]],
    beliefs: Beliefs,
    *,
    objects: Bindings,
    is_only: bool,
) -> dict[Atom, bool] | None:
    """Return the values of the facts of a listed `pattern`; None where the result does not say what its items are.

    A returned list has the items, if the step lists nothing else. Otherwise reported facts and found objects are the
    items. Believed facts that are not among the items are false.
    """
    domain = beliefs.simulation.problem.domain
    opened = [at for at, arg in enumerate(pattern.args) if arg == OPEN]
    items = {fact for fact, holds in literals.items() if holds and pattern.matches(fact)}
    lists_data = is_only and isinstance(result.data, list | tuple | set)
    if lists_data:
        filled = {_fill(pattern, opened, row, objects, domain): True for row in result.data}
        items |= place_facts(filled, domain, partial(_find_types, beliefs, named), objects.name_apart).keys()
    elif len(opened) == 1 and not items:
        hierarchy, wanted = (
            TypeHierarchy(domain.types),
            domain.predicates[pattern.predicate].parameters[opened[0]].types,
        )
        fitting = [name for name, types in named.items() if hierarchy.is_a(types, wanted)]
        items |= {_fill_places(pattern, opened, [name]) for name in fitting}
    if not (items or lists_data or result.found):
        return None
    open_facts = [fact for fact in beliefs.unknown if pattern.matches(fact)]
    gone = [fact for fact in (*beliefs.matching(pattern), *open_facts) if fact not in items]
    return {**dict.fromkeys(gone, False), **dict.fromkeys(items, True)}


def _fill(pattern: Atom, opened: Sequence[int], row: Any, objects: Bindings, domain: DomainModel) -> Atom:
    """Return the item of `pattern` with the values of `row` in the `opened` places; raises `InputError`."""
    values = list(row) if len(opened) > 1 and isinstance(row, list | tuple) else [row]
    if len(values) != len(opened) or not all(map(is_object, values)):
        wanted = "a name" if len(opened) == 1 else f"{len(opened)} names"
        hint = f"each item is {wanted} for the open places of {pattern}"
        raise InputError(f"the handler lists {quote_value(row)}", hint=hint)
    for value, at in zip(values, opened, strict=True):
        types = domain.predicates[pattern.predicate].parameters[at].types
        misfit = name_misfit(value, types, domain)
        if misfit is not None:
            raise InputError(f"the handler lists {quote_value(value)}: {describe_misfit(misfit, types, domain)}")
    return _fill_places(pattern, opened, map(objects.plan_name, map(term_of_value, values)))


def _fill_places(pattern: Atom, opened: Sequence[int], names: Iterable[str]) -> Atom:
    """Return the item of `pattern` with `names` of the plan in the `opened` places."""
    args = list(pattern.args)
    for at, name in zip(opened, names, strict=True):
        args[at] = name
    return Atom(pattern.predicate, tuple(args))


def _check_fact(fact: Atom, domain: DomainModel) -> None:
    if isinstance(fact, FluentValue):
        _check_value(fact, domain)
        return
    predicate = domain.predicates.get(fact.predicate)
    if predicate is None:
        near = did_you_mean(fact.predicate, domain.predicates)
        hint = f"{near} or " if near else ""
        hint += f"declare it: domain.predicate({fact.predicate!r}, …)"
        raise InputError(f"the handler reports {fact}, and there is no predicate {fact.predicate!r}", hint=hint)
    count = len(predicate.parameters)
    if len(fact.args) != count:
        raise InputError(f"the handler reports {fact}, but {predicate.name} has {count} arguments")
    if fact.predicate in domain.derived:
        hint = "report what it follows from"
        raise InputError(f"the handler reports {fact}, which is derived from other facts", hint=hint)


def _check_value(fact: FluentValue, domain: DomainModel) -> None:
    if not is_numeric_fluent(fact.predicate, domain):
        hint = did_you_mean(fact.predicate, numeric_fluents(domain))
        raise InputError(f"the handler reports {fact}, and {fact.predicate!r} is no numeric fluent", hint=hint)
    count = len(domain.functions[fact.predicate].parameters)
    if len(fact.args) - 1 != count:
        raise InputError(f"the handler reports {fact}, but {fact.predicate} has {count} arguments")


def literal_of(literal: Any) -> tuple[Atom, bool]:
    """Parse a literal, given as a value or as text, to a fact and its value; raises `InputError`."""
    match literal:
        case Atom():
            return read_terms(literal), True
        case Not(Atom() as fact):
            return read_terms(fact), False
        case str():
            text = literal.strip()
            holds = not text.startswith("not ")
            try:
                text = text if holds else text[4:].strip()
                return parse_fact(text), holds
            except NotationError as mistake:
                hint = "; ".join(filter(None, [mistake.hint, _suggest_quotes(text)])) or None
                raise InputError(f"{literal!r} is no fact: {mistake.problem}", hint=hint) from None
        case _:
            hint = "a fact is written at(r1, hall), or not at(r1, hall); a value fuel(r1) = 40"
            raise InputError(f"{literal!r} is no fact", hint=hint)


def _suggest_quotes(text: str) -> str:
    """Return how to write a fact whose arguments may be names that need quotes; an empty text for any other."""
    predicate, _, rest = text.partition("(")
    if not rest.endswith(")") or '"' in rest:
        return ""
    terms = ", ".join(term_of(each.strip()) for each in rest[:-1].split(","))
    return f"names in quotes: {predicate}({terms})" if '"' in terms else ""


NOTHING = Report()


def check_result(returned: Any) -> ActionResult:
    """Convert the value that a handler returned to a result; raises `InputError` for invalid ones and their reports."""
    result = result_of(returned)
    for literal in result.observed:
        literal_of(literal)
    return result
