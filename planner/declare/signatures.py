"""What predicates and functions take: as declared, or as their uses agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from planner.declare.places import Place
from planner.declare.scope import Use
from planner.declare.types import Types
from planner.declare.words import count, either, plain
from planner.model import ROOT_TYPE, Variable

Kind = TypeVar("Kind")


class Signatures(Generic[Kind]):
    """The parameters of all predicates (or all functions) of a domain; `make` gives one with its parameters."""

    def __init__(self, kind: str, make: Callable[[str, tuple[Variable, ...]], Kind]) -> None:
        self.kind = kind
        self._make = make
        self._declared: dict[str, tuple[tuple[Variable, ...], Place]] = {}
        self._arities: dict[str, tuple[int, Place]] = {}
        self._uses: dict[str, dict[tuple[tuple[str, ...] | None, ...], Use]] = {}
        self._inferred: dict[str, Kind] = {}
        self._changed: dict[str, None] = {}
        """The names that were declared or used in a new way since `inferred` was called."""
        self._types = 0
        """How many types there were then."""

    def __contains__(self, name: str) -> bool:
        return name in self._arities

    def __iter__(self) -> Iterator[str]:
        return iter(self._arities)

    def declare(self, name: str, parameters: tuple[Variable, ...], place: Place) -> None:
        """Add a declared signature; an error where it was declared before, or used with another arity."""
        if name in self._declared:
            raise place.error(f"{self.kind} {name!r} is already declared at {self._declared[name][1].location}")
        known = self._arities.get(name)
        if known is not None and known[0] != len(parameters):
            raise place.error(
                f"{self.kind} {name!r} is declared with {count(len(parameters))}, "
                f"but used with {known[0]} at {known[1].location}"
            )
        self._declared[name] = (parameters, place)
        self._inferred.pop(name, None)
        self._changed[name] = None
        self._arities[name] = (len(parameters), place)

    def check_arities(self, uses: Iterable[Use]) -> None:
        """Raise an error for the first of `uses` whose number of arguments is not what is known."""
        new: dict[str, tuple[int, Place]] = {}
        for use in uses:
            name, arity = use.atom.predicate, len(use.atom.args)
            known = self._arities.get(name) or new.setdefault(name, (arity, use.place))
            if known[0] != arity:
                verb = "declared" if name in self._declared else "used"
                raise use.place.error(
                    f"{plain(use.atom)} gives {self.kind} {name!r} {count(arity)}, "
                    f"but it is {verb} with {known[0]} at {known[1].location}"
                )

    def note(self, uses: Iterable[Use]) -> None:
        """Remember `uses`, which `check_arities` has passed."""
        for use in uses:
            name = use.atom.predicate
            if name not in self._arities:
                self._arities[name] = (len(use.atom.args), use.place)
            known = self._uses.get(name)
            if known is None:
                self._uses[name] = {use.types: use}
                if name not in self._declared:
                    self._inferred[name] = self._make(name, ())
                if use.types:
                    self._changed[name] = None
            elif use.types not in known:
                known[use.types] = use
                self._changed[name] = None

    def inferred(self, types: Types) -> Mapping[str, Kind]:
        """Return those that are used and not declared; an error where a use fits no declaration.

        Only what was declared or used in a new way since the last time is looked at, unless there are more types now.
        """
        if len(types.parents) > self._types:
            self._changed.update(dict.fromkeys(self._uses))
        for name in self._changed:
            uses = self._uses.get(name, {})
            if name in self._declared:
                self._check_types(name, uses.values(), types)
            else:
                self._inferred[name] = self._make(name, _inferred(list(uses), types))
        self._changed.clear()
        self._types = len(types.parents)
        return self._inferred

    def _check_types(self, name: str, uses: Iterable[Use], types: Types) -> None:
        parameters, place = self._declared[name]
        for use in uses:
            for number, (given, parameter) in enumerate(zip(use.types, parameters, strict=True)):
                if given is not None and not types.overlap(given, parameter.types):
                    raise use.place.error(
                        f"argument {number + 1} of {plain(use.atom)} is of type {either(given)}, "
                        f"but {self.kind} {name!r} takes {either(parameter.types)}, declared at {place.location}"
                    )


def _inferred(uses: Sequence[tuple[tuple[str, ...] | None, ...]], types: Types) -> tuple[Variable, ...]:
    columns = [
        types.joined([name for names in column if names is not None for name in names]) or (ROOT_TYPE,)
        for column in zip(*uses, strict=True)
    ]
    return default_parameters(columns)


def default_parameters(types: Sequence[tuple[str, ...]]) -> tuple[Variable, ...]:
    """Return parameters named after their types, numbered where a type occurs twice: `?robot ?room1 ?room2`."""
    bases = [names[0].lower() for names in types]
    taken: set[str] = set()
    found = []
    for base, names in zip(bases, types, strict=True):
        number = 1 if bases.count(base) > 1 else 0
        while f"?{base}{number or ''}" in taken:
            number += 1
        taken.add(f"?{base}{number or ''}")
        found.append(Variable(f"?{base}{number or ''}", names))
    return tuple(found)
