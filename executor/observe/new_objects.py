"""Find the objects that facts name and a problem lacks."""

from __future__ import annotations

from collections.abc import Iterable

from planner.language.declare.atom_syntax import is_name
from planner.model import Atom, Object, Problem
from planner.model.domain import TypeHierarchy


def find_new_objects(facts: Iterable[Atom], problem: Problem) -> dict[str, Object]:
    """Return the objects in the ground `facts` that `problem` lacks, by name, each with the type of its place.

    An object in several places gets the narrowest of their types. One whose places have unrelated types, whose type
    the place leaves open (several types), or whose name is no name of an object, is left out.
    """
    hierarchy = TypeHierarchy(problem.domain.types)
    known = {each.name for each in problem.all_objects}
    found: dict[str, tuple[str, ...] | None] = {}
    for fact in facts:
        predicate = problem.domain.predicates[fact.predicate]
        for name, place in zip(fact.args, predicate.parameters, strict=True):
            if name in known or not is_name(name):
                continue
            types = found.get(name, place.types)
            if types is None or hierarchy.is_a(types, place.types):
                found[name] = types
            else:
                found[name] = place.types if hierarchy.is_a(place.types, types) else None
    return {name: Object(name, types) for name, types in found.items() if types is not None and len(types) == 1}
