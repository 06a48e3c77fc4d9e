"""Constraints in documents: `{never: "…"}`, `{before: {first: …, then: …}}`, and steps as `{done: "action(_)"}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from planner.declare.constraints import Demand, Said, step_pattern
from planner.declare.places import Place
from planner.documents.atoms import Notation
from planner.model import Constraint, ConstraintKind, Done, Happening

if TYPE_CHECKING:
    from planner.documents.schema import ConstraintDocument

_SIMPLE: Final = {
    "always": (ConstraintKind.ALWAYS, 1),
    "sometime": (ConstraintKind.SOMETIME, 1),
    "never": (ConstraintKind.AT_MOST, 0),
}
_STEPS: Final = {"mandatory": (ConstraintKind.SOMETIME, 1), "forbidden": (ConstraintKind.AT_MOST, 0)}
_PARTS: Final = {"before": (ConstraintKind.BEFORE, "first", "then")}
_PARTS["never_after"] = (ConstraintKind.NEVER_AFTER, "what", "after")
KINDS: Final = (*_SIMPLE, *_STEPS, "at_most", *_PARTS)
"""The keys one of which a constraint has."""


def demand_of(document: ConstraintDocument, place: Place) -> Demand:
    """Return what `document` demands; raises `DocumentError` unless it has one of the `KINDS`."""
    found = [kind for kind in KINDS if getattr(document, kind) is not None]
    if len(found) != 1:
        said = f"has the keys {' and '.join(found)}" if found else "says nothing"
        raise place.error(f"a constraint {said}", f"it has one of {', '.join(KINDS)}")
    (key,) = found
    value, here = getattr(document, key), place.within(key)
    if key in _SIMPLE:
        kind, times = _SIMPLE[key]
        return Demand(kind, _said(value, here), place, times=times, utility=document.utility)
    if key in _STEPS:
        kind, times = _STEPS[key]
        step = Said(Done(step_pattern(value, here)), here)
        return Demand(kind, step, place, times=times, utility=document.utility)
    if key == "at_most":
        what = _said(value.what, here.within("what"))
        return Demand(ConstraintKind.AT_MOST, what, here.within("times"), times=value.times, utility=document.utility)
    kind, one, two = _PARTS[key]
    what, other = (_said(getattr(value, part), here.within(part)) for part in (one, two))
    return Demand(kind, what, place, other, utility=document.utility)


def _said(value: Any, place: Place) -> Said:
    """Return a list of conditions, or a step."""
    if isinstance(value, list):
        return Said(value if len(value) != 1 else value[0], place)
    here = place.within("done")
    return Said(Done(step_pattern(value.done, here)), here)


def constraint_document(constraint: Constraint, write: Notation) -> dict[str, Any]:
    """Return `constraint` as plain data."""
    key, value = _entry(constraint, write)
    return {key: value} if constraint.utility is None else {key: value, "utility": constraint.utility}


def _entry(constraint: Constraint, write: Notation) -> tuple[str, Any]:
    what, kind = _happening(constraint.what, write), constraint.kind
    parts = [(key, one, two) for key, (each, one, two) in _PARTS.items() if each is kind]
    if parts and constraint.other is not None:
        key, one, two = parts[0]
        return key, {one: what, two: _happening(constraint.other, write)}
    if kind is ConstraintKind.AT_MOST and constraint.times:
        return "at_most", {"times": constraint.times, "what": what}
    table = _STEPS if isinstance(constraint.what, Done) else _SIMPLE
    key = next(key for key, (each, _) in table.items() if each is kind)
    return key, str(constraint.what.action) if isinstance(constraint.what, Done) else what


def _happening(what: Happening, write: Notation) -> Any:
    if isinstance(what, Done):
        return {"done": str(what.action)}
    parts = write.formula(what)
    return parts[0] if len(parts) == 1 else parts
