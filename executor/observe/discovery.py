"""Objects that turn up: find the objects that facts name and that the problem does not have yet.

A new object has the type of the place in which it is named. A name that is known of an object which can have no such
type is the name of another object, too: an order may be called like a customer. A fact that names a known object in a
place of a narrower type names nothing new: it is a mistake, or the world is not as the domain says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from executor.events.fluent_values import places_of
from executor.plans.created_objects import declared_types, name_of
from planner.errors import with_article
from planner.language.declare.marks import Entity, type_names
from planner.lightweight import replace
from planner.model import Atom, DomainModel
from planner.model.domain import TypeHierarchy
from planner.model.formulas import OPEN, is_variable
from planner.model.object_names import object_name, qualified_term, term_type

Types = tuple[str, ...]


def find_new_objects(
    facts: Iterable[Atom], domain: DomainModel, types_of: Callable[[str], Types], joined: Collection[str] = ()
) -> dict[str, Types]:
    """Return the objects in `facts` that are not known yet, with their types; of those in `joined`, a narrower type.

    `types_of` returns the types of a known object, and none for any other. An object that several places name has the
    narrowest of their types. Facts that misuse known objects are skipped.
    """
    hierarchy, found = TypeHierarchy(domain.types), dict[str, Types]()
    for fact in facts:
        named = dict[str, Types]()
        for arg, parameter in places_of(fact, domain):
            known = named.get(arg) or found.get(arg) or types_of(arg)
            if not known and not describe_misfit(arg, parameter.types, domain):
                named[arg] = parameter.types
            elif hierarchy.is_a(known, parameter.types):
                continue
            elif hierarchy.is_a(parameter.types, known) and (arg in found or arg in joined):
                named[arg] = parameter.types
            else:
                named.clear()
                break
        found |= {name: types for name, types in named.items() if name != OPEN and not is_variable(name)}
    return found


def name_apart(name: str, types: Types) -> str:
    """Return the term of an object of `types` that is called like another object, `name`."""
    return qualified_term(object_name(name), types[0])


def place_facts(
    facts: Mapping[Atom, bool],
    domain: DomainModel,
    types_of: Callable[[str], Types],
    apart: Callable[[str, Types], str] = name_apart,
) -> dict[Atom, bool]:
    """Return `facts`, in which a name means the object whose type fits its place; `types_of` as for new objects.

    `apart` returns the term of the object that is called like one which can have no such type.
    """
    placed, own = dict[Atom, bool](), dict[str, Types]()
    for fact, holds in facts.items():
        if fact.predicate not in domain.predicates and fact.predicate not in domain.functions:
            placed[fact] = holds
            continue
        args = list(fact.args)
        for at, (arg, parameter) in enumerate(places_of(fact, domain)):
            args[at] = place_term(arg, parameter.types, types_of(arg) or own.get(arg, ()), domain, apart)
            own.setdefault(args[at], parameter.types)
        placed[fact if args == [*fact.args] else replace(fact, args=tuple(args))] = holds
    return placed


def place_term(
    term: str, types: Types, known: Types, domain: DomainModel, apart: Callable[[str, Types], str] = name_apart
) -> str:
    """Return the term of what `term` names in a place of `types`; an object with this term has the types `known`."""
    if not known or len(types) != 1 or known == types or declared_types(domain).overlap(known, types):
        return term
    return apart(term, types)


def name_misfit(value: object, types: Types, domain: DomainModel) -> str | None:
    """Return the term, with its type, of an entity whose class has no object of `types`; None for any other value."""
    kind = find_class_type(value, domain)
    if kind is None or declared_types(domain).overlap((kind,), types):
        return None
    return qualified_term(name_of(value), kind)


def describe_misfit(term: str, types: Types, domain: DomainModel) -> str:
    """Describe an unknown object whose `term` has a type that is not among `types`; an empty text if it fits."""
    kind = term_type(term)
    if kind is None or kind not in domain.types or declared_types(domain).overlap((kind,), types):
        return ""
    return f"{object_name(term)!r} is {with_article(kind)}, not {with_article(' or '.join(types))}"


def find_class_type(value: object, domain: DomainModel) -> str | None:
    """Return the type in `domain` of the class of `value`, or of the nearest class above it, if there is one."""
    names = type_names(type(value)) if isinstance(value, Entity) else ()
    return next((each for each in names if each in domain.types), None)
