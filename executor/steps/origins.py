"""Where values of data parameters come from, and which of them are text that tools returned.

In the run of an agent, such text may not reach an irreversible step unless somebody approves it, or the author of the
domain lets it pass: `From(…, approved=True)`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from executor.plans.references import references
from executor.record.state import RunState
from executor.record.steps import StepRecord
from planner.model import Action, DataParameter

APPROVAL: Final = "approval"
"""The source of values with which a step was approved."""
PLAN: Final = "plan"
MEMORY: Final = "memory"
FILLED: Final = "filled"
"""The source of what somebody has filled in."""
DEFAULT: Final = "default"
EARLIER: Final = "earlier run"
"""The source of what a step of an earlier run returned."""
UNDONE: Final = ", which is undone"
"""How the source ends of what a step had that is undone."""
RETURNED: Final = "returned"
"""The entry of a waiting step that says which of its values tools returned."""
_NO_TEXT: Final = (bool, int, float, complex, Decimal, Enum, date, time, timedelta, UUID, type(None))


def is_allowed_by_itself(
    state: RunState, record: StepRecord, action: Action, values: Mapping[str, Any], sources: Mapping[str, str]
) -> bool:
    """Return whether nobody has to allow the step with these `values`, which came from `sources`."""
    return not (record.needs_approval(action) or returned(state, record, action, values, sources))


def returned(
    state: RunState, record: StepRecord, action: Action, values: Mapping[str, Any], sources: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the data parameters of an irreversible step whose values have text that tools returned.

    None in runs that no agent has begun, where the flow of data is the author's own decision.
    """
    if not state.is_by_agent or "irreversible" not in action.tags:
        return ()
    return tuple([
        each.name
        for each in action.data
        if each.name in values
        and _is_returned(state, record, each, sources.get(each.name, ""))
        and has_text(each.annotation, values[each.name], {known.name for known in state.source.objects})
    ])  # fmt: skip


def _is_returned(state: RunState, record: StepRecord, parameter: DataParameter, source: str) -> bool:
    """Return whether a value that came from `source` is one that a tool returned, or may be."""
    name = parameter.name
    if source == APPROVAL:
        return record.wait is None or name in record.wait.get(RETURNED, ())
    if source == PLAN:
        return any(True for _ in references(record.plan.parameters.get(name)))
    if source == MEMORY:
        return name not in state.given
    if source == FILLED:
        return record.marked
    if source.endswith(UNDONE):
        undone = next(each for each in map(state.steps.__getitem__, record.plan.undoes) if name in each.parameters)
        return _is_returned(state, undone, parameter, undone.sources.get(name, ""))
    return source != DEFAULT and not (parameter.source is not None and parameter.source.approved)


def has_text(annotation: Any, value: Any, objects: Collection[str] = ()) -> bool:
    """Return whether `value` has free text: any that is no choice of its type, and no name of one of `objects`."""
    texts = {text for text in _texts(value) if text.strip()} - set(objects)
    return bool(texts) and not texts <= _choices(annotation)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts inside `value`; what nobody can look into is one."""
    if isinstance(value, _NO_TEXT):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(key)
            yield from _texts(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, BaseModel):
        for each in (*vars(value).values(), *(value.model_extra or {}).values()):
            yield from _texts(each)
    else:
        yield repr(value)


def _choices(annotation: Any) -> set[str]:
    """Return the texts that a type offers to choose from, as far as its JSON schema says so."""
    try:
        schema = TypeAdapter(annotation).json_schema()
    except Exception:  # noqa: BLE001 - types are others' code: what has no schema offers nothing to choose from
        return set()
    return {each for each in _offered(schema) if isinstance(each, str)}


def _offered(schema: Any) -> Iterator[Any]:
    if isinstance(schema, list):
        for each in schema:
            yield from _offered(each)
    elif isinstance(schema, dict):
        found = schema.get("enum")
        yield from found if isinstance(found, list) else ()
        yield schema.get("const")
        for each in schema.values():
            yield from _offered(each)
