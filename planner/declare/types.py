"""The planning types of a domain: names, parents, and the Python classes that stand for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from planner.declare.entity import Entity, parent_classes
from planner.declare.marks import TypeLike
from planner.declare.places import Place
from planner.declare.syntax import cannot_name, is_name, shown
from planner.declare.values import mapping
from planner.errors import InputError, did_you_mean
from planner.model import ROOT_TYPE, TypeHierarchy, Variable

DEEPEST: Final = 200


class Types:
    """The types declared so far."""

    def __init__(self) -> None:
        self.parents: dict[str, tuple[str, ...]] = {}
        self._places: dict[str, Place] = {}
        self._classes: dict[str, type[Entity]] = {}
        self._hierarchy: TypeHierarchy | None = None
        self._overlaps: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = {}

    @classmethod
    def of(cls, parents: Mapping[str, tuple[str, ...]]) -> Types:
        """Return the types of a finished domain."""
        found = cls()
        found.parents.update(parents)
        return found

    @property
    def hierarchy(self) -> TypeHierarchy:
        """The types as a table, made anew when a type was added."""
        if self._hierarchy is None:
            self._hierarchy = TypeHierarchy(self.parents)
        return self._hierarchy

    def __contains__(self, name: str) -> bool:
        return name == ROOT_TYPE or name in self.parents

    @property
    def classes(self) -> Mapping[str, type[Entity]]:
        """The Python classes declared so far, by the names of their types."""
        return self._classes

    def declare(self, types: Mapping[str, tuple[str, ...]], place: Place) -> None:
        """Add `types` (name → parents), which may refer to each other in any order."""
        for name in types:
            self._check_name(name, place)
        known = {ROOT_TYPE, *self.parents, *types}
        for name, parents in types.items():
            for parent in parents:
                if parent not in known:
                    raise place.within(name).error(
                        f"type {name!r} is below the unknown type {parent!r}", did_you_mean(parent, known)
                    )
        _check_order({**self.parents, **types}, place)
        self.parents.update(types)
        self._places.update({name: place.within(name) for name in types})
        self._hierarchy = None
        self._overlaps.clear()

    def _check_name(self, name: str, place: Place) -> None:
        if not is_name(name):
            raise place.within(name).error(*cannot_name(name, "a type"))
        if name == ROOT_TYPE:
            raise place.within(name).error("the type 'object' is above all others and is not declared")
        if name in self.parents:
            raise place.within(name).error(f"type {name!r} is already declared at {self._places[name].location}")

    def register(self, cls: type[Entity], place: Place) -> str:
        """Return the type that `cls` stands for; declare it and its bases where they are new."""
        if cls is Entity:
            return ROOT_TYPE
        name = cls.type_name
        known = self._classes.get(name)
        if known is not None and known is not cls:
            raise place.error(
                f"two classes are named {name!r}: {known.__module__}.{known.__qualname__} and "
                f"{cls.__module__}.{cls.__qualname__}",
                "name one of them otherwise: class …(Entity, type_name=…)",
            )
        if known is None:
            parents = tuple([self.register(base, place) for base in parent_classes(cls)])
            if name not in self.parents:
                self.declare({name: parents}, place)
            self._classes[name] = cls
        return name

    def resolve(self, value: TypeLike, place: Place) -> tuple[str, ...]:
        """Return the names of the types that `value` gives; an error for one that is not declared."""
        if isinstance(value, str):
            if value in self:
                return (value,)
            names = tuple([part.strip() for part in value.split("|")])
            for name in names:
                if name not in self:
                    raise self.unknown(name, place)
            return names
        if isinstance(value, type) and issubclass(value, Entity):
            return (self.register(value, place),)
        if isinstance(value, Iterable):
            found = tuple([name for part in value for name in self.resolve(part, place)])
            if found:
                return found
        raise place.error(
            f"{shown(value)} is no planning type", "give the name of a type, or a class derived from Entity"
        )

    def variables(self, value: Any, what: str, place: Place) -> tuple[Variable, ...]:
        """Return typed variables from a mapping: name, with or without `?`, → type."""
        found = []
        for key, type_ in mapping(value, what, place).items():
            name = key.removeprefix("?")
            if not is_name(name):
                raise place.within(key).error(*cannot_name(name, "a parameter"))
            found.append(Variable(f"?{name}", self.resolve(type_, place.within(key))))
        return tuple(found)

    def unknown(self, name: str, place: Place) -> InputError:
        """Return the error for a type that is not declared."""
        near = did_you_mean(name, self.parents)
        return place.error(f"unknown type {name!r}", near or f"declare it: domain.type({name!r})")

    def joined(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the lowest types above all of `names` that are not `object`; unrelated ones stay side by side."""
        found: list[str] = []
        for name in dict.fromkeys(names):
            current = name
            for other in tuple(found):
                common = self._lowest_common(current, other)
                if common is not None:
                    found.remove(other)
                    current = common
            found.append(current)
        return (ROOT_TYPE,) if ROOT_TYPE in found else tuple(found)

    def _lowest_common(self, one: str, other: str) -> str | None:
        above_one, above_other = self.hierarchy.ancestors(one), self.hierarchy.ancestors(other)
        if other in above_one:
            return other
        if one in above_other:
            return one
        common = (above_one & above_other) - {ROOT_TYPE}
        return max(sorted(common), key=lambda name: len(self.hierarchy.ancestors(name)), default=None)

    def overlap(self, some: tuple[str, ...], others: tuple[str, ...]) -> bool:
        """Return whether something may belong to both: one type is above the other, or a declared one below both."""
        known = self._overlaps.get((some, others))
        if known is None:
            known = self._overlaps[some, others] = self._overlap(some, others)
        return known

    def _overlap(self, some: tuple[str, ...], others: tuple[str, ...]) -> bool:
        is_a = self.hierarchy.is_a
        if is_a(some, others) or is_a(others, some):
            return True
        return any(is_a((name,), some) and is_a((name,), others) for name in self.parents)


def _check_order(parents: Mapping[str, tuple[str, ...]], place: Place) -> None:
    """Refuse types below themselves, and chains that no hand has written."""
    depth = {ROOT_TYPE: 0}
    try:
        for name in TopologicalSorter(parents).static_order():
            depth[name] = 1 + max((depth[parent] for parent in parents.get(name, ())), default=0)
            if depth[name] > DEEPEST:
                raise place.within(name).error(f"type {name!r} is nested deeper than {DEEPEST} levels")
    except CycleError as error:
        name = error.args[1][0]
        raise place.within(name).error(f"type {name!r} is below itself") from None
