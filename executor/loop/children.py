"""Nested runs: a run that the handler of a step begins is a child of that step, with a name of its own.

The name follows from the step, so that another attempt at it, in whichever process, comes to the same child.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

DIGITS: Final = 10
"""Hexadecimal digits of a child's name: they tell the children of one step apart."""


class _CanBeCalledOff(Protocol):
    def cancel_soon(self) -> None:
        """Call the run off, from any thread."""


@dataclass(slots=True)
class Child:
    """Names the children of a step: the same names in each attempt, so that none is begun twice.

    `since` returns when the step was first begun: another journal may have had a run and a step of the same names.
    `tell` is told the name of each child and the place of its journal before the child begins.
    """

    key: str
    """The run and the step."""
    since: Callable[[], Any] = lambda: ""
    tell: Callable[[str, str], None] = lambda _run, _place: None
    above: Child | None = None
    """The step whose handler has begun the run of this one."""
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
