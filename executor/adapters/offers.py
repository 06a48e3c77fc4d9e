"""Offer tools to an agent: what they are for, and which objects their arguments may be."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from executor.loop.parameters import find_schema
from planner.compilations.object_creation import declared_arguments
from planner.lightweight import replace
from planner.model import Action, Problem, TypeHierarchy
from planner.model.object_names import written_name
from planner.plan import Step

MOST_NAMES: Final = 50
"""Most objects that the schema of a parameter lists; of more, it takes any text."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that is offered now; `parameters` is the JSON schema of its arguments, `steps` are the planned ones."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    steps: tuple[Step, ...] = ()
    needs_approval: bool = False


def name_step(problem: Problem, step: Step) -> str:
    """Name a planned step without placeholders of what it creates."""
    return str(replace(step, arguments=declared_arguments(problem, step)))


def make_offer(action: Action, problem: Problem, steps: Collection[Step] = ()) -> Offer:
    """Offer an action with the objects of `problem`; `steps` are those of the plan that come next."""
    planned = tuple([each for each in steps if each.action == action.name])
    tags = " It cannot be taken back." if "irreversible" in action.tags else ""
    now = f" Now: {' or '.join(map(partial(name_step, problem), planned))}." if planned else ""
    schema = _make_schema(action, problem, planned)
    return Offer(
        action.name,
        f"{action.description or action.signature}{tags}{now}",
        schema,
        planned,
        "needs_approval" in action.tags,
    )


def _make_schema(action: Action, problem: Problem, planned: Collection[Step]) -> dict[str, Any]:
    """Return the schema of the arguments: objects of the planned steps, or of the right type, and data."""
    hierarchy = TypeHierarchy(problem.domain.types)
    properties: dict[str, Any] = {}
    required = []
    for place, parameter in enumerate(action.parameters):
        name = parameter.name.removeprefix("?")
        fitting = [each.name for each in problem.all_objects if hierarchy.is_a(each.types, parameter.types)]
        if planned:
            fitting = list(dict.fromkeys(each.arguments[place] for each in planned))
        listed = {"enum": list(map(written_name, fitting))} if 0 < len(fitting) <= MOST_NAMES else {}
        properties[name] = {"type": "string", "description": " or ".join(parameter.types), **listed}
        required.append(name)
    for each in action.data:
        if each.source is None and not each.fixed:
            described = {"description": each.description} if each.description else {}
            properties[each.name] = find_schema(each.annotation) | described
            required += [] if each.has_default else [each.name]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
