"""Objects that steps create: placeholders in plans and beliefs, and the real objects that handlers return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from executor.tools.containment import as_plain_text, call_or_else
from planner.compilations.object_creation import add_placeholders, for_steps
from planner.errors import kind_of
from planner.language.declare.declared_names import Types
from planner.model import Atom, DomainModel, Problem
from planner.model.domain import cache_per_domain, creates_objects
from planner.model.object_names import is_name, object_name, qualified_term, term_of
from planner.plan import Step

ALIAS: Final = "other-"
"""Prefix of the name in plans of a real object whose own name is that of a placeholder."""
SPARE: Final = 2
"""Placeholders of each type beyond those of the plan, for objects that patches create."""


def add_spare_placeholders(problem: Problem, steps: Sequence[Step]) -> Problem:
    """Add placeholders for the objects that `steps` create and, where these have usual names, some to spare."""
    if not creates_objects(problem.domain):
        return problem
    created = [
        (name, kind)
        for step in steps
        for action in [problem.domain.actions[step.action]]
        for name, kind in zip(action.created_arguments(step.arguments), action.creates.values(), strict=False)
    ]
    kinds = {kind for action in problem.domain.actions.values() for kind in action.creates.values()}
    counts = Counter(kind for _, kind in created)
    found = add_placeholders(problem, {kind: counts[kind] + SPARE for kind in kinds})
    names = {each.name for each in found.objects}
    return found if all(name in names for name, _ in created) else for_steps(problem, steps)


def find_similar_steps(source: Problem, problem: Problem, step: Step) -> list[Step]:
    """Return the steps of `problem` (made of `source`) that equal `step` except in placeholders."""
    action = source.domain.actions[step.action]
    if not action.creates:
        return [step]
    known = {each.name for each in source.all_objects}
    names = {kind: [each.name for each in problem.objects if each.types == (kind,)] for kind in action.creates.values()}
    declared = action.declared_arguments(step.arguments)
    choices = [[name for name in names[kind] if name not in known] for kind in action.creates.values()]
    return [Step(step.action, (*declared, *chosen), step.cost) for chosen in product(*choices)]


def find_internal_predicates(source: DomainModel, problem: Problem) -> frozenset[str]:
    """Return the predicates of `problem` that only describe placeholders, so that no observer is needed for them."""
    return frozenset(problem.domain.predicates.keys() - source.predicates.keys())


class Bindings(Mapping[str, Any]):
    """The real objects by their names in plans: given entities, and objects that steps created.

    Names, in plans and real ones, are the terms of objects.

    A real object may have the name of a placeholder, as names of both kinds are chosen by different people. In plans it
    is called otherwise: what a step created by its own placeholder. What a step creates may have the name of an object
    that can have no such type: then its real name has its type before it.
    """

    def __init__(self, source: Problem, problem: Problem) -> None:
        known = {each.name for each in source.all_objects}
        self._entities: Mapping[str, Any] = problem.entities
        self._created: dict[str, Any] = {}
        self._terms: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._placeholders = frozenset(each.name for each in problem.objects if each.name not in known)
        self._open = {*self._placeholders}
        self._types = {each.name: each.types for each in problem.all_objects}
        self._parents = problem.domain.types
        self._overlap = declared_types(problem.domain).overlap
        self.made: dict[tuple[str, Any], Any] = {}
        """The objects that were made for this run, by their names and by what made them."""

    def bind(self, placeholder: str, value: Any) -> None:
        """Bind `placeholder` to the real object `value`."""
        term = self.term_of_created(placeholder, value)
        self._created[placeholder], self._terms[placeholder], self._names[term] = value, term, placeholder
        self._open.discard(placeholder)

    def term_of_created(self, placeholder: str, value: Any) -> str:
        """Return the real name of `value`, which is the object that the step with this `placeholder` creates."""
        term, types = term_of_value(value), self._types.get(placeholder, ())
        if self.may_be_one(self._types.get(self.plan_name(term), types), types):
            return term
        return qualified_term(object_name(term), types[0])

    def may_be_one(self, types: tuple[str, ...], others: tuple[str, ...]) -> bool:
        """Return whether an object of `types` may be one of the types `others`."""
        return types == others or self._overlap(types, others)

    def name_apart(self, name: str, types: tuple[str, ...]) -> str:
        """Return the name in plans of the object of `types` that is called like `name`, which can be none of these."""
        real = object_name(self.real_name(name))
        same = [each for each, term in self._terms.items() if object_name(term) == real]
        created = (each for each in same if self.may_be_one(self._types.get(each, ()), types))
        return next(created, qualified_term(real, types[0]))

    def join(self, objects: Mapping[str, tuple[str, ...]], entities: Mapping[str, Any]) -> None:
        """Add objects that turned up, with their types; `entities` are the Python values of some."""
        self._types = {**self._types, **objects}
        self._entities = {**self._entities, **entities}
        for name in objects:
            if self._is_reserved(name):
                self.bind(name, entities.get(name, object_name(name.removeprefix(ALIAS))))

    def leave(self, name: str) -> None:
        """Remove an object that turned up."""
        self._types = {each: types for each, types in self._types.items() if each != name}
        if name in self._created:
            del self._created[name], self._names[self._terms.pop(name)]

    def declared_types(self, name: str) -> tuple[str, ...]:
        """Return the types of the object with the plan name `name` as they are declared; none for an unknown object."""
        return self._types.get(name, ())

    def types_of(self, name: str) -> tuple[str, ...]:
        """Return the types of the object with the plan name `name`: its own, then those above, the nearest first."""
        found = list(self._types.get(name, ()))
        for kind in found:
            found += [each for each in self._parents.get(kind, ()) if each not in found]
        return tuple(found)

    def real_name(self, name: str) -> str:
        """Return the real name of the object with the plan name `name`."""
        if name in self._terms:
            return self._terms[name]
        is_other = name.startswith(ALIAS) and self._is_reserved(name) and name not in self._placeholders
        return name.removeprefix(ALIAS) if is_other else name

    def real_fact(self, fact: Atom) -> Atom:
        """Return `fact` with the real names of objects."""
        return type(fact)(fact.predicate, tuple(map(self.real_name, fact.args)))

    def is_open(self, name: str) -> bool:
        """Return whether `name` is a placeholder without a real object yet."""
        return name in self._open

    def exists(self, fact: Atom) -> bool:
        """Return whether no argument of `fact` is a placeholder without a real object."""
        return not self._open or self._open.isdisjoint(fact.args)

    def renamed(self, fact: Atom) -> Atom:
        """Replace real names in `fact` by their names in plans."""
        if not (self._names or self._placeholders):
            return fact
        return fact.substitute({name: self.plan_name(name) for name in fact.args})

    def plan_name(self, name: str) -> str:
        """Return the name in plans of the real object `name`."""
        known = self._names.get(name)
        return known or (f"{ALIAS}{name}" if self._is_reserved(name) else name)

    def _is_reserved(self, name: str) -> bool:
        """Return whether plans use `name` for a placeholder, or for a real object with the name of one."""
        if not self._placeholders:
            return False
        while name.startswith(ALIAS) and name not in self._placeholders:
            name = name.removeprefix(ALIAS)
        return name in self._placeholders

    def placeholder_of(self, name: str) -> str | None:
        """Return the placeholder of the created object with this real name, if there is one."""
        return self._names.get(name)

    @property
    def created(self) -> dict[str, str]:
        """The real names of created objects, by placeholder."""
        return dict(self._terms)

    def __getitem__(self, name: str) -> Any:
        return self._created[name] if name in self._created else self._entities[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the object called `name`, or `default`."""
        return self._created[name] if name in self._created else self._entities.get(name, default)

    def __iter__(self) -> Iterator[str]:
        yield from {**self._entities, **self._created}

    def __len__(self) -> int:
        return len({**self._entities, **self._created})


@cache_per_domain
def declared_types(domain: DomainModel) -> Types:
    """Return the types of `domain`."""
    return Types.of(domain.types)


def name_of(value: Any) -> str:
    """Return the name of a real object, or its type in angle brackets where it has none."""
    return call_or_else(
        lambda: as_plain_text(value if isinstance(value, str) else str(getattr(value, "name", value))),
        f"<{kind_of(value)}>",
    )


def term_of_value(value: Any) -> str:
    """Return the term of a real object."""
    return term_of(name_of(value))


def is_object(value: Any) -> bool:
    """Return whether `value` names an object: a text, something with a name, or a value whose text needs no quotes."""
    if value is None or type(value) is bool or issubclass(type(value), BaseException):
        return False
    has_name = isinstance(value, str) or call_or_else(lambda: isinstance(value.name, str), False)
    return has_name or is_name(name_of(value))
