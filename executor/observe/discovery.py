"""Objects that turn up: find the objects that facts name and that the problem does not have yet.

A new object has the type of the place in which it is named. A fact that names a known object in a place of another type
names nothing new: it is a mistake, or the world is not as the domain says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from executor.events.fluent_values import places_of
from planner.language.declare.atom_syntax import is_name
from planner.model import Atom, DomainModel
from planner.model.domain import TypeHierarchy

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
            if not known:
                named[arg] = parameter.types
            elif hierarchy.is_a(known, parameter.types):
                continue
            elif hierarchy.is_a(parameter.types, known) and (arg in found or arg in joined):
                named[arg] = parameter.types
            else:
                named.clear()
                break
        if all(map(is_name, named)):
            found |= named
    return found
