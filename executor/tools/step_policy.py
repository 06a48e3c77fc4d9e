"""State how a step is tried: time limit, retries, locks and rates, and what follows a failure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from planner.errors import InputError, did_you_mean
from planner.model import Action

Choice = Literal["best first", "in order"]
CHOICES: Final = ("best first", "in order")
OnError = Literal["abort", "continue", "patch"]
ON_ERROR: Final = ("abort", "continue", "patch")
PAIR: Final = 2
TWICE: Final = 2
"""Default retries of idempotent and read-only actions."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Rate limit: at most `most` steps of an action, or looks of an observer, begin within any `seconds`.

    `by` names parameters: steps with different values of these are counted separately. A step that exceeds the rate
    waits for at most its `timeout`, and then fails without having begun. A look waits until its turn comes. With `wait`
    False a step fails at once, and the observer cannot say.

    Raises `InputError` for fields that do not fit.
    """

    most: int
    seconds: float
    by: tuple[str, ...] = ()
    wait: bool = True

    def __post_init__(self) -> None:
        if not _is_whole(self.most, 1):
            raise InputError(f"most of a Rate must be a positive number of steps, got {self.most!r}")
        if not (is_amount(self.seconds) and self.seconds > 0):
            raise InputError(f"seconds of a Rate must be a number above 0, got {self.seconds!r}")
        if not (isinstance(self.by, tuple) and all(isinstance(each, str) for each in self.by)):
            raise InputError(
                f"by of a Rate must be a tuple of parameters, got {self.by!r}", hint=_hint("lock", self.by)
            )
        if not isinstance(self.wait, bool):
            raise InputError(f"wait of a Rate must be True or False, got {self.wait!r}")

    def __str__(self) -> str:
        apart = f" for each {' and '.join(self.by)}" if self.by else ""
        return f"{self.most} in {self.seconds:g} s{apart}"


@dataclass(frozen=True, slots=True)
class ExecutionPolicy:
    """How steps of an action, or one step, are tried.

    `timeout`, `backoff` (the first pause), `longest` (the longest pause) and `cache_for` are in seconds.

    `retries` is the number of further attempts of each handler. None means 2 for idempotent and read-only actions; for
    others 1, and only if the handler did not report the failure itself: it raised, timed out, or reported success
    without the effects. An action that is not idempotent is tried again only if all its effects were conclusively seen
    to be missing, or if its handler reported the failure and `retries` is stated. `retry_on` restricts retries to
    exception types, or to failures (exceptions or `ActionResult`s) for which a function returns true; a function that
    raises counts as false.

    `lock` keeps two steps with the same arguments from running at once, in all runs of one executor and of the
    executors that share its journal, in all processes; a tuple names the parameters to compare, and may be empty.
    `rate` is a `Rate`, or (number, seconds), for all runs of one executor, or of all processes of its journal.
    `cache_for` reuses answers of read-only actions.

    `skills` chooses among several handlers of an action: "best first" takes the one that failed least in this run, and
    another one after each failure; "in order" takes the one declared first, and the next when its retries are used up;
    a function gets the names of the handlers that may be called and the number of failures of each, and returns a name.
    A handler that was not called yet may be called when no retries are left, unless an action that is not idempotent
    might be done twice.

    `on_error` decides what follows when all attempts have failed: "patch" climbs the recovery ladder; "continue" goes
    on with the steps that do not depend on this one; "abort" begins no more steps, and undoes nothing.
    """

    timeout: float | None = None
    retries: int | None = None
    backoff: float = 0.5
    longest: float = 30.0
    jitter: float = 0.5
    retry_on: type[BaseException] | tuple[type[BaseException], ...] | Callable[[Any], bool] | None = None
    skills: Choice | Callable[[tuple[str, ...], Mapping[str, int]], str] = "best first"
    on_error: OnError = "patch"
    lock: bool | tuple[str, ...] = False
    rate: Rate | tuple[int, float] | None = None
    cache_for: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.rate, tuple) and len(self.rate) == PAIR:
            object.__setattr__(self, "rate", Rate(*self.rate))
        if isinstance(self.retry_on, type) and issubclass(self.retry_on, BaseException):
            object.__setattr__(self, "retry_on", (self.retry_on,))
        for name, (fits, what) in _FIELDS.items():
            value = getattr(self, name)
            if not fits(value):
                raise InputError(f"{name} must be {what}, got {value!r}", hint=_hint(name, value))

    def check(self, action: Action) -> None:
        """Raise `InputError` for fields that do not apply to `action`."""
        names = [each.name.removeprefix("?") for each in action.parameters] + [each.name for each in action.data]
        used = {"lock": self.lock if isinstance(self.lock, tuple) else ()}
        used["rate by"] = self.rate.by if isinstance(self.rate, Rate) else ()
        for what, name in [(what, name) for what, those in used.items() for name in those]:
            if name not in names:
                hint = did_you_mean(name, names) or f"the parameters are {', '.join(names) or 'none'}"
                raise InputError(f"{action.signature} has no parameter {name!r} to {what}", hint=hint)
        if self.cache_for and "read_only" not in action.tags:
            hint = "tag it so, or leave cache_for out"
            raise InputError(
                f"cache_for needs a read-only action, and {action.name} is not tagged read_only", hint=hint
            )


def is_amount(value: object) -> bool:
    """Return whether `value` is a finite number, 0 or more."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _says_when(value: object) -> bool:
    """Return whether `value` is valid for `retry_on`."""
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(each, type) and issubclass(each, BaseException) for each in value)
    return value is None or (callable(value) and not isinstance(value, type))


def _hint(name: str, value: Any) -> str | None:
    """Return a hint how to write the `value` that the author may have meant."""
    if name == "lock" and isinstance(value, str | list):
        return f"write ({', '.join(map(repr, [value] if isinstance(value, str) else value))},)"
    if name == "retry_on":
        return "such as (TimeoutError, OSError)"
    if name in ("timeout", "cache_for") and value == math.inf:
        return "leave it out"
    return did_you_mean(value, ON_ERROR if name == "on_error" else CHOICES) if isinstance(value, str) else None


_SECONDS: Final = "a number of seconds"
_FIELDS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "timeout": (lambda value: value is None or is_amount(value), _SECONDS),
    "retries": (lambda value: value is None or _is_whole(value, 0), "a number of further attempts"),
    "backoff": (is_amount, _SECONDS),
    "longest": (is_amount, _SECONDS),
    "jitter": (is_amount, _SECONDS),
    "retry_on": (_says_when, "a tuple of exception types, or a function"),
    "skills": (lambda value: callable(value) or value in CHOICES, f"one of {', '.join(CHOICES)}, or a function"),
    "on_error": (lambda value: value in ON_ERROR, f"one of {', '.join(ON_ERROR)}"),
    "lock": (
        lambda value: isinstance(value, bool) or (isinstance(value, tuple) and all(isinstance(e, str) for e in value)),
        "True, or a tuple of parameters",
    ),
    "rate": (lambda value: value is None or isinstance(value, Rate), "a Rate, or (how many, in how many seconds)"),
    "cache_for": (is_amount, _SECONDS),
}
"""Validity of each field, as a function and in words."""
DEFAULT: Final = ExecutionPolicy()
