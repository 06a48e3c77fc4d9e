"""Names that others use, resolved: actions by name or simile, objects up to case and punctuation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from executor.agent.foreign.shapes import Call
from planner.declare import resolve_action
from planner.declare.names import folded
from planner.errors import InputError, did_you_mean
from planner.model import Action, Problem
from planner.plan import Step
from planner.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Said:
    """A step as it was written (`text`), and what it means: `step`; `wrong` says why it means nothing, if so.

    `data` are the values for data parameters that came with it.
    """

    text: str
    step: Step
    wrong: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def resolve(problem: Problem, calls: Iterable[Call]) -> list[Said]:
    """Return what each of `calls` means in `problem`."""
    objects: dict[str, list[str]] = {}
    for each in problem.all_objects:
        objects.setdefault(folded(each.name), []).append(each.name)
    return [_resolved(problem, call, objects) for call in calls]


def _resolved(problem: Problem, call: Call, objects: Mapping[str, list[str]]) -> Said:
    try:
        action = resolve_action(problem.domain, call.name)
    except InputError as error:
        return Said(call.text or call.name, Step(call.name, call.positional), str(error))
    arguments, data, wrong = _arguments(action, call)
    found = tuple([_object(each, objects) for each in arguments])
    known = {each.name for each in problem.all_objects}
    unknown = [each for each in found if each not in known and not action.creates]
    if unknown and not wrong:
        near = did_you_mean(unknown[0], known)
        wrong = f"there is no object {unknown[0]!r}{f'; {near}' if near else ''}"
    return Said(call.text or call.name, Step(action.name, found), wrong, data)


def _arguments(action: Action, call: Call) -> tuple[list[str], dict[str, Any], str]:
    """Return the arguments in their order, the values for data parameters, and what is wrong."""
    names = [each.name.removeprefix("?") for each in action.step_parameters]
    open_ = {folded(each.name): each.name for each in action.data}
    if call.named is None:
        given = list(call.positional)
        wrong = "" if len(given) == len(names) else f"{action.signature} takes {len(names)} arguments, not {len(given)}"
        return given, {}, wrong
    by_name = {folded(key): value for key, value in call.named.items()}
    lacking = [name for name in names if folded(name) not in by_name]
    data = {open_[key]: value for key, value in by_name.items() if key in open_}
    wrong = f"{action.signature} lacks {', '.join(lacking)}" if lacking else ""
    return [_text(by_name.get(folded(name), "?")) for name in names], data, wrong


def _text(value: Any) -> str:
    """Return the name of an object that is given as a text, or as a mapping that has its name."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in ("name", "id") if isinstance(value.get(key), str)), value)
    return str(value)


def _object(name: str, objects: Mapping[str, list[str]]) -> str:
    found = objects.get(folded(name), [])
    return name if name in found or len(found) != 1 else found[0]
