"""Nested runs: a run that the handler of a step begins is a child of that step, with a name of its own.

The name follows from the step, so that another attempt at it, in whichever process, comes to the same child. A handler
that would wait for a run which waits for its own is refused.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from executor.errors import RunError

DIGITS: Final = 10
"""Hexadecimal digits of a child's name: they tell the children of one step apart."""


class _CanBeCalledOff(Protocol):
    def cancel_soon(self) -> None:
        """Call the run off, from any thread."""


class RunKey(NamedTuple):
    """A run, by the place of its journal, or else by what tells executors apart, and by its id."""

    place: str | int
    run: str


@dataclass(slots=True)
class Child:
    """Names the children of a step: the same names in each attempt, so that none is begun twice.

    `since` returns when the step was first begun: another journal may have had a run and a step of the same names.
    `tell` is told the name of each child and the place of its journal before the child begins.
    """

    key: str
    """The run and the step."""
    run: RunKey | None = None
    """The run of the step, if it is of this process."""
    since: Callable[[], Any] = lambda: ""
    tell: Callable[[str, str], None] = lambda _run, _place: None
    above: Child | None = None
    """The step whose handler has begun the run of this one."""
    deps: Callable[[], Any] = lambda: None
    """Returns what was given for the run of the step alone: its children inherit it."""
    _begun: Counter[str] = field(init=False, default_factory=Counter)
    _runs: list[_CanBeCalledOff] = field(init=False, default_factory=list)

    def take_name(self, request: str = "") -> str:
        """Return the id of the next child for `request`, the digest of what it is asked for."""
        told = f"{self.since()}{request}"
        name = f"{self.key}/{hashlib.sha256(told.encode()).hexdigest()[:DIGITS]}" if told else self.key
        self._begun[name] += 1
        return name if self._begun[name] == 1 else f"{name}:{self._begun[name]}"

    def add(self, run: _CanBeCalledOff) -> None:
        """Note a child that may have to be called off."""
        self._runs.append(run)

    def call_off(self) -> None:
        """Call all children off."""
        for run in self._runs:
            run.cancel_soon()


STEP: Final[ContextVar[Child]] = ContextVar("step")
"""The step that is at work in this task or thread."""


def is_below(key: str) -> bool:
    """Return whether the handler of the step `key`, or a run that it has begun, has begun the present run."""
    step = STEP.get(None)
    while step is not None and step.key != key:
        step = step.above
    return step is not None


_waiting: Final[dict[RunKey, list[RunKey]]] = {}
"""The runs of this process for which the handlers of a run wait."""
_guard: Final = threading.Lock()


@contextmanager
def wait_for(run: RunKey, list_awaited: Callable[[str], Iterable[str]]) -> Iterator[None]:
    """Note in the body that the handler at work waits for `run`.

    Raise `RunError` if `run` waits for the run of the handler, itself or through others. `list_awaited` returns the
    runs of the same journal for which handlers of a run wait in other processes.
    """
    step = STEP.get(None)
    own = None if step is None else step.run
    if step is None or own is None:
        yield
        return
    with _guard:
        reached = [run]
        for each in reached:
            elsewhere = () if each in _waiting or each.place != run.place else list_awaited(each.run)
            further = [*_waiting.get(each, ()), *(RunKey(run.place, name) for name in elsewhere)]
            reached += [other for other in further if other not in reached]
        if own in reached:
            asked = "itself" if run == own else f"run {run.run!r}, which waits for it"
            found = f"a handler of run {own.run!r} ({step.key}) waits for {asked}: neither would ever end"
            raise RunError(found, hint="ask for another goal in the handler, or begin that run outside of it")
        _waiting.setdefault(own, []).append(run)
    try:
        yield
    finally:
        with _guard:
            _waiting[own].remove(run)
            if not _waiting[own]:
                del _waiting[own]
