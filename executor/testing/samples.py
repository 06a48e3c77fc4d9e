"""Plausible data: what simulated handlers return, so that data flows from step to step."""

from __future__ import annotations

import datetime as dt
import types
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from planner.model import Action, DomainModel
from planner.model.actions import added

DEEPEST: Final = 8
"""Models inside models that are filled."""
_PLAIN: Final[Mapping[Any, Any]] = {
    int: 1,
    float: 1.0,
    bool: True,
    Decimal: Decimal(1),
    bytes: b"data",
    dt.date: dt.date(2026, 1, 1),
    dt.datetime: dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC),
    dt.time: dt.time(9),
    dt.timedelta: dt.timedelta(hours=1),
    dict: {},
    list: [],
    set: set(),
    tuple: (),
    type(None): None,
}


def sample(annotation: Any, label: str, depth: int = 0) -> Any:  # noqa: PLR0911 - a line for each kind of type
    """Return a value of the type `annotation`; texts, and what is not known, are `label`."""
    origin, members = get_origin(annotation), get_args(annotation)
    if annotation in _PLAIN if annotation.__hash__ else False:
        return _PLAIN[annotation]
    if origin is Annotated:
        return sample(members[0], label, depth)
    if origin is Literal:
        return members[0]
    if origin in (list, set, frozenset):
        return origin([sample(members[0], label, depth)])
    if origin is tuple:
        return tuple([sample(each, label, depth) for each in members if each is not ...])
    if origin is dict:
        return {sample(members[0], label, depth): sample(members[1], label, depth)}
    if origin in (Union, types.UnionType):
        return sample(members[0], label, depth)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next(iter(annotation))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and depth < DEEPEST:
        fields = _required(annotation)
        return annotation(**{name: sample(each.annotation, f"{name} of {label}", depth + 1) for name, each in fields})
    return label


def _required(model: type[BaseModel]) -> list[tuple[str, Any]]:
    return [(each.alias or name, each) for name, each in model.model_fields.items() if each.is_required()]


def wanted_of(domain: DomainModel) -> dict[str, dict[str, Any]]:
    """Return, for each action, which paths of its results others take data from, and the type at each."""
    wanted: dict[str, dict[str, Any]] = {name: {} for name in domain.actions}
    for consumer in domain.actions.values():
        for parameter in consumer.data:
            if parameter.source is not None:
                for provider in domain.actions.values():
                    if parameter.source.fact.predicate in _provided(provider):
                        wanted[provider.name].setdefault(parameter.source.path, parameter.annotation)
    return wanted


def _provided(action: Action) -> set[str]:
    return {atom.predicate for when in action.effects for atom in added(when.provides)}


def results_of(wanted: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return the fields of a result that has something at each of the paths `wanted`."""
    found: dict[str, Any] = {}
    for path, annotation in wanted.items():
        *outer, last = path.split(".") if path else ["data"]
        inside = found
        for name in outer:
            inside = inside.setdefault(name, {}) if isinstance(inside.get(name, {}), dict) else {}
        if isinstance(inside.get(last), dict):
            continue
        inside.setdefault(last, sample(annotation, f"{last} of {label}"))
    return found
