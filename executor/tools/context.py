"""Define what a handler may ask for besides its parameters: its `Context`, with working memory and outline of the plan.

`Hook` functions stand around every call of a handler: they may log it, refuse it, or change its input and result.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from executor.events.events import Purpose, StepStatus
from executor.tools.containment import as_plain_number, as_plain_text, quote_value
from executor.tools.isolated_values import copy_value, replace_iterators
from executor.tools.results import ActionResult, Wait
from planner.errors import InputError
from planner.language.declare.fields import find_definition
from planner.model import Action

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    pass

CAPACITY: Final = 1000
"""Entries of a working memory, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A value that was set in working memory, when (in seconds since 1970), and by which step.

    `at` is None in a memory that belongs to no run; `step` is empty for what the run was given when it began.
    """

    value: Any
    at: float | None = None
    step: str = ""


@dataclass(slots=True)
class _Entry:
    changes: list[MemoryChange] = field(default_factory=list)
    relevance: float = 0.0

    @property
    def value(self) -> Any:
        return self.changes[-1].value


class Memory:
    """Working memory: values by name, each with all changes that led to it.

    When there are more than `capacity` entries, the least relevant goes: that with the lowest stated relevance, among
    those the one that was set longest ago. Threads may share a memory. What it gives is a copy of what it has.
    """

    def __init__(self, capacity: int = CAPACITY, on_set: Callable[..., None] | None = None) -> None:
        if capacity < 1:
            raise InputError(f"a working memory has room for one entry at least, not {capacity}")
        self.capacity = capacity
        self._entries: dict[str, _Entry] = {}
        self._on_set = on_set
        self._guard = threading.RLock()

    def listen(self, on_set: Callable[..., None]) -> None:
        """Have `on_set(key, value, relevance)` called instead of keeping what is set: it must call `restore`.

        It gets the keyword `step` as well where a step sets the value.
        """
        self._on_set = on_set

    def of_step(self, step: str) -> Memory:
        """Return the same memory for the step with the id `step`: what is set there counts as set by that step."""
        found = Memory(self.capacity, partial(self._on_set or self.restore, step=step))
        found._entries, found._guard = self._entries, self._guard
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, or `default`."""
        with self._guard:
            entry = self._entries.get(key)
            return default if entry is None else copy_value(entry.value)

    def set(self, key: str, value: Any, *, relevance: float = 0.0) -> None:
        """Keep `value` under `key`; None takes the key out. Raises `InputError` for a key that is no text."""
        if not isinstance(key, str):
            raise InputError(f"working memory has values by name, and {quote_value(key)} is no text")
        (self._on_set or self.restore)(as_plain_text(key), copy_value(replace_iterators(value)), relevance)

    def restore(self, key: str, value: Any, relevance: float = 0.0, *, at: float | None = None, step: str = "") -> None:
        """Keep `value` under `key`, set `at` that time by `step`, and tell nobody; None takes the key out."""
        with self._guard:
            entry = self._entries.pop(key, None) or _Entry()
            if value is None:
                return
            entry.changes.append(MemoryChange(value, at, step))
            entry.relevance = relevance
            self._entries[key] = entry
            self._make_room(key)

    def history(self, key: str) -> tuple[MemoryChange, ...]:
        """Return the changes of `key` since it came into memory, the oldest first and the present value last."""
        with self._guard:
            entry = self._entries.get(key)
            changes = [] if entry is None else entry.changes
            return tuple([MemoryChange(copy_value(each.value), each.at, each.step) for each in changes])

    def merge(self, values: Mapping[str, Any]) -> None:
        """Keep all of `values`."""
        for key, value in values.items():
            self.set(key, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the values by key, the one set longest ago first."""
        with self._guard:
            return {key: copy_value(entry.value) for key, entry in self._entries.items()}

    def by_relevance(self) -> list[tuple[str, Any]]:
        """Return keys and values, the most relevant first: the one that would make room for others stands last."""
        with self._guard:
            latest_first = reversed(self._entries.items())
            ranked = sorted(latest_first, key=lambda item: item[1].relevance, reverse=True)
            return [(key, copy_value(entry.value)) for key, entry in ranked]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], capacity: int = CAPACITY) -> Memory:
        """Return a memory that holds `values`."""
        memory = cls(capacity)
        memory.merge(values)
        return memory

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        with self._guard:
            return iter(list(self._entries))

    def _make_room(self, newest: str) -> None:
        while len(self._entries) > self.capacity:
            others = (key for key in self._entries if key != newest)
            del self._entries[min(others, key=lambda key: self._entries[key].relevance)]


@dataclass(slots=True, eq=False)
class Context:
    """What a handler knows about the step that it carries out.

    `key` is the same in every attempt of the step, also after a restart: give it to services that do things once for
    each key. `results` gives what earlier steps returned, by the id of the step or the name of its action; `undoes` has
    the results of the steps that this one undoes, if it does. `aborted` is set when the run is called off or the time
    of the step is up: a plain function in a thread should look at it.
    """

    plan: str
    run: str
    step: str
    action: str
    attempt: int
    key: str
    memory: Memory
    results: Mapping[str, Any]
    undoes: tuple[Mapping[str, Any], ...]
    aborted: asyncio.Event
    model: Any
    """What a language model is asked with (`language_model.checked_answers.Asking`); None where the run has none."""
    _outline: Callable[[], Outline]
    _on_progress: Callable[[str, float | None], None]
    _on_replanning: Callable[[str], None]

    @property
    def outline(self) -> Outline:
        """The plan as it is now, and where this step stands in it."""
        return self._outline()

    def progress(self, text: str, fraction: float | None = None) -> None:
        """Tell whoever follows the run how far the step is; raises `InputError` for a `fraction` not from 0 to 1."""
        if fraction is not None and not (isinstance(fraction, int | float) and 0 <= fraction <= 1):
            raise InputError(f"the fraction that is done is between 0 and 1, not {quote_value(fraction)}")
        self._on_progress(as_plain_text(str(text)), None if fraction is None else as_plain_number(fraction))

    def request_replanning(self, reason: str = "") -> None:
        """Ask for another plan for what is left, once this step is over."""
        self._on_replanning(as_plain_text(str(reason)))


@dataclass(frozen=True, slots=True)
class HandlerCall:
    """A handler that is about to be called: that of the name `skill`, for a step with `action`.

    `arguments` are those of the action by name: objects, and the values of data parameters. They are copies.
    """

    action: Action
    skill: str
    arguments: Mapping[str, Any]
    context: Context


class Proceed(Protocol):
    """Calls the next hook, or the handler behind the last one."""

    def __call__(self, **changes: Any) -> Awaitable[ActionResult | Wait]:
        """Return what it answers; raises what it raises. `changes` are other values for data parameters."""


Hook = Callable[[HandlerCall, Proceed], Awaitable[Any]]


def check_hook(hook: Hook) -> None:
    """Raise `DeclarationError` for what cannot stand around a call."""
    hint = "async def hook(call, proceed): return await proceed()"
    call = type(hook).__call__ if callable(hook) else None
    if not (inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(call)):
        raise find_definition(hook).error(f"{hook!r} is no asynchronous function", hint)
    try:
        inspect.signature(hook).bind(None, None)
    except TypeError:
        raise find_definition(hook).error("a hook takes the call and what proceeds with it", hint) from None


@dataclass(frozen=True, slots=True)
class OutlineStep:
    """A step of the plan: `arguments` are the objects by parameter, those that it creates included."""

    id: str
    action: str
    arguments: Mapping[str, str]
    status: StepStatus
    description: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """The plan of a run as it is now, and where one of its steps stands in it.

    `goal` has the conditions that the run is for, and `purpose` says what the step is for. `number` is its place among
    `steps`, counted from 1.
    """

    plan: str
    goal: tuple[str, ...]
    model: str
    steps: tuple[OutlineStep, ...]
    number: int
    purpose: Purpose

    @property
    def left(self) -> tuple[OutlineStep, ...]:
        """The steps that have not begun."""
        return tuple([each for each in self.steps if each.status is StepStatus.PENDING])

    @property
    def done(self) -> tuple[OutlineStep, ...]:
        """The steps that are done."""
        return tuple([each for each in self.steps if each.status.is_done])
