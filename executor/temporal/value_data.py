"""Write values as JSON data for the history of a workflow: results of searches, answers of observers, events.

A result is recorded in the history of a workflow, and history is data of others: what is read can only become values of
plain dataclasses and enums that are defined in `planner`, `htn` or `executor`, never a call of anything else.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Final

from executor.events.fluent_values import read_number
from executor.plans.created_objects import name_of
from executor.tools.json_data import data_of, dump_json, load_json
from executor.tools.kept_values import Keeper, recall_value
from executor.tools.observers import CANNOT_SAY, Facts, Seen, as_comparable_version
from executor.tools.results import ActionResult
from executor.tools.returned_values import restore_result
from planner.errors import InputError
from planner.language.declare.marks import Entity
from planner.model.arithmetic import show_number
from planner.plan import Plan

KIND: Final = "!"
"""Key of the kind of a value that JSON lacks."""
_OWN: Final = ("planner.", "htn.", "executor.")
_COLLECTIONS: Final[Mapping[str, type[Any]]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_NUMBERS: Final[Mapping[str, type[Any]]] = {"Decimal": Decimal, "Fraction": Fraction}


def write_value(value: Any) -> Any:
    """Return `value` as JSON data; raises `InputError` for a value of another kind."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    kind = type(value)
    if kind is list:
        return [write_value(each) for each in value]
    if kind.__name__ in _COLLECTIONS and kind is _COLLECTIONS[kind.__name__]:
        items = [write_value(each) for each in value]
        return {KIND: kind.__name__, "of": items if kind is tuple else sorted(items, key=repr)}
    if kind in _NUMBERS.values():
        return {KIND: kind.__name__, "of": str(value)}
    if isinstance(value, Mapping):
        return {KIND: "dict", "of": [[write_value(key), write_value(each)] for key, each in value.items()]}
    if isinstance(value, Enum):
        return {KIND: _name_of(kind), "of": value.name}
    if dataclasses.is_dataclass(value) and kind.__module__.startswith(_OWN):
        fields = {name: getattr(value, name) for name in _fields_of(kind)}
        if isinstance(value, Plan):
            fields["problem"] = None  # the run knows it, and its types are Python's
        return {KIND: _name_of(kind), "of": [write_value(each) for each in fields.values()]}
    raise InputError(f"a {kind.__name__} cannot be recorded in the history of a run")


def read_value(data: Any) -> Any:
    """Return the value that `write_value` wrote; raises `InputError` for anything else."""
    if isinstance(data, list):
        return [read_value(each) for each in data]
    if not isinstance(data, dict):
        return data
    name, content = data[KIND], data["of"]
    if name == "dict":
        return {read_value(key): read_value(each) for key, each in content}
    if name in _COLLECTIONS:
        return _COLLECTIONS[name](read_value(each) for each in content)
    if name in _NUMBERS:
        return _NUMBERS[name](content)
    kind = _find_class(name)
    if issubclass(kind, Enum):
        return kind[content]
    return _make_record(kind, [read_value(each) for each in content])


def _name_of(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _fields_of(kind: type[Any]) -> tuple[str, ...]:
    return tuple([each.name for each in dataclasses.fields(kind)])


def _find_class(name: str) -> type[Any]:
    """Return the dataclass or enum of ours called `name`; raises `InputError` if there is none."""
    module, _, path = name.partition(":")
    found: Any = None
    if f"{module}.".startswith(_OWN) and path.isidentifier():
        found = getattr(importlib.import_module(module), path, None)
    is_own = isinstance(found, type) and found.__module__ == module
    if is_own and (issubclass(found, Enum) or dataclasses.is_dataclass(found)):
        return found  # type: ignore[no-any-return]  # a class of ours
    raise InputError(f"the history of a run names {name!r}, which is no record of Forethought")


def _make_record(kind: type[Any], values: list[Any]) -> Any:
    """Make a record of `kind` with `values` in its fields, as they were; nothing is checked or computed again.

    A field that the version which wrote them did not have gets its default value.
    """
    made = object.__new__(kind)
    later = [each.default for each in dataclasses.fields(kind)[len(values) :]]
    for name, value in zip(_fields_of(kind), [*values, *later], strict=True):
        object.__setattr__(made, name, value)
    return made


_CANNOT: Final = "cannot say"


def write_answer(answer: Any) -> Any:
    """Return the answer of an observer as JSON data, in which objects are their names."""
    if answer is CANNOT_SAY:
        return {KIND: _CANNOT}
    if isinstance(answer, Seen):
        return {KIND: "seen", "of": write_answer(answer.value), "version": as_comparable_version(answer.version)}
    if isinstance(answer, Facts):
        return {KIND: "facts", "of": [[str(fact), write_answer(each)] for fact, each in answer.facts.items()]}
    if answer is None or isinstance(answer, bool):
        return answer
    if isinstance(answer, int | float | Decimal | Fraction):
        return write_value(answer)
    if isinstance(answer, str | Entity) or not isinstance(answer, Iterable):
        number = read_number(answer)
        return name_of(answer) if number is None else write_value(Fraction(show_number(number)))
    if isinstance(answer, Mapping):
        return {KIND: "map", "of": [[write_answer(key), write_answer(each)] for key, each in answer.items()]}
    items = [write_answer(each) for each in answer]
    if isinstance(answer, tuple):
        return {KIND: "tuple", "of": items}
    return sorted(items, key=repr) if isinstance(answer, set | frozenset) else items


def read_answer(data: Any) -> Any:
    """Return the answer that `write_answer` wrote."""
    if isinstance(data, list):
        return [read_answer(each) for each in data]
    if not isinstance(data, dict):
        return data
    match data[KIND]:
        case "cannot say":
            return CANNOT_SAY
        case "seen":
            return Seen(read_answer(data["of"]), data["version"])
        case "facts":
            return Facts({fact: read_answer(each) for fact, each in data["of"]})
        case "map":
            return {read_answer(key): read_answer(each) for key, each in data["of"]}
        case "tuple":
            return tuple(read_answer(each) for each in data["of"])
        case _:
            return read_value(data)


Entry = tuple[str, str, float]
"""An event of a run: its kind, its data as JSON text, and its time in seconds since 1970."""


def pack_text(text: str) -> str:
    """Return a compressed `text`: a payload of Temporal holds 2 MB."""
    return base64.b85encode(zlib.compress(text.encode())).decode()


def unpack_text(packed: str) -> str:
    """Return the text that `pack_text` compressed."""
    return zlib.decompress(base64.b85decode(packed)).decode()


def pack_entries(entries: Sequence[Entry]) -> str:
    """Return events as one compressed text."""
    return pack_text(json.dumps(entries, separators=(",", ":")))


def unpack_entries(packed: str) -> list[Entry]:
    """Return the events in a text of `pack_entries`."""
    return [(kind, data, time) for kind, data, time in json.loads(unpack_text(packed))]


def make_plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `data` as plain JSON data, in the form that a journal would keep."""
    found: dict[str, Any] = load_json(dump_json(data))
    return found


_OF_USERS: Final = ("data", "values", "created", "found")
"""The fields of a result that hold values of whoever carries steps out."""


def write_result(result: ActionResult) -> dict[str, Any]:
    """Return `result` as JSON data, in which the values of users keep their types."""
    found = data_of(result)
    return make_plain(found | {name: keep_values(found[name]) for name in _OF_USERS if found[name] is not None})


def read_result(told: Mapping[str, Any]) -> ActionResult:
    """Return the result that `write_result` wrote."""
    return restore_result({**told, **{name: recall_value(told[name]) for name in _OF_USERS if name in told}})


def keep_values(values: Any) -> Any:
    """Return values of users as JSON data, from which `recall_value` makes them again; see `Keeper`."""
    return Keeper().keep(values)
