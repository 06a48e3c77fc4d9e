"""Whether steps say what the domain can understand: actions, arguments, created objects, data parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from executor.checks.findings import Hints, PlanFinding, Where
from executor.plans.action_plan import ActionPlan, PlanStep, StepRate
from executor.plans.dataflow import wanted_facts
from executor.plans.references import references
from planner.declare import resolve_action
from planner.declare.syntax import is_name
from planner.declare.words import either
from planner.errors import InputError, did_you_mean
from planner.model import Action, DataParameter, DomainModel, TypeHierarchy

Types = tuple[str, ...]


class Vocabulary:
    """The actions and objects of a plan; placeholders are known from the step on that creates them.

    `memory` names what working memory has; with `model`, a language model fills what is not fixed.
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
        """Yield what is wrong with the steps of `plan`, one after the other."""
        later = {name: each.id for each in reversed(plan.steps) for name in each.creates.values()}
        for number, step in enumerate(plan.steps):
            where = Where.of(number, step)
            action = self.action(step)
            if isinstance(action, InputError):
                yield where.told("unknown-action", action, "action")
                continue
            yield from self._arguments(where, step, action, later)
            yield from self._created(where, step, action)
            yield from self._data(where, step, action)
            yield from _policy(where, step, action)

    def action(self, step: PlanStep) -> Action | InputError:
        """Return the action that `step` names, or why it names none."""
        try:
            return resolve_action(self._domain, step.action)
        except InputError as error:
            return error

    def _arguments(
        self, where: Where, step: PlanStep, action: Action, later: Mapping[str, str]
    ) -> Iterator[PlanFinding]:
        wanted = {each.name.removeprefix("?"): each.types for each in action.parameters}
        for name in [each for each in wanted if each not in step.arguments]:
            message = f"{action.signature} lacks the argument {name!r}"
            hint = f"name an object of type {either(wanted[name])}"
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
                    message = f"{value!r} is {either(self._objects[value])}, but {name!r} takes {either(wanted[name])}"
                    yield where.error("type", message, *here)
            elif value in later:
                which = "this step itself" if later[value] == step.id else f"step {later[value]!r}"
                message = f"{value!r} does not exist yet: {which} creates it"
                yield where.error("later-step", message, *here)
            else:
                hint = self._hints.near(value, self._objects, "declare it under 'objects'")
                yield where.error("unknown-object", f"no object is called {value!r}", *here, hint=hint)

    def _created(self, where: Where, step: PlanStep, action: Action) -> Iterator[PlanFinding]:
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

    def _data(self, where: Where, step: PlanStep, action: Action) -> Iterator[PlanFinding]:
        wanted = {each.name: each for each in action.data}
        for name, value in step.parameters.items():
            here = "parameters", name
            if name not in wanted:
                is_object = any(each.name == f"?{name}" for each in action.parameters)
                hint = "it is an object: write it under 'arguments'" if is_object else self._hints.near(name, wanted)
                message = f"{action.name} has no data parameter {name!r}"
                yield where.error("unknown-parameter", message, *here, hint=hint)
            elif next(references(value), None) is None:
                yield from self._typed(where, action, wanted[name], value)
        for name, parameter in wanted.items():
            if name not in step.parameters and not self._is_filled(parameter):
                yield where.error("missing-parameter", f"{action.name} lacks a value for {name!r}", "parameters")

    def _is_filled(self, parameter: DataParameter) -> bool:
        by_model = self._model and not parameter.fixed
        return parameter.has_default or by_model or parameter.name in self._memory or parameter.source is not None

    def _typed(self, where: Where, action: Action, parameter: DataParameter, value: Any) -> Iterator[PlanFinding]:
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


def _policy(where: Where, step: PlanStep, action: Action) -> Iterator[PlanFinding]:
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
        message = f"{action.name} is not tagged read_only: no answer of it serves again"
        yield where.error("cache", message, "policy", "cache_for")


def unprovided(
    plan: ActionPlan, domain: DomainModel, fit: Mapping[str, Collection[str]], sources: Collection[tuple[str, str]]
) -> Iterator[PlanFinding]:
    """Yield parameters that come with a fact which no step before provides, as `sources` of the steps `fit` says.

    `fit` maps steps to predicates of facts that may have been provided.
    """
    for number, step in enumerate(plan.steps):
        if step.id not in fit:
            continue
        action = resolve_action(domain, step.action)
        facts = dict(wanted_facts(action, step, step.step(domain)))
        for parameter in action.data:
            is_open = parameter.name in facts and (step.id, parameter.name) not in sources
            if is_open and not parameter.has_default and facts[parameter.name].predicate not in fit[step.id]:
                message = f"no step before it provides {facts[parameter.name]}, with which {parameter.name!r} comes"
                hint = "give its value under 'parameters', unless working memory has it"
                yield Where.of(number, step).warning("missing-parameter", message, "parameters", hint=hint)
