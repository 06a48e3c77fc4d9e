"""Universal deletes that stand for one fact: `modifies at(robot, _)` in an action that requires `at(robot, origin)`.

Written out, such an action deletes as many facts as there are rooms, and all actions together their square. Where at
most one `at(robot, …)` holds at a time, the required fact is the only one that there is to delete. That it is so is
proved on the schemas, by induction (Edelkamp and Helmert 1999; Helmert 2009): the initial state has at most one fact
of each item, and whatever adds a fact of an item takes away the one that holds. What is not proved stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from planner.model import ROOT_TYPE, Atom, Problem, Term, is_variable
from planner.normalise.conditions import Conjunction
from planner.normalise.schemas import NormalProblem, Schema, SchemaEffect
from planner.records import dataclass, replace

ALWAYS = Conjunction()


@dataclass(frozen=True, slots=True)
class _Items:
    """The facts of `predicate` that agree at the positions `key` are the values of one item."""

    predicate: str
    key: tuple[int, ...]

    def of(self, atom: Atom) -> tuple[Term, ...]:
        """Return the item that `atom`, of this predicate, is a value of."""
        return tuple([atom.args[place] for place in self.key])


def narrowed(normal: NormalProblem) -> NormalProblem:
    """Return `normal` with universal deletes replaced by the single fact that they can meet, where that is proved."""
    blankets = {number: found for number, s in enumerate(normal.schemas) if (found := _blankets(s, normal.problem))}
    if not blankets:
        return normal
    adders: dict[str, set[int]] = defaultdict(set)
    for number, schema in enumerate(normal.schemas):
        for predicate in {atom.predicate for atom, _ in _adds(schema)}:
            adders[predicate].add(number)
    proved = {
        items: not _starts_with_two(items, normal.problem)
        and all(_keeps_single(items, normal.schemas[n], blankets.get(n, {})) for n in adders[items.predicate])
        for items in dict.fromkeys([items for found in blankets.values() for items in found.values()])
    }
    schemas = list(normal.schemas)
    for number, found in blankets.items():
        schemas[number] = _narrow(schemas[number], {place: items for place, items in found.items() if proved[items]})
    return replace(normal, schemas=tuple(schemas))


def _blankets(schema: Schema, problem: Problem) -> dict[int, _Items]:
    """Return the places of the effects that delete all values of one item, with the kind of item."""
    found = {}
    for place, effect in enumerate(schema.effects):
        if effect.variables and effect.condition == ALWAYS and not effect.adds and len(effect.deletes) == 1:
            items = _covered(effect, problem)
            if items is not None:
                found[place] = items
    return found


def _covered(effect: SchemaEffect, problem: Problem) -> _Items | None:
    (atom,) = effect.deletes
    types = {variable.name: set(variable.types) for variable in effect.variables}
    parameters = problem.domain.predicates[atom.predicate].parameters
    open_places = [place for place, arg in enumerate(atom.args) if arg in types]
    if len({atom.args[place] for place in open_places}) < max(len(open_places), len(types)):
        return None
    for place in open_places:
        kinds = types[atom.args[place]]
        if ROOT_TYPE not in kinds and not kinds.issuperset(parameters[place].types):
            return None
    return _Items(atom.predicate, tuple([place for place in range(len(atom.args)) if place not in open_places]))


def _starts_with_two(items: _Items, problem: Problem) -> bool:
    held = {fact for fact in problem.initial if fact.predicate == items.predicate}
    return len({items.of(fact) for fact in held}) < len(held)


def _adds(schema: Schema) -> Iterator[tuple[Atom, SchemaEffect | None]]:
    yield from ((atom, None) for atom in schema.adds)
    yield from ((atom, effect) for effect in schema.effects for atom in effect.adds)


def _keeps_single(items: _Items, schema: Schema, blankets: dict[int, _Items]) -> bool:
    """Whether no item has two values after an instance of `schema`, if none had before it."""
    adds = [(atom, effect) for atom, effect in _adds(schema) if atom.predicate == items.predicate]
    if any(effect is not None and effect.variables for _, effect in adds):
        return False
    given = dict.fromkeys(atom for atom, _ in adds)
    cleared = {items.of(schema.effects[place].deletes[0]) for place, kind in blankets.items() if kind == items}
    cleared.update(items.of(atom) for atom in _swapped(schema) if atom.predicate == items.predicate)
    held = set(schema.condition.atoms)
    return all(items.of(atom) in cleared or atom in held for atom in given) and all(
        _differ(items.of(one), items.of(other), schema) for one in given for other in given if one is not other
    )


def _swapped(schema: Schema) -> Iterator[Atom]:
    return (atom for atom in schema.deletes if atom in schema.condition.atoms)


def _differ(one: tuple[Term, ...], other: tuple[Term, ...], schema: Schema) -> bool:
    """Whether the two items are never the same."""
    apart = {frozenset((test.left, test.right)) for test in schema.condition.unequal}
    return any(
        frozenset((mine, theirs)) in apart or (mine != theirs and not is_variable(mine) and not is_variable(theirs))
        for mine, theirs in zip(one, other, strict=True)
    )


def _narrow(schema: Schema, blankets: dict[int, _Items]) -> Schema:
    """Replace the effects at `blankets` by deletes of the required facts that they cover, where there are such."""
    deletes = dict.fromkeys(schema.deletes)
    replaced = set()
    for place, items in blankets.items():
        pattern = schema.effects[place].deletes[0]
        for atom in schema.condition.atoms:
            if atom.predicate == items.predicate and items.of(atom) == items.of(pattern):
                deletes[atom] = None
                replaced.add(place)
    effects = tuple([effect for place, effect in enumerate(schema.effects) if place not in replaced])
    return replace(schema, deletes=tuple(deletes), effects=effects)
