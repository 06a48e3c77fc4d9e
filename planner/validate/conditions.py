"""Formulas made ready for evaluation: negations moved to the leaves, every quantifier's variables renamed apart.

    Condition = Lookup | Same | All | Either | Some | Never

`Never(x, c)` says that no x satisfies c: it stands for `not exists` and, with c negated, for `forall`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from planner.model import And, Atom, Equals, Exists, Forall, Formula, Imply, Not, Or, Problem, TypeHierarchy, Variable
from planner.model.atoms import is_variable
from planner.records import dataclass

Objects = dict[str, None]
"""An ordered set of object names."""

Domains = dict[str, Objects]
"""What each variable ranges over."""

Binding = dict[str, str]
"""What each variable stands for."""


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The fact `predicate(args…)` is as `positive` says."""

    predicate: str
    args: tuple[str, ...]
    positive: bool
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Whether both terms name one object is as `positive` says."""

    left: str
    right: str
    positive: bool
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class All:
    """All parts hold."""

    parts: tuple[Condition, ...]
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """At least one part holds."""

    parts: tuple[Condition, ...]
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """The part holds for some objects out of `domains`."""

    domains: Domains
    part: Condition
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Never:
    """The part holds for no objects out of `domains`."""

    domains: Domains
    part: Condition
    free: frozenset[str]


Condition = Lookup | Same | All | Either | Some | Never


class Universe:
    """The objects of a problem by type."""

    def __init__(self, problem: Problem) -> None:
        self._types = TypeHierarchy(problem.domain.types)
        self._objects = {item.name: item for item in problem.all_objects}
        by_type = self._types.objects_by_type(problem.all_objects)
        self._by_type = {name: dict.fromkeys(names) for name, names in by_type.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._objects

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def types_of(self, name: str) -> tuple[str, ...]:
        """Return the declared types of the object `name`."""
        return self._objects[name].types

    def of_types(self, types: tuple[str, ...]) -> Objects:
        """Return the objects that belong to any of `types`; not to be changed."""
        if len(types) == 1:
            return self._by_type.get(types[0], {})
        return {name: None for wanted in types for name in self._by_type.get(wanted, ())}

    def domains(self, variables: tuple[Variable, ...]) -> Domains:
        """Return what each variable ranges over."""
        return {variable.name: self.of_types(variable.types) for variable in variables}


class Compiler:
    """Turns formulas into conditions over one universe."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._numbers = count(1)

    def compile(self, formula: Formula, names: dict[str, str] | None = None, *, positive: bool = True) -> Condition:
        """Return `formula` (negated unless `positive`) as a condition; `names` renames its variables."""
        names = names or {}
        match formula:
            case Atom(predicate, args):
                args = tuple([names.get(arg, arg) for arg in args])
                return Lookup(predicate, args, positive, frozenset(filter(is_variable, args)))
            case Equals(left, right):
                left, right = names.get(left, left), names.get(right, right)
                return Same(left, right, positive, frozenset(filter(is_variable, (left, right))))
            case Not(part):
                return self.compile(part, names, positive=not positive)
            case Forall(variables, part):
                return self._quantified(variables, part, names, found=False, positive=positive)
            case Exists(variables, part):
                return self._quantified(variables, part, names, found=True, positive=positive)
            case _:
                return self._connective(formula, names, positive=positive)

    def _connective(self, formula: And | Or | Imply, names: dict[str, str], *, positive: bool) -> Condition:
        parts: tuple[Condition, ...]
        match formula:
            case Imply(premise, conclusion):
                parts = (
                    self.compile(premise, names, positive=not positive),
                    self.compile(conclusion, names, positive=positive),
                )
            case And(inner) | Or(inner):
                parts = tuple([self.compile(part, names, positive=positive) for part in inner])
        if len(parts) == 1:
            return parts[0]
        free = frozenset[str]().union(*(part.free for part in parts))
        return All(parts, free) if isinstance(formula, And) == positive else Either(parts, free)

    def _quantified(
        self, variables: tuple[Variable, ...], part: Formula, names: dict[str, str], *, found: bool, positive: bool
    ) -> Condition:
        fresh = {variable.name: f"{variable.name}#{next(self._numbers)}" for variable in variables}
        domains = {fresh[variable.name]: self._universe.of_types(variable.types) for variable in variables}
        inner = self.compile(part, {**names, **fresh}, positive=found)
        free = inner.free - domains.keys()
        return Some(domains, inner, free) if found == positive else Never(domains, inner, free)
