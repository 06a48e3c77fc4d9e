"""Resolve the names of problems that `Problem(…)` made, or `replace` from another problem, and no reader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planner.errors import InputError, Location, did_you_mean, kind_of, with_article
from planner.language.declare.atom_syntax import abbreviate
from planner.language.declare.declared_names import Types
from planner.language.declare.domain_authoring import declare_model
from planner.language.declare.fields import Place, name_types
from planner.language.declare.model_builder import Declarations
from planner.language.declare.problem_builder import ProblemBuilder
from planner.lightweight import dataclass, replace
from planner.model import Action, DomainModel, Function, Object, Predicate, Problem, Variable
from planner.model.problem import SEALED


@dataclass(frozen=True, slots=True)
class ProblemPlace:
    """A part of a problem that has no known place in a file or in Python."""

    path: str

    @property
    def location(self) -> Location:
        """The part of the problem."""
        return Location(self.path)

    def error(self, message: str, hint: str | None = None) -> InputError:
        """Make an `InputError` for this part."""
        return InputError(message, self.location, hint)

    def within(self, *path: str | int) -> ProblemPlace:
        """Return the place of a part by its name; numbers of items are left out, since messages quote the items."""
        names = [each for each in path if isinstance(each, str)]
        return ProblemPlace(", ".join([self.path, *names])) if names else self


def resolve_names(problem: Problem) -> Problem:
    """Read the texts and resolve the names of `problem`; raises `InputError` for the first mistake."""
    place, fields = ProblemPlace(f"problem {abbreviate(problem.name)}"), problem.unsealed
    if not isinstance(problem.domain, DomainModel):
        raise place.error(f"the domain is {kind_of(problem.domain)}", "give a DomainModel, such as domain.model")
    _check_values(problem, place)
    _check_parts(problem.domain)
    objects = _read_objects(problem, place.within("objects"))
    if "domain" in fields:
        _check_domain(problem.domain, objects)
    whole = "domain" in fields or "objects" in fields
    builder = ProblemBuilder(problem.domain, objects, place)
    found = builder.read_again(problem, SEALED if whole else fields)
    return problem if found == problem and found.unmentioned == problem.unmentioned else found


def _check_values(problem: Problem, place: Place) -> None:
    """Raise `InputError` for a name that cannot be printed, and for entities that are no mapping."""
    name: Any = problem.name
    entities: Any = problem.entities
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        message = f"{abbreviate(name)} cannot name a problem"
        raise place.error(message, "give a text that can be printed, such as 'office'")
    if not isinstance(entities, Mapping):
        raise place.error(f"entities are {kind_of(entities)}", "give a mapping from names of objects to Python values")


def _check_parts(domain: DomainModel) -> None:
    """Raise `InputError` for a field of a domain that does not map names to what it declares."""
    place = ProblemPlace(f"domain {abbreviate(domain.name)}")
    for field, kind in (("types", tuple), ("predicates", Predicate), ("functions", Function), ("actions", Action)):
        given, here = getattr(domain, field), place.within(field)
        if not isinstance(given, Mapping):
            raise here.error(f"{abbreviate(given)} are no {field}", f"give a mapping from names to {kind.__name__}(…)")
        wrong = [each for each in given.values() if not isinstance(each, kind)]
        if wrong:
            raise here.error(f"{abbreviate(wrong[0])} is none of the {field}", f"each is {with_article(kind.__name__)}")


def _check_domain(domain: DomainModel, objects: Mapping[str, Object]) -> None:
    """Raise `InputError` for the first mistake in a domain that no reader made; it may name `objects`."""
    known = {each.name for each in domain.constants}
    constants = (*domain.constants, *[each for name, each in objects.items() if name not in known])
    place = ProblemPlace(f"domain {abbreviate(domain.name)}")
    declarations = Declarations(domain.name, place, domain.description)
    declare_model(declarations, replace(domain, constants=constants), place)
    _ = declarations.model()


def check_types(named: Object | Variable, what: str, types: Types, place: Place) -> None:
    """Raise an error at `place` if `named`, which is `what`, is of a type that is none of `types`."""
    unknown = [name for name in named.types if name not in types]
    if unknown:
        near = did_you_mean(unknown[0], types.parents)
        raise place.error(f"{what} {named.name!r} is of the unknown type {name_types(unknown)}", near)


def _read_objects(problem: Problem, place: Place) -> dict[str, Object]:
    """Return the objects of `problem` by name; raises `InputError` for values that are no objects."""
    given: Any = problem.objects
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise place.error(f"{abbreviate(given)} are no objects", "give a tuple of Object(name, types)")
    types = Types.of(problem.domain.types)
    found: dict[str, Object] = {}
    for each in given:
        if not isinstance(each, Object):
            raise place.error(f"{abbreviate(each)} is no object", "write Object('r1', ('robot',))")
        if each.name in found:
            raise place.error(f"object {each.name!r} is there twice", "give it once")
        check_types(each, "object", types, place)
        found[each.name] = each
    return found
