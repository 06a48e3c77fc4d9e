"""Define the `Context` of handlers, with working memory and the outline of the plan, and hooks around their calls.

A hook may log a call of a handler, refuse it, or change its input and result.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, Protocol

from typing_extensions import TypeVar

from executor.events.events import Purpose, StepStatus
from executor.tools.containment import as_plain_number, as_plain_text, quote_value
from executor.tools.isolated_values import copy_value, replace_iterators
from executor.tools.kept_values import Lost
from executor.tools.results import ActionResult, Wait
from executor.tools.value_changes import Appended, Spliced, Version, is_change
from planner.errors import InputError, kind_of
from planner.language.declare.fields import find_definition
from planner.model import Action

CAPACITY: Final = 1000
"""Default capacity of a working memory, in entries."""


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A value set in working memory, with its time (seconds since 1970) and step.

    `at` is None in a memory outside of runs; `step` is empty for the initial values of a run.
    """

    value: Any
    at: float | None = None
    step: str = ""


@dataclass(slots=True)
class _Entry:
    changes: list[tuple[Version, float | None, str]] = field(default_factory=list)
    """The versions of the value, each with its time and its step."""
    relevance: float = 0.0

    @property
    def value(self) -> Any:
        return self.changes[-1][0].read()


class Memory:
    """Working memory: values by name, each with all changes that led to it.

    Beyond `capacity` entries, the one with the lowest relevance is dropped, and among equals the oldest; a run says so,
    and keeps what a later step needs. Threads may share a memory. Its methods return copies of values.
    """

    def __init__(self, capacity: int = CAPACITY, on_set: Callable[..., None] | None = None) -> None:
        if capacity < 1:
            raise InputError(f"the capacity of a working memory must be at least 1, got {capacity}")
        self.capacity = capacity
        self._entries: dict[str, _Entry] = {}
        self._on_set = on_set
        self._guard = threading.RLock()
        self.dropped: dict[str, float | None] = {}
        """The entries for which there was no room, with the time when each was dropped."""

    def listen(self, on_set: Callable[..., None]) -> None:
        """Call `on_set(key, value, relevance)` instead of storing a value that is set; `on_set` must call `restore`.

        The value may be `Appended`: `follow` returns what it makes of the entry.

        If a step sets the value, `on_set` also gets the keyword `step`.
        """
        self._on_set = on_set

    def of_step(self, step: str) -> Memory:
        """Return a view of the memory that records the step with the id `step` as the setter of values."""
        found = Memory(self.capacity, partial(self._on_set or self._set_here, step=step))
        found._entries, found._guard, found.dropped = self._entries, self._guard, self.dropped
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """Return a copy of the value of `key`, or `default`; raises `InputError` for one that the journal lost."""
        with self._guard:
            entry = self._entries.get(key)
            if entry is not None and isinstance(entry.value, Lost):
                raise InputError(f"working memory {key!r} was {entry.value.what}, which the journal does not keep")
            return default if entry is None else copy_value(entry.value)

    def set(self, key: str, value: Any, *, relevance: float = 0.0) -> None:
        """Set `key` to `value`; None removes the key. Raises `InputError` for a key that is no text."""
        if not isinstance(key, str):
            raise InputError(f"a key of working memory must be a text, got {quote_value(key)}")
        (self._on_set or self._set_here)(as_plain_text(key), copy_value(replace_iterators(value)), relevance)

    def append(self, key: str, piece: Any) -> None:
        """Add `piece` to the end of a text if both are texts, else as an item to the end of a list.

        There need not be one yet. The cost grows with the piece, not with what is there. Raises `InputError` where
        there is something else.
        """
        if not isinstance(key, str):
            raise InputError(f"a key of working memory must be a text, got {quote_value(key)}")
        piece = copy_value(replace_iterators(piece))
        with self._guard:
            relevance = self._entries[key].relevance if key in self._entries else 0.0
        (self._on_set or self._set_here)(as_plain_text(key), Appended(piece), relevance)

    def follow(self, key: str, value: Any) -> Any:
        """Return the change, or the whole value, that `value` makes of the entry `key` if it is `Appended`."""
        if type(value) is not Appended:
            return value
        before, is_text = self._entries[key].value if key in self._entries else None, type(value.piece) is str
        if before is None:
            return value.piece if is_text else [value.piece]
        if type(before) is list or (is_text and type(before) is str):
            return Spliced(len(before), value.piece if type(before) is str else [value.piece])
        raise InputError(f"working memory {key!r} is {kind_of(before)}: nothing can be appended to it")

    def _set_here(self, key: str, value: Any, relevance: float = 0.0, *, step: str = "") -> None:
        with self._guard:
            self.restore(key, self.follow(key, value), relevance, step=step)
            for each in self.find_least_relevant({key}):
                self.drop(each)

    def drop(self, key: str, at: float | None = None) -> None:
        """Drop an entry for which there is no room."""
        with self._guard:
            if self._entries.pop(key, None) is not None:
                self.dropped[key] = at

    def restore(self, key: str, value: Any, relevance: float = 0.0, *, at: float | None = None, step: str = "") -> None:
        """Set `key` to `value` without calling `on_set`, with the time `at` and `step`; None removes the key.

        A `value` that is a change is one of the present value of `key`. Nothing is dropped. Raises `KeyError` for a
        change of a value that there is not.
        """
        with self._guard:
            entry = self._entries.pop(key, None) or _Entry()
            if value is None:
                return
            if is_change(value) and not entry.changes:
                raise KeyError(f"working memory has no {key!r} to change")
            made = entry.changes[-1][0].change(value) if is_change(value) else Version(value)
            entry.changes.append((made, at, step))
            entry.relevance = relevance
            self._entries[key] = entry
            self.dropped.pop(key, None)

    def version(self, key: str) -> Version:
        """Return the present version of `key`, which there must be."""
        return self._entries[key].changes[-1][0]

    def find_least_relevant(self, needed: Collection[str] = ()) -> list[str]:
        """Return the entries to drop that are more than there is room for, as far as they are not `needed`."""
        with self._guard:
            excess = len(self._entries) - self.capacity
            others = [key for key in self._entries if key not in needed] if excess > 0 else []
            return sorted(others, key=lambda key: self._entries[key].relevance)[: max(excess, 0)]

    def history(self, key: str) -> tuple[MemoryChange, ...]:
        """Return the changes of `key` since it was added, oldest first, the present value last."""
        with self._guard:
            entry = self._entries.get(key)
            changes = [] if entry is None else entry.changes
            return tuple([MemoryChange(copy_value(version.read()), at, step) for version, at, step in changes])

    def merge(self, values: Mapping[str, Any]) -> None:
        """Set all of `values`."""
        for key, value in values.items():
            self.set(key, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the values by key, the oldest first."""
        with self._guard:
            return {key: copy_value(entry.value) for key, entry in self._entries.items()}

    def by_relevance(self) -> list[tuple[str, Any]]:
        """Return keys and values, the most relevant first; the last is the next to be dropped."""
        with self._guard:
            latest_first = reversed(self._entries.items())
            ranked = sorted(latest_first, key=lambda item: item[1].relevance, reverse=True)
            return [(key, copy_value(entry.value)) for key, entry in ranked]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], capacity: int = CAPACITY) -> Memory:
        """Make a memory with `values`; raises `InputError` if there is no room for all."""
        memory = cls(capacity)
        if len(values) > capacity:
            raise InputError(
                f"working memory has room for {capacity} entries, and is given {len(values)}",
                hint=f"Executor(…, capacity={len(values)}) or more",
            )
        memory.merge(values)
        return memory

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        with self._guard:
            return iter(list(self._entries))


DepsT = TypeVar("DepsT", default=Any)
"""Type of the deps of a run."""


@dataclass(frozen=True, slots=True)
class LookContext(Generic[DepsT]):
    """Context of an observer: the name of the run that looks; "" outside of runs."""

    run: str
    _deps: Callable[[], Any]

    @property
    def deps(self) -> DepsT:
        """What was given for the run alone; see `Context.deps`."""
        found: DepsT = self._deps()
        return found


@dataclass(slots=True, eq=False)
class Context(Generic[DepsT]):
    """Context of a handler: the step that it carries out, and the run around it.

    `key` is the idempotency key: the same in every attempt of the step, also after a restart; that of an irreversible
    step is the same in all runs that want it done once. `token` is the fencing
    token of the run: it grows each time that a process takes the run up, so that a service can refuse the requests of a
    process that was cut off and does not know it yet; 0 without a journal. `results` maps ids of
    earlier steps, or names of actions, to results; `undoes` has the results of the steps that this one undoes.
    `aborted` is set when the run is called off or the time limit of the step has passed: a plain function in a thread
    should check it. In a plan in time, `duration` says how many seconds the step is planned to last. `answer` is what
    a `Wait` that `goes_on` has waited for; None at first.
    """

    plan: str
    run: str
    step: str
    action: str
    attempt: int
    key: str
    token: int
    memory: Memory
    results: Mapping[str, Any]
    undoes: tuple[Mapping[str, Any], ...]
    aborted: asyncio.Event
    model: Any
    """Access to the language model (`language_model.checked_answers.Asking`); None if the run has none."""
    duration: float | None
    _outline: Callable[[], Outline]
    _on_progress: Callable[[str, float | None], None]
    _on_replanning: Callable[[str], None]
    answer: Any = None
    _deps: Callable[[], Any] = lambda: None

    @property
    def deps(self) -> DepsT:
        """What was given for the run alone, such as clients; None where nothing was.

        Raises `MissingDeps` in a run that was begun with some, and taken up without.
        """
        found: DepsT = self._deps()
        return found

    @property
    def outline(self) -> Outline:
        """The present plan, and the place of this step in it."""
        return self._outline()

    def progress(self, text: str, fraction: float | None = None) -> None:
        """Report progress to the listeners of the run; raises `InputError` for a `fraction` not from 0 to 1."""
        if fraction is not None and not (isinstance(fraction, int | float) and 0 <= fraction <= 1):
            raise InputError(f"the fraction of progress must be between 0 and 1, got {quote_value(fraction)}")
        self._on_progress(as_plain_text(str(text)), None if fraction is None else as_plain_number(fraction))

    def request_replanning(self, reason: str = "") -> None:
        """Request replanning once this step is over."""
        self._on_replanning(as_plain_text(str(reason)))


@dataclass(frozen=True, slots=True)
class HandlerCall:
    """The call of the handler `skill` for a step of `action`, before it is made.

    `arguments` are copies of the arguments by name: objects, and the values of data parameters.
    """

    action: Action
    skill: str
    arguments: Mapping[str, Any]
    context: Context


class Proceed(Protocol):
    """Calls the next hook, or the handler behind the last one."""

    def __call__(self, **changes: Any) -> Awaitable[ActionResult | Wait]:
        """Return the answer of the next call, or raise its error. `changes` replace values of data parameters."""


Hook = Callable[[HandlerCall, Proceed], Awaitable[Any]]


def check_hook(hook: Hook) -> None:
    """Raise `DeclarationError` for a hook that is not asynchronous or does not take two arguments."""
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
    """A step of the plan: `arguments` are the objects by parameter, including created ones."""

    id: str
    action: str
    arguments: Mapping[str, str]
    status: StepStatus
    description: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """The present plan of a run, and the place of one of its steps.

    `goal` has the conditions of the goal, and `purpose` is that of the step. `number` is its place among `steps`,
    counted from 1.
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
