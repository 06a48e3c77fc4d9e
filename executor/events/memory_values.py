"""Write and read the values of working memory in events as changes of the values before.

A transcript that grows at each step would else be written whole at each step. What is kept of events says what
changed; listeners hear whole values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from executor.events.events import Event, MemorySet, RunStarted, StepEnded, StepReturned, StepStarted
from executor.tools.context import Memory
from executor.tools.isolated_values import copy_value
from executor.tools.kept_values import Keeper, Kept, mark_changes
from executor.tools.value_changes import Appended, Change, Spliced, Versions, apply_change, describe_change, is_change
from planner.lightweight import replace

MEMORY: Final = "memory"
"""Source of values of data parameters that come from working memory."""
Convert = Callable[[str, Any, str], Any]
"""Converts a value of working memory, by its key and its place in the event."""


def convert_values(event: Event, convert: Convert) -> Event:
    """Return `event` with its values of working memory converted, or the event itself where none changes."""
    match event:
        case MemorySet(key, value):
            made = convert(key, value, "value")
            return event if made is value else replace(event, value=made)
        case StepReturned(_, result) | StepEnded(result=result) if result and result.get("values"):
            values = _convert_each(result["values"], list(result["values"]), convert, "result.values")
            return event if values is result["values"] else replace(event, result={**result, "values": values})
        case StepStarted(_, _, _, _, parameters, sources) if MEMORY in sources.values():
            names = [name for name, source in sources.items() if source == MEMORY and name in parameters]
            values = _convert_each(parameters, names, convert, "parameters")
            return event if values is parameters else replace(event, parameters=values)
    return event


def _convert_each(values: Mapping[str, Any], names: Iterable[str], convert: Convert, place: str) -> Mapping[str, Any]:
    made = {name: convert(name, values[name], f"{place}.{name}") for name in names}
    changed = {name: each for name, each in made.items() if each is not values[name]}
    return {**values, **changed} if changed else values


def list_set(event: Event) -> Mapping[str, Any]:
    """Return the values of working memory that `event` sets."""
    match event:
        case RunStarted(_, _, _, memory):
            return memory
        case MemorySet(key, value):
            return {key: value}
        case StepEnded(_, status, _, result) if status.is_done and result is not None:
            return result.get("values") or {}
    return {}


def shorten_event(event: Event, memory: Memory) -> Event:
    """Return `event` with changes of the values in `memory`, as it is before the event, in place of whole values."""

    def shorten(key: str, value: Any, _: str) -> Any:
        value = memory.follow(key, value)
        is_whole = key in memory and not is_change(value)
        change = describe_change(memory.version(key).read(), value) if is_whole else None
        return value if change is None else change

    return convert_values(event, shorten)


def expand_event(event: Event, memory: Memory) -> Event:
    """Return `event` with whole values in place of changes of those in `memory`, as it is before the event."""

    def expand(key: str, value: Any, _: str) -> Any:
        return copy_value(apply_change(memory.version(key).read(), value)) if is_change(value) else value

    return convert_values(event, expand)


def complete_appended(event: Event, memory: Memory) -> Event:
    """Return `event`, which `memory` has heard of, with the whole value where it has appended a piece."""
    if isinstance(event, MemorySet) and type(event.value) is Appended:
        return replace(event, value=memory.version(event.key).read())
    return event


def share_versions(values: Mapping[str, Any], memory: Memory) -> Mapping[str, Any]:
    """Return the values of data parameters with versions of `memory`, or whole values, in place of changes."""

    def share(name: str, value: Any) -> Any:
        if not is_change(value):
            return value
        version = memory.version(name)
        before = version.read()
        return version if value.leaves_as_it_is(before) else value.apply(before)

    if not any(is_change(each) for each in values.values()):
        return values
    return Versions({name: share(name, each) for name, each in values.items()})


class WrittenMemory:
    """The values of `memory` as a journal has them: what is written next says how it differs from them.

    What was written counts, as handlers may change objects in place that they share with the memory.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._written: dict[str, Any] = {}
        self._next: dict[str, Any] = {}

    def shorten(self, event: Event, lost: dict[str, str]) -> Event:
        """Return `event` with its values as they are to be written; what is not kept of them is told to `lost`."""
        self._next = {}

        def shorten(key: str, value: Any, place: str) -> Any:
            value = self._memory.follow(key, value)
            change: Change | None
            if type(value) is Spliced:
                change = replace(value, middle=Keeper(lost).keep(value.middle, place))
                data = change.apply(self._recall(key))
            else:
                data = Keeper(lost).keep(value, place)
                change = describe_change(self._recall(key), data)
            self._next[key] = data
            return Kept(data if change is None else mark_changes(change))

        return convert_values(event, shorten)

    def note(self, event: Event) -> None:
        """Note that `event`, which was shortened last, is written."""
        self._written.update({key: self._next[key] for key in list_set(event) if key in self._next})

    def _recall(self, key: str) -> Any:
        """Return the present value of `key` as it was written; None where there is none."""
        if key not in self._memory:
            return None
        if key not in self._written:
            self._written[key] = Keeper().keep(self._memory.version(key).read())
        return self._written[key]
