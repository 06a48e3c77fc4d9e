"""Check steps against the domain: actions, arguments, created objects, data, and conditions by simulation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from executor.plan_check.plan_findings import PLAN, Hints, PlanFinding, PlanPlace
from executor.plans.action_plan import ActionPlan, PlanStep, StepRate, references
from executor.plans.partial_order import find_wanted_facts
from executor.plans.stated_steps import EXPECTS, LEAVES, REQUIRES, ConditionReader, spell_out
from planner.errors import InputError, did_you_mean
from planner.language.declare import resolve_action
from planner.language.declare.fields import CodePlace, name_types
from planner.model import Action, Atom, DataParameter, DomainModel, Formula, Not, Problem, TypeHierarchy
from planner.model.formulas import atoms_in, conjuncts
from planner.model.object_names import is_name
from planner.plan import Step
from planner.semantics.simulation import ChangeHistory, Simulation, bind_parameters
from planner.semantics.step_effects import Changes

Types = tuple[str, ...]


class Vocabulary:
    """The actions and objects that a plan may name; placeholders are known after the step that creates them.

    `memory` has the names of values in working memory; with `model`, a language model fills parameters that are not
    fixed.
    """

    def __init__(
        self, domain: DomainModel, objects: Mapping[str, Types], memory: Collection[str], *, model: bool
    ) -> None:
        self._domain = domain
        self._types = TypeHierarchy(domain.types)
        self._objects = {**{each.name: each.types for each in domain.constants}, **objects}
        self._memory = memory
        self._model = model
        self._creators: dict[str, str] = {}
        self._hints = Hints()
        self._adapters: dict[tuple[str, str], TypeAdapter[Any] | None] = {}

    def check(self, plan: ActionPlan) -> Iterator[PlanFinding]:
        """Yield the mistakes in names, types and data of the steps of `plan`, in order."""
        later = {name: each.id for each in reversed(plan.steps) for name in each.creates.values()}
        for number, step in enumerate(plan.steps):
            where = PlanPlace.of(number, step)
            action = self.action(step)
            if isinstance(action, InputError):
                yield where.from_error("unknown-action", action, "action")
                continue
            yield from self._check_arguments(where, step, action, later)
            yield from self._check_created(where, step, action)
            yield from self._check_data(where, step, action)
            yield from _check_policy(where, step, action)

    def action(self, step: PlanStep) -> Action | InputError:
        """Return the action that `step` names, or the error if there is none."""
        try:
            return resolve_action(self._domain, step.action)
        except InputError as error:
            return error

    def _check_arguments(
        self, where: PlanPlace, step: PlanStep, action: Action, later: Mapping[str, str]
    ) -> Iterator[PlanFinding]:
        wanted = {each.name.removeprefix("?"): each.types for each in action.parameters}
        for name in [each for each in wanted if each not in step.arguments]:
            message = f"{action.signature} lacks the argument {name!r}"
            hint = f"name an object of type {name_types(wanted[name])}"
            yield where.error("missing-argument", message, "arguments", hint=hint)
        for name, value in step.arguments.items():
            here = "arguments", name
            if name not in wanted:
                is_data = any(each.name == name for each in action.data)
                hint = "it is data: write it under 'parameters'" if is_data else self._hints.near(name, wanted)
                message = f"{action.signature} has no parameter {name!r}"
                yield where.error("unknown-argument", message, *here, hint=hint)
            elif value in self._objects:
                if not self._types.is_a(self._objects[value], wanted[name]):
                    given = name_types(self._objects[value])
                    message = f"{value!r} is {given}, but {name!r} takes {name_types(wanted[name])}"
                    yield where.error("type", message, *here)
            elif value in later:
                which = "this step itself" if later[value] == step.id else f"step {later[value]!r}"
                message = f"{value!r} does not exist yet: {which} creates it"
                yield where.error("later-step", message, *here)
            else:
                hint = self._hints.near(value, self._objects, "declare it under 'objects'")
                yield where.error("unknown-object", f"no object is called {value!r}", *here, hint=hint)

    def _check_created(self, where: PlanPlace, step: PlanStep, action: Action) -> Iterator[PlanFinding]:
        wanted = {name.removeprefix("?"): kind for name, kind in action.creates.items()}
        for name in [each for each in wanted if each not in step.creates]:
            message = f"{action.name} creates {name!r}, and the step gives it no placeholder"
            hint = f'write "creates": {{"{name}": "new-{name}"}}'
            yield where.error("missing-placeholder", message, "creates", hint=hint)
        for name, placeholder in step.creates.items():
            here = "creates", name
            if name not in wanted:
                hint = self._hints.near(name, wanted, f"it creates {', '.join(wanted) or 'nothing'}")
                yield where.error("unknown-argument", f"{action.name} creates no {name!r}", *here, hint=hint)
            elif placeholder in self._creators:
                message = f"{placeholder!r} is what step {self._creators[placeholder]!r} creates already"
                yield where.error("same-placeholder", message, *here)
            elif placeholder in self._objects:
                yield where.error("same-placeholder", f"{placeholder!r} is the name of an object already", *here)
            elif not is_name(placeholder):
                yield where.error("same-placeholder", f"{placeholder!r} cannot name an object", *here)
            else:
                self._creators[placeholder] = step.id
                self._objects[placeholder] = (wanted[name],)

    def _check_data(self, where: PlanPlace, step: PlanStep, action: Action) -> Iterator[PlanFinding]:
        wanted = {each.name: each for each in action.data}
        for name, value in step.parameters.items():
            here = "parameters", name
            if name not in wanted:
                is_object = any(each.name == f"?{name}" for each in action.parameters)
                hint = "it is an object: write it under 'arguments'" if is_object else self._hints.near(name, wanted)
                message = f"{action.name} has no data parameter {name!r}"
                yield where.error("unknown-parameter", message, *here, hint=hint)
            elif next(references(value), None) is None:
                yield from self._check_type(where, action, wanted[name], value)
        for name, parameter in wanted.items():
            if name not in step.parameters and not self._is_filled(parameter):
                yield where.error("missing-parameter", f"{action.name} lacks a value for {name!r}", "parameters")

    def _is_filled(self, parameter: DataParameter) -> bool:
        by_model = self._model and not parameter.fixed
        return parameter.has_default or by_model or parameter.name in self._memory or parameter.source is not None

    def _check_type(
        self, where: PlanPlace, action: Action, parameter: DataParameter, value: Any
    ) -> Iterator[PlanFinding]:
        key = action.name, parameter.name
        if key not in self._adapters:
            try:
                self._adapters[key] = TypeAdapter(parameter.annotation)
            except (PydanticUserError, TypeError):
                self._adapters[key] = None
        adapter = self._adapters[key]
        try:
            if adapter is not None:
                adapter.validate_python(value)
        except ValidationError as error:
            for each in error.errors(include_url=False):
                what = f"{parameter.name!r} cannot be {each['input']!r}"
                yield where.error("type", what, "parameters", parameter.name, *each["loc"], hint=each["msg"].lower())


def _check_policy(where: PlanPlace, step: PlanStep, action: Action) -> Iterator[PlanFinding]:
    if step.policy is None:
        return
    names = [each.name.removeprefix("?") for each in action.parameters] + [each.name for each in action.data]
    policy = step.policy
    used = [("lock", "lock", name) for name in (policy.lock if isinstance(policy.lock, tuple) else ())]
    used += [("rate", "rate by", name) for name in (policy.rate.by if isinstance(policy.rate, StepRate) else ())]
    for where_in, what, name in used:
        if name not in names:
            message = f"{action.signature} has no parameter {name!r} to {what}"
            yield where.error("unknown-argument", message, "policy", where_in, hint=did_you_mean(name, names))
    if step.policy.cache_for and "read_only" not in action.tags:
        message = f"cache_for needs a read-only action, and {action.name} is not tagged read_only"
        yield where.error("cache", message, "policy", "cache_for")


def check_data_sources(
    plan: ActionPlan, domain: DomainModel, fit: Mapping[str, Collection[str]], sources: Collection[tuple[str, str]]
) -> Iterator[PlanFinding]:
    """Yield data parameters that no step provides a value for.

    A parameter may come with a fact. `fit` maps the resolved steps to the predicates that unresolved steps before them
    may provide; `sources` are the (step, parameter) pairs that an earlier step fills.
    """
    for number, step in enumerate(plan.steps):
        if step.id not in fit:
            continue
        action = resolve_action(domain, step.action)
        facts = dict(find_wanted_facts(action, step, step.step(domain)))
        for parameter in action.data:
            is_open = parameter.name in facts and (step.id, parameter.name) not in sources
            if is_open and not parameter.has_default and facts[parameter.name].predicate not in fit[step.id]:
                message = f"no step before it provides {facts[parameter.name]}, with which {parameter.name!r} comes"
                hint = "give its value under 'parameters', unless working memory has it"
                yield PlanPlace.of(number, step).warning("missing-parameter", message, "parameters", hint=hint)


def check_stated(problem: Problem, plan: ActionPlan) -> tuple[list[PlanFinding], list[PlanStep]]:
    """Find mistakes in the conditions that steps state; return them, and the steps without these conditions."""
    reader = ConditionReader(problem)
    place = CodePlace("the plan")
    findings, steps = [], []
    for number, step in enumerate(plan.steps):
        bad: dict[str, set[str]] = {"requires": set(), "expects": set(), "supposes": set()}
        for field, texts in bad.items():
            for index, text in enumerate(getattr(step, field)):
                try:
                    said = reader.condition((text,), place)
                    if field == "supposes":
                        _check_supposed(said, problem)
                except InputError as error:
                    findings.append(PlanPlace.of(number, step).from_error("condition", error, field, index))
                    texts.add(text)
        left = {
            field: tuple([text for text in getattr(step, field) if text not in texts]) for field, texts in bad.items()
        }
        steps.append(step.model_copy(update=left) if any(bad.values()) else step)
    return findings, steps


def _check_supposed(said: Formula, problem: Problem) -> None:
    """Raise `InputError` unless a supposition is a literal of a fact that the plan declares unknown."""
    fact = said.part if isinstance(said, Not) else said
    if not (isinstance(fact, Atom) and any(pattern.matches(fact) for pattern in problem.unknown)):
        hint = "only facts that the plan declares unknown are supposed, or their negations"
        raise InputError(f"it supposes {said}, which is not unknown", hint=hint)


def check_conditions(
    problem: Problem, plan: ActionPlan, steps: Sequence[PlanStep], left_out: Sequence[set[str]]
) -> Iterator[PlanFinding]:
    """Yield the conditions of `steps`, and of the goal, that fail in a simulation.

    The simulation applies a step even if its condition fails, so that later steps are not blamed for it. `left_out`
    has, for each step and for the goal, the predicates that unresolved steps before it may change; conditions on these
    are not checked.
    """
    spelled = spell_out(problem, steps)
    run = _Run(spelled.problem, frozenset(pattern.predicate for pattern in problem.unknown))
    places = {each.id: number for number, each in enumerate(plan.steps)}
    main = frozenset(spelled.main)
    for part, (step, owner) in enumerate(zip(spelled.steps, spelled.owners, strict=True)):
        each = steps[owner]
        where = PlanPlace.of(places[each.id], each)
        own = part in main
        for message in run.find_failures(step, left_out[owner]):
            said = message.replace("it requires", "it is to leave", 1) if step.action.endswith(LEAVES) else message
            yield where.error("condition", said, *() if own else _path_of(step))
        yield from _find_contradictions(run, step, where, own=own)
        run.apply(each.id, step, spelled.steps[spelled.main[owner]])
    goals = list(conjuncts(spelled.problem.goal.hard))
    for message in run.find_unmet(goals, left_out[-1]):
        yield PLAN.error("goal", f"at the end, the goal requires {message}", "goal", "hard")


def _path_of(step: Step) -> tuple[str, ...]:
    return ("requires",) if step.action.endswith(REQUIRES) else ("expects",)


def _find_contradictions(run: _Run, step: Step, where: PlanPlace, *, own: bool) -> Iterator[PlanFinding]:
    """Yield the expected literals of a step that its action makes false."""
    if own or not step.action.endswith(EXPECTS):
        return
    for literal in run.simulation.problem.domain.actions[step.action].provides:
        fact = literal.part if isinstance(literal, Not) else literal
        against = run.latest.removed if isinstance(literal, Atom) else run.latest.provided
        if fact in against:
            does = "ends" if isinstance(literal, Atom) else "provides"
            yield where.error("expects", f"it is to leave {literal}, but its action {does} {fact}", "expects")


class _Run:
    """A simulation that goes on where a condition fails."""

    def __init__(self, problem: Problem, unknown: frozenset[str]) -> None:
        self.simulation = Simulation(problem)
        self.latest = Changes((), (), (), (), ())
        self._chronicle = ChangeHistory(problem.domain.derived, self.simulation.world.state.values)
        self._unknown = unknown

    def find_failures(self, step: Step, left_out: set[str]) -> Iterator[str]:
        """Yield the requirements of `step` that fail, with the reason."""
        found = self.simulation.find_objection(step)
        if found is None:
            return
        if found.misfit:
            yield from () if left_out else (found.misfit,)
            return
        action = self.simulation.problem.domain.actions[step.action]
        binding = bind_parameters(action, step)
        for part in conjuncts(action.requires):
            if not self.simulation.world.solver.holds(self.simulation.rules.compiler.compile(part), binding):
                failing = self.simulation.inspector.smallest_failure(part, binding)
                if self._is_judged(failing, left_out):
                    yield f"it requires {failing}, {self._chronicle.account(failing)}"

    def find_unmet(self, goals: Sequence[Formula], left_out: set[str]) -> Iterator[str]:
        """Yield the goals that do not hold, with the reason."""
        for part in goals:
            if not self.simulation.holds(part):
                failing = self.simulation.inspector.smallest_failure(part, {})
                if self._is_judged(failing, left_out):
                    yield f"{failing}, {self._chronicle.account(failing)}"

    def apply(self, id_: str, step: Step, whole: Step) -> None:
        """Apply `step`, a part of `whole`, even if its condition fails."""
        if isinstance(self.simulation.rules.compile_step(step), str):
            return
        self.latest = self.simulation.apply(step)
        self._chronicle.record(repr(id_), whole, self.latest)

    def _is_judged(self, failing: Formula, left_out: set[str]) -> bool:
        axioms = self.simulation.rules.axioms
        for atom in atoms_in(failing):
            base = axioms.reads(atom.predicate) if atom.predicate in axioms else {atom.predicate}
            if not self._unknown.isdisjoint(base) or not left_out.isdisjoint(base):
                return False
        return True
