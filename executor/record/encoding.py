"""Events as data, as the journal keeps them, and events made of it again."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from executor.plans.creation import name_of
from executor.record.events import KINDS, Disagreement, Event, RunEnded, Rung, RungTaken, StepEnded, StepReturned
from executor.record.facts import Note, Provenance
from executor.record.status import RunStatus, StepStatus
from planner.model import Atom

_FIELDS: Final[Mapping[type[Any], tuple[str, ...]]] = {kind: kind.__match_args__ for kind in KINDS.values()}
_ENUMS: Final[Mapping[type[Any], Mapping[str, type[Enum]]]] = {
    StepEnded: {"status": StepStatus},
    RunEnded: {"status": RunStatus},
    RungTaken: {"rung": Rung},
}

_NOTED: Final = ("facts", "awaited", "strangers")


def to_data(event: Event) -> dict[str, Any]:
    """Return the fields of `event` as JSON-ready data, but for values that handlers and authors gave."""
    found: dict[str, Any] = {name: getattr(event, name) for name in _FIELDS[type(event)]}
    for name in _ENUMS.get(type(event), ()):
        found[name] = found[name].name
    if isinstance(event, StepReturned | StepEnded) and event.result and event.result.get("created"):
        created = {name: name_of(each) for name, each in event.result["created"].items()}
        found["result"] = {**event.result, "created": created}
    for name in _NOTED:
        if name in found:
            found[name] = [_from_note(each) if isinstance(each, Note) else _from_atom(each) for each in found[name]]
    return found


def from_data(kind: str, data: Mapping[str, Any]) -> Event:
    """Return the event that `to_data` made `data` of; raises `KeyError` or `ValueError` for anything else."""
    cls = KINDS[kind]
    found: dict[str, Any] = dict(data)
    for name, enum in _ENUMS.get(cls, {}).items():
        found[name] = enum[found[name]]
    for name in _NOTED:
        if name in found:
            read = _to_atom if cls is Disagreement and name == "facts" else _to_note
            found[name] = tuple([read(each) for each in found[name]])
    for name in ("steps", "choices", "known", "left", "creates"):
        if isinstance(found.get(name), list):
            found[name] = tuple(found[name])
    return cls(**found)  # type: ignore[no-any-return]  # one of the union


def _from_atom(atom: Atom) -> list[str]:
    return [atom.predicate, *atom.args]


def _to_atom(data: list[str]) -> Atom:
    return Atom(data[0], tuple(data[1:]))


def _from_note(note: Note) -> list[Any]:
    conclusive = [True] if note.conclusive else []
    return [_from_atom(note.fact), note.holds, note.provenance.name, note.source, note.version, *conclusive]


def _to_note(data: list[Any]) -> Note:
    return Note(_to_atom(data[0]), data[1], Provenance[data[2]], *data[3:])
