"""Objects that turn up: find the objects that facts name and that the problem does not have yet.

A new object has the type of the place in which it is named. A fact that names a known object in a place of another type
names nothing new: it is a mistake, or the world is not as the domain says.
"""

from __future__ import annotations

from collections.abc import Iterable

from executor.observe.beliefs import Beliefs
from planner.language.declare.atom_syntax import is_name
from planner.model import Atom
from planner.model.domain import TypeHierarchy


def find_new_objects(facts: Iterable[Atom], beliefs: Beliefs) -> dict[str, tuple[str, ...]]:
    """Return the objects in `facts` that `beliefs` lack, with their types; of an earlier find, a narrower type.

    An object that several places name has the narrowest of their types. Facts that misuse known objects are skipped.
    """
    domain = beliefs.simulation.problem.domain
    hierarchy, found = TypeHierarchy(domain.types), dict[str, tuple[str, ...]]()
    for fact in facts:
        named = dict[str, tuple[str, ...]]()
        for arg, parameter in zip(fact.args, domain.predicates[fact.predicate].parameters, strict=True):
            known = named.get(arg) or found.get(arg) or beliefs.types_of(arg)
            if not known:
                named[arg] = parameter.types
            elif hierarchy.is_a(known, parameter.types):
                continue
            elif hierarchy.is_a(parameter.types, known) and (arg in found or beliefs.has_joined(arg)):
                named[arg] = parameter.types
            else:
                named.clear()
                break
        if all(map(is_name, named)):
            found |= named
    return found
