"""Templates written by hand, in Python or in YAML and JSON; each is tried out where it is declared."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from planner.annotations import Any
from planner.declare import Domain
from planner.declare.declarations import objects_of
from planner.declare.places import CodePlace, Place
from planner.declare.problem import ProblemBuilder
from planner.declare.syntax import NotationError, parse_atom
from planner.declare.types import Types
from planner.documents.json_text import json_positions, parse_json
from planner.documents.mistakes import document_error
from planner.documents.places import Document
from planner.documents.yaml_text import parse_yaml, yaml_positions
from planner.errors import DocumentError, InputError, PlanError
from planner.model import TRUE, Atom, DomainModel, Metric, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.pddl.text import read_text
from planner.plan import Plan, Step
from planner.records import replace
from planner.repair.regression import Unclear, needed
from planner.reuse.checked import expanded
from planner.reuse.lifting import lift
from planner.reuse.templates import Template
from planner.validate import Simulation, simulate

Conditions = Sequence[str] | str


class StepDocument(BaseModel):
    """A step of a template, with values of data parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str
    values: dict[str, Any] = {}


class TemplateDocument(BaseModel):
    """A template: what it is about (name → type), what it needs and gives, and its steps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parameters: dict[str, str] = {}
    requires: list[str] | None = None
    provides: list[str] | None = None
    steps: list[str | StepDocument]


class TemplatesDocument(BaseModel):
    """What a file of templates has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    templates: dict[str, TemplateDocument]


def template(
    domain: Domain | DomainModel,
    name: str,
    steps: Sequence[str | tuple[str, Mapping[str, Any]]],
    *,
    parameters: Mapping[str, str],
    requires: Conditions | None = None,
    provides: Conditions | None = None,
) -> Template:
    """Return a template of `steps` over `parameters` (name → type), each a text or one with values of data parameters.

    Without `requires`, that is what the steps need; without `provides`, all that they leave. Raises `InputError` where
    the steps do not lead there, and where it takes more than facts to say what they need: then say `requires`.
    """
    model = domain.model if isinstance(domain, Domain) else domain
    given = [(each, {}) if isinstance(each, str) else each for each in steps]
    return _template(model, name, given, (parameters, requires, provides), _caller())


def _caller() -> CodePlace:
    frame = sys._getframe(2)  # noqa: SLF001 - as in planner.declare.places
    return CodePlace(frame.f_code.co_filename, frame.f_lineno)


def read_templates(path: str | Path, domain: Domain | DomainModel) -> tuple[Template, ...]:
    """Return the templates of a YAML or JSON file for `domain`; raises `InputError` with file, line and column."""
    model = domain.model if isinstance(domain, Domain) else domain
    document = _document(Path(path))
    try:
        found = TemplatesDocument.model_validate(document.data)
    except ValidationError as error:
        raise document_error(error, document, TemplatesDocument) from None
    return tuple([_of(model, name, each, document.place) for name, each in found.templates.items()])


def _document(path: Path) -> Document:
    text, name = read_text(path, DocumentError), str(path)
    is_json = path.suffix.lower() == ".json"
    data = parse_json(text, name) if is_json else parse_yaml(text, name)
    locate = (lambda: json_positions(text)) if is_json else (lambda: yaml_positions(text, name))
    return Document(data[0] if len(data) == 1 else None, name, 0, locate)


def _of(model: DomainModel, name: str, document: TemplateDocument, place: Place) -> Template:
    steps = [(each, {}) if isinstance(each, str) else (each.step, each.values) for each in document.steps]
    parts = (document.parameters, document.requires, document.provides)
    return _template(model, name, steps, parts, place.within("templates", name))


def _template(
    model: DomainModel,
    name: str,
    given: Sequence[tuple[str, Mapping[str, Any]]],
    parts: tuple[Mapping[str, str], Conditions | None, Conditions | None],
    place: Place,
) -> Template:
    parameters, requires, provides = parts
    objects, _ = objects_of(parameters, Types.of(model.types), place.within("parameters"))
    problem = ProblemBuilder(_free(model), objects, place).build(
        name,
        requires or (),
        provides or (),
        values={},
        unknown=(),
        metric=Metric.COST,
        resolution=None,
        entities={},
    )
    steps = [_step(text, problem, place.within("steps", number)) for number, (text, _) in enumerate(given)]
    values = {number: dict(found) for number, (_, found) in enumerate(given) if found}
    _check_values(model, steps, values, place)
    if requires is None:
        problem = _with_needs(problem, steps, place)
    if provides is None:
        problem = _with_gains(problem, steps, place)
    try:
        return lift(Plan(tuple(steps), problem), name, values)
    except InputError as error:
        raise place.error(f"the template {name!r} does not work: {error.message}") from None


def _free(model: DomainModel) -> DomainModel:
    """Return `model` with actions that cost and use nothing: what they do is known of other objects only."""
    actions = {name: replace(action, cost=(), uses={}) for name, action in model.actions.items()}
    return replace(model, actions=actions)


def _step(text: str, problem: Problem, place: Place) -> Step:
    try:
        atom = parse_atom(text)
    except NotationError as mistake:
        raise place.error(f"{text!r} is no step: {mistake.problem}", mistake.hint) from None
    step = Step(atom.predicate, tuple([arg.removeprefix("?") for arg in atom.args]))
    wrong = Simulation(expanded(problem, [step])).rules.misfit(step)
    if wrong:
        raise place.error(f"{text!r} is no step: {wrong}")
    return step


def _check_values(
    model: DomainModel, steps: Sequence[Step], values: Mapping[int, Mapping[str, Any]], place: Place
) -> None:
    for number, found in values.items():
        known = [each.name for each in model.actions[steps[number].action].data]
        for name in found:
            if name not in known:
                hint = f"those of {steps[number].action} are {', '.join(known) or 'none'}"
                raise place.within("steps", number).error(f"there is no data parameter {name!r}", hint)


def _with_needs(problem: Problem, steps: Sequence[Step], place: Place) -> Problem:
    """Return `problem` with what `steps` need as its facts."""
    try:
        needs = needed(Simulation(expanded(problem, steps)), steps, TRUE)
    except ValueError:
        raise place.error("these steps cannot follow each other from any state") from None
    except Unclear:
        raise place.error("what these steps need is more than facts", "say what they need: 'requires'") from None
    return replace(problem, initial=tuple([each for each in conjuncts(needs) if isinstance(each, Atom)]))


def _with_gains(problem: Problem, steps: Sequence[Step], place: Place) -> Problem:
    """Return `problem` with all that `steps` leave as its goal; what they create has no name in other problems."""
    known = {each.name for each in problem.all_objects}
    try:
        *_, last = simulate(problem, steps)
    except PlanError as error:
        raise place.error(f"these steps do not follow each other: {error}") from None
    gains = sorted((fact for fact in last.difference(problem.initial) if known.issuperset(fact.args)), key=str)
    return replace(problem, goal=replace(problem.goal, hard=conjunction(gains)))
