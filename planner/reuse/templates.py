"""Plan templates: plans with parameters, declared in Python, YAML or JSON, or lifted from valid plans.

A template requires what its steps need together from the start: the kernel of a triangle table (Fikes, Hart and
Nilsson, 1972), found by regression. If that holds for some objects, its steps lead to what it provides. The plan
checker checks each plan of a template, and each declared template on its own parameters.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from planner.compilations.driver import value_plan
from planner.errors import DocumentError, InputError, PlanError
from planner.language.declare import Domain
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.language.declare.declared_names import Types
from planner.language.declare.fields import CodePlace, Place
from planner.language.declare.model_builder import objects_of
from planner.language.declare.problem_builder import ProblemBuilder
from planner.language.documents.document_conditions import Notation
from planner.language.documents.schema import document_error
from planner.language.documents.text_formats import Document, json_positions, parse_json, parse_yaml, yaml_positions
from planner.language.pddl.syntax import read_text
from planner.lightweight import Any, Final, dataclass, field, replace
from planner.model import formulas
from planner.model.domain import DomainModel, TypeHierarchy, creates_objects
from planner.model.formulas import Atom, Formula, Object, Variable, atoms_in, conjuncts, is_variable, substitute
from planner.model.problem import Metric, Problem, refuse_time
from planner.partial_order.causal_links import INITIAL, causal_links
from planner.plan import Plan, Step, StepTime
from planner.problem_kinds import check_classical
from planner.repair.regression import Unclear, regress_goal
from planner.semantics.simulation import Simulation, price_steps
from planner.validation.timed_replay import price_plan
from planner.validation.validate import check_steps, simulate

Steps = Iterable[tuple[str, tuple[str, ...]]]
"""Actions with their arguments."""


def make_valid_plan(
    problem: Problem, steps: Steps, names: Mapping[str, str], times: tuple[StepTime, ...] = ()
) -> Plan | None:
    """Return `steps` as a plan for `problem`, with `names` in place of arguments; None if it is not valid.

    Raises `UnsupportedError` for steps without `times` where the problem asks for a plan in time.
    """
    found = [Step(action, tuple([names.get(arg, arg) for arg in args])) for action, args in steps]
    if times:
        timed = price_plan(Plan(tuple(found), problem, times=times))
        verdict = check_steps(problem, timed)
        return value_plan(timed, verdict) if verdict.valid else None
    if found:
        refuse_time(problem, "simulated step by step")
    verdict = check_steps(problem, found)
    if not verdict.valid:
        return None
    return value_plan(Plan(price_steps(add_placeholders(problem, found), found), problem), verdict)


def add_placeholders(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem` with placeholders for the objects that `steps` create, if any."""
    if not creates_objects(problem.domain):
        return problem
    from planner.compilations.object_creation import for_steps

    return for_steps(problem, steps)


Values = Mapping[int, Mapping[str, Any]]
MAX_BINDINGS: Final = 100
"""Number of bindings of objects that are tried for one problem."""


@dataclass(frozen=True, slots=True)
class Template:
    """Steps over `parameters` (typed variables) that lead from states with `requires` to states with `provides`.

    `values` are the values of data parameters, by the place of the step.
    """

    name: str
    parameters: tuple[Variable, ...]
    requires: Formula
    provides: Formula
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    values: Values = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the template as `read_templates` reads it below its name."""
        names = [each.name for each in self.parameters]
        write = Notation(names, ())
        steps = [str(Atom(action, tuple([arg.removeprefix("?") for arg in args]))) for action, args in self.steps]
        return {
            "parameters": {each.name.removeprefix("?"): " | ".join(each.types) for each in self.parameters},
            "requires": [*write.formula(self.requires)],
            "provides": [*write.formula(self.provides)],
            "steps": [
                {"step": step, "values": dict(self.values[number])} if number in self.values else step
                for number, step in enumerate(steps)
            ],
        }

    def plan_for(self, problem: Problem) -> Plan | None:
        """Return a valid plan of the template for `problem` with some objects.

        Return None if there is none, or if the goal holds already.
        """
        wanted = [part for part in conjuncts(problem.goal.hard) if isinstance(part, Atom)]
        given = [part for part in conjuncts(self.provides) if isinstance(part, Atom)]
        if not wanted or make_valid_plan(problem, (), {}) is not None:
            return None
        objects = {each.name: each for each in problem.all_objects}
        binder = _Binder(self, problem, objects)
        for number, binding in enumerate(binder.bind_goal(wanted, given, {})):
            if number >= MAX_BINDINGS:
                return None
            plan = make_valid_plan(problem, self.steps, binding)
            if plan is not None:
                return plan
        return None


class _Binder:
    """Binds objects to the parameters of a template: by the goal, then by what it requires, then by type."""

    def __init__(self, template: Template, problem: Problem, objects: Mapping[str, Object]) -> None:
        self._types = {each.name: each.types for each in template.parameters}
        self._hierarchy = TypeHierarchy(problem.domain.types)
        self._objects = objects
        self._facts: dict[str, list[Atom]] = {}
        for fact in problem.initial:
            self._facts.setdefault(fact.predicate, []).append(fact)
        self._needs = [part for part in conjuncts(template.requires) if isinstance(part, Atom)]
        self._rest = list(self._types)

    def bind_goal(
        self, wanted: Sequence[Formula], given: Sequence[Formula], binding: Mapping[str, str]
    ) -> Iterator[dict[str, str]]:
        """Yield the bindings by which all of `wanted` are among the `given` conditions."""
        if not wanted:
            yield from self._bind_requirements(self._needs, binding)
            return
        for part in given:
            found = self._match(part, wanted[0], binding)
            if found is not None:
                yield from self.bind_goal(wanted[1:], given, found)

    def _bind_requirements(self, needs: Sequence[Atom], binding: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield the bindings by which `needs` hold in the initial state, with objects for all other parameters."""
        if needs:
            for fact in self._facts.get(needs[0].predicate, ()):
                found = self._match(needs[0], fact, binding)
                if found is not None:
                    yield from self._bind_requirements(needs[1:], found)
            return
        open_ = next((name for name in self._rest if name not in binding), None)
        if open_ is None:
            yield dict(binding)
            return
        for name in self._objects:
            if self._fits(open_, name):
                yield from self._bind_requirements((), {**binding, open_: name})

    def _match(self, pattern: Formula, fact: Formula, binding: Mapping[str, str]) -> dict[str, str] | None:
        if not (isinstance(pattern, Atom) and isinstance(fact, Atom)) or pattern.predicate != fact.predicate:
            return None
        found = dict(binding)
        for mine, theirs in zip(pattern.args, fact.args, strict=True):
            known = found.get(mine) if is_variable(mine) else mine
            if known is None and self._fits(mine, theirs):
                found[mine] = theirs
            elif known != theirs:
                return None
        return found

    def _fits(self, variable: str, name: str) -> bool:
        item = self._objects.get(name)
        return item is not None and self._hierarchy.is_a(item.types, self._types[variable])


def lift(plan: Plan, name: str = "", values: Values | None = None) -> Template:
    """Return the template of `plan`, with a parameter for each object of its problem.

    Constants of the domain and names of created objects stay. `values` are the values of data parameters, by the place
    of the step. Raises `InputError` for an invalid plan, and for one of tasks, and `UnsupportedError` for one in time.
    """
    check_classical(plan.problem, "lift", "methods say how tasks are done")
    problem: Problem = plan.problem
    refuse_time(problem, "lifted to a template")
    verdict = check_steps(problem, plan.steps)
    if not verdict.valid:
        hint = "templates are of plans that work as it is declared"
        raise InputError(f"this plan cannot be lifted: {verdict.reason}", hint=hint)
    goal, requires = problem.goal.hard, _regress_needs(plan)
    types = {each.name: each.types for each in problem.objects}
    named = [arg for step in plan.steps for arg in step.arguments]
    named += [arg for part in (goal, requires) for atom in atoms_in(part) for arg in atom.args]
    constants = {each.name for each in problem.domain.constants}
    binding = {arg: f"?{arg}" for arg in dict.fromkeys(named) if arg in types and arg not in constants}
    parameters = tuple([Variable(variable, types[arg]) for arg, variable in binding.items()])
    steps = tuple([(step.action, tuple([binding.get(arg, arg) for arg in step.arguments])) for step in plan.steps])
    requires, provides = substitute(requires, binding), substitute(goal, binding)
    return Template(name or problem.name, parameters, requires, provides, steps, values or {})


def _regress_needs(plan: Plan) -> Formula:
    """Return what the plan needs from the initial state; if that is more than facts, the facts that its steps read."""
    problem: Problem = plan.problem
    try:
        return regress_goal(Simulation(add_placeholders(problem, plan.steps)), plan.steps, problem.goal.hard)
    except (Unclear, ValueError):
        read = [each.condition for each in causal_links(problem, plan) if each.provider == INITIAL]
        stated = {each.predicate for each in problem.initial}
        return formulas.conjunction(
            dict.fromkeys(each for each in read if isinstance(each, Atom) and each.predicate in stated)
        )


Conditions = Sequence[str] | str


class StepDocument(BaseModel):
    """Document of a step, with values of data parameters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: str
    values: dict[str, Any] = {}


class TemplateDocument(BaseModel):
    """Document of a template: parameters (name → type), conditions and steps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parameters: dict[str, str] = {}
    requires: list[str] | None = None
    provides: list[str] | None = None
    steps: list[str | StepDocument]


class TemplatesDocument(BaseModel):
    """Document of a file of templates, by name."""

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
    """Return a template of `steps` over `parameters` (name → type); a step is a text, or a text with data values.

    `requires` defaults to what the steps need, `provides` to all that they make true. Raises `InputError` if the steps
    do not lead there, or if `requires` is missing where the steps need more than facts.
    """
    model = domain.model if isinstance(domain, Domain) else domain
    given = [(each, {}) if isinstance(each, str) else each for each in steps]
    return _build_template(model, name, given, (parameters, requires, provides), _find_caller())


def _find_caller() -> CodePlace:
    """Return the place of the code that called the public function."""
    frame = sys._getframe(2)  # noqa: SLF001 - as in planner.language.declare.fields
    return CodePlace(frame.f_code.co_filename, frame.f_lineno)


def read_templates(path: str | Path, domain: Domain | DomainModel) -> tuple[Template, ...]:
    """Return the templates of a YAML or JSON file for `domain`; raises `InputError` with file, line and column."""
    model = domain.model if isinstance(domain, Domain) else domain
    document = _read_document(Path(path))
    try:
        found = TemplatesDocument.model_validate(document.data)
    except ValidationError as error:
        raise document_error(error, document, TemplatesDocument) from None
    return tuple([_build_from_document(model, name, each, document.place) for name, each in found.templates.items()])


def _read_document(path: Path) -> Document:
    text, name = read_text(path, DocumentError), str(path)
    is_json = path.suffix.lower() == ".json"
    data = parse_json(text, name) if is_json else parse_yaml(text, name)
    locate = (lambda: json_positions(text)) if is_json else (lambda: yaml_positions(text, name))
    return Document(data[0] if len(data) == 1 else None, name, 0, locate)


def _build_from_document(model: DomainModel, name: str, document: TemplateDocument, place: Place) -> Template:
    steps = [(each, {}) if isinstance(each, str) else (each.step, each.values) for each in document.steps]
    parts = (document.parameters, document.requires, document.provides)
    return _build_template(model, name, steps, parts, place.within("templates", name))


def _build_template(
    model: DomainModel,
    name: str,
    given: Sequence[tuple[str, Mapping[str, Any]]],
    parts: tuple[Mapping[str, str], Conditions | None, Conditions | None],
    place: Place,
) -> Template:
    parameters, requires, provides = parts
    objects, _ = objects_of(parameters, Types.of(model.types), place.within("parameters"))
    problem = ProblemBuilder(_remove_costs(model), objects, place).build(
        name,
        requires or (),
        provides or (),
        values={},
        unknown=(),
        metric=Metric.COST,
        resolution=None,
        entities={},
    )
    steps = [_read_step(text, problem, place.within("steps", number)) for number, (text, _) in enumerate(given)]
    values = {number: dict(found) for number, (_, found) in enumerate(given) if found}
    _check_values(model, steps, values, place)
    if requires is None:
        problem = _add_needs(problem, steps, place)
    if provides is None:
        problem = _add_gains(problem, steps, place)
    try:
        return lift(Plan(tuple(steps), problem), name, values)
    except InputError as error:
        raise place.error(f"the template {name!r} does not work: {error.message}") from None


def _remove_costs(model: DomainModel) -> DomainModel:
    """Return `model` with actions that cost and use nothing: costs may depend on the objects of a problem."""
    actions = {name: replace(action, cost=(), uses={}) for name, action in model.actions.items()}
    return replace(model, actions=actions)


def _read_step(text: str, problem: Problem, place: Place) -> Step:
    try:
        atom = parse_atom(text)
    except NotationError as mistake:
        raise place.error(f"{text!r} is no step: {mistake.problem}", mistake.hint) from None
    step = Step(atom.predicate, tuple([arg.removeprefix("?") for arg in atom.args]))
    wrong = Simulation(add_placeholders(problem, [step])).rules.misfit(step)
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


def _add_needs(problem: Problem, steps: Sequence[Step], place: Place) -> Problem:
    """Return `problem` with the needs of `steps` as its initial state."""
    try:
        needs = regress_goal(Simulation(add_placeholders(problem, steps)), steps, formulas.TRUE)
    except ValueError:
        raise place.error("these steps cannot follow each other from any state") from None
    except Unclear:
        raise place.error("what these steps need is more than facts", "say what they need: 'requires'") from None
    return replace(problem, initial=tuple([each for each in conjuncts(needs) if isinstance(each, Atom)]))


def _add_gains(problem: Problem, steps: Sequence[Step], place: Place) -> Problem:
    """Return `problem` with all that `steps` make true as its goal, but for facts about created objects."""
    known = {each.name for each in problem.all_objects}
    try:
        *_, last = simulate(problem, steps)
    except PlanError as error:
        raise place.error(f"these steps do not follow each other: {error}") from None
    gains = sorted((fact for fact in last.difference(problem.initial) if known.issuperset(fact.args)), key=str)
    return replace(problem, goal=replace(problem.goal, hard=formulas.conjunction(gains)))
