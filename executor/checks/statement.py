"""Whether what a plan says about its problem fits the domain: objects, facts, goal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from executor.checks.findings import PLAN, Path, PlanFinding
from executor.plans.action_plan import ActionPlan, Goals
from planner.declare.declarations import objects_of
from planner.declare.places import CodePlace
from planner.declare.syntax import cannot_name, is_name
from planner.declare.types import Types
from planner.errors import InputError
from planner.model import DomainModel, Problem


@dataclass(frozen=True, slots=True)
class Statement:
    """The problem that `plan` states, without what is wrong in it: `plan` is left without that, too.

    `has_start` says whether the state is known from which the plan begins.
    """

    plan: ActionPlan
    problem: Problem
    findings: tuple[PlanFinding, ...]
    has_start: bool


def statement(plan: ActionPlan, domain: DomainModel) -> Statement:
    """Return what `plan` states, and all that is wrong with it."""
    try:
        return Statement(plan, plan.problem(domain), (), has_start=True)
    except InputError:
        known, findings = _objects(plan, domain)
        start = not findings
        if not is_name(plan.name):
            message, rule = cannot_name(plan.name, "a problem")
            findings.append(PLAN.error("statement", message, "name", hint=rule))
            known = known.model_copy(update={"name": "plan"})
        good = known.model_copy(update=_NOTHING)
        for path, fields in _pieces(known):
            facts = {"unknown": good.unknown, "initial": good.initial} if "likely" in fields else {}
            try:
                known.model_copy(update={**_NOTHING, **facts, **fields}).problem(domain)
            except InputError as error:
                findings.append(PLAN.told("statement", error, *path))
                start = start and path[0] in _LATER
            else:
                good = _with(good, fields)
        return Statement(good, good.problem(domain), tuple(findings), start)


_LATER: Final = {"goal": Goals(), "constraints": (), "budgets": {}, "deadline": None}
"""What does not say how the world is in which the plan begins, left empty."""
_NOTHING: Final = {**_LATER, "initial": (), "values": {}, "unknown": (), "likely": {}, "ran": ()}


def _objects(plan: ActionPlan, domain: DomainModel) -> tuple[ActionPlan, list[PlanFinding]]:
    """Return the plan with those objects that the domain can have, and what is wrong with the others."""
    place = CodePlace("the plan")
    good, findings = {}, []
    constants = {each.name: each.types for each in domain.constants}
    for name, types in plan.objects.items():
        try:
            found, _ = objects_of({name: types}, Types.of(domain.types), place)
        except InputError as error:
            findings.append(PLAN.told("statement", error, "objects", name))
            continue
        if constants.get(name, found[name].types) == found[name].types:
            good[name] = types
        else:
            message = f"object {name!r} is a constant of another type, {' or '.join(constants[name])}"
            findings.append(PLAN.error("statement", message, "objects", name))
    return plan.model_copy(update={"objects": good}), findings


def _pieces(plan: ActionPlan) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each thing that a plan states, with where it stands."""
    for name in ("initial", "unknown", "ran"):
        for index, text in enumerate(getattr(plan, name)):
            yield (name, index), {name: (text,)}
    for term, value in plan.values.items():
        yield ("values", term), {"values": {term: value}}
    for name in ("likely", "budgets"):
        for key, value in getattr(plan, name).items():
            yield (name, key), {name: {key: value}}
    for index, each in enumerate(plan.constraints):
        yield ("constraints", index), {"constraints": (each,)}
    if plan.deadline is not None:
        yield ("deadline",), {"deadline": plan.deadline}
    for index, text in enumerate(plan.goal.hard):
        yield ("goal", "hard", index), {"goal": Goals(hard=(text,))}
    for text, utility in plan.goal.soft.items():
        yield ("goal", "soft", text), {"goal": Goals(soft={text: utility})}


def _with(plan: ActionPlan, fields: dict[str, Any]) -> ActionPlan:
    """Return `plan` with more of what `fields` has."""
    ((name, value),) = fields.items()
    known = getattr(plan, name)
    if isinstance(value, Goals):
        more: Any = Goals(hard=(*known.hard, *value.hard), soft={**known.soft, **value.soft})
    elif isinstance(value, dict):
        more = {**known, **value}
    else:
        more = (*known, *value) if isinstance(value, tuple) else value
    return plan.model_copy(update={name: more})
