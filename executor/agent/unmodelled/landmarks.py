"""Steps that a model proposes, resolved and type-checked: landmarks that a plan has to go through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from executor.agent.unmodelled.answer import ANY, ProposedStep, Serving
from planner.declare import resolve_action
from planner.declare.names import folded
from planner.errors import InputError, did_you_mean, with_article
from planner.model import OPEN, Action, Atom, Constraint, ConstraintKind, Done, Exists, Formula, Problem, Variable
from planner.model.formulas import substitute
from planner.plan import Step
from planner.records import dataclass, field, replace
from planner.validate.conditions import Universe
from planner.validate.constraints import covers


@dataclass(frozen=True, slots=True)
class Landmark:
    """A step that serves `part` of a request: some step of the plan is one that `pattern` covers.

    `values` are those of its data parameters.
    """

    part: str
    pattern: Atom
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.pattern)


def landmarks(problem: Problem, parts: Iterable[Serving]) -> tuple[list[Landmark], list[str]]:
    """Return the landmarks that `parts` mean, and what is wrong with the others, in words."""
    universe, found, wrong = Universe(problem), list[Landmark](), list[str]()
    for part in parts:
        for step in part.steps:
            try:
                made = _landmark(problem, universe, part.part, step)
            except InputError as error:
                wrong.append(str(error))
                continue
            if any(each.pattern == made.pattern for each in found):
                wrong.append(f"{made} is proposed more than once")
            found.append(made)
    return found, wrong


def through(problem: Problem, found: Sequence[Landmark]) -> Problem:
    """Return `problem` for plans that go through all landmarks, those for one part in their order."""
    demands = [Constraint(ConstraintKind.SOMETIME, Done(each.pattern)) for each in found]
    demands += [
        Constraint(ConstraintKind.BEFORE, Done(one.pattern), Done(other.pattern))
        for one, other in pairwise(found)
        if one.part == other.part
    ]
    return replace(problem, constraints=(*problem.constraints, *demands))


def needed(problem: Problem, landmark: Landmark) -> Formula:
    """Return what has to hold before a step can be done that `landmark` covers."""
    action = problem.domain.actions[landmark.pattern.predicate]
    pairs = list(zip(action.parameters, landmark.pattern.args, strict=False))
    bound = {each.name: arg for each, arg in pairs if arg != OPEN}
    free = tuple([Variable(each.name, each.types) for each, arg in pairs if arg == OPEN])
    condition = substitute(action.requires, bound)
    return Exists(free, condition) if free else condition


def placed(found: Iterable[Landmark], steps: Sequence[Step]) -> Iterator[tuple[Landmark, int]]:
    """Yield each landmark with the place of a step that it covers, a place of its own."""
    taken: set[int] = set()
    for each in found:
        fitting = [place for place, step in enumerate(steps) if covers(Done(each.pattern), step)]
        place = next((place for place in fitting if place not in taken), None)
        if place is not None:
            taken.add(place)
            yield each, place


def _landmark(problem: Problem, universe: Universe, part: str, step: ProposedStep) -> Landmark:
    """Return what `step` means; raises `InputError` for what means nothing."""
    action = resolve_action(problem.domain, step.action)
    given = {folded(name): name for name in step.arguments}
    names = {folded(each.name.removeprefix("?")): each for each in action.parameters}
    for key, name in given.items():
        if key not in names:
            raise InputError(f"{action.signature} has no parameter {name!r}")
    args = [
        _object(universe, action, each, step.arguments[given[key]]) if key in given else OPEN
        for key, each in names.items()
    ]
    return Landmark(part, Atom(action.name, tuple(args)), _values(action, step.values))


def _object(universe: Universe, action: Action, parameter: Variable, name: str) -> str:
    """Return the object that `name` means, up to case and punctuation; raises `InputError`."""
    if name == ANY:
        return OPEN
    found = name if name in universe else next((each for each in universe if folded(each) == folded(name)), None)
    if found is None:
        near = did_you_mean(name, list(universe))
        raise InputError(f"there is no object {name!r}", hint=near or None)
    if found not in universe.of_types(parameter.types):
        wanted, kind = (with_article(" or ".join(each)) for each in (parameter.types, universe.types_of(found)))
        raise InputError(f"{found!r} is {kind}, and {action.signature} takes {wanted} there")
    return found


def _values(action: Action, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `values` by data parameter; raises `InputError` where one does not fit its type."""
    data = {folded(each.name): each for each in action.data if not each.fixed}
    found: dict[str, Any] = {}
    for name, value in values.items():
        parameter = data.get(folded(name))
        if parameter is None:
            raise InputError(f"{action.name} has no open parameter {name!r}")
        try:
            TypeAdapter(parameter.annotation).validate_python(value)
        except (ValidationError, PydanticUserError) as error:
            said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "it has no form in JSON"
            raise InputError(f"{parameter.name} of {action.name} cannot be {value!r}: {said}") from None
        found[parameter.name] = value
    return found
