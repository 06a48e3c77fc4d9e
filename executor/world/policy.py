"""How a step is tried: for how long, how often, and what comes after a failure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from planner.errors import InputError

Choice = Literal["best first", "in order"]
CHOICES: Final = ("best first", "in order")
OnError = Literal["abort", "continue", "patch"]
ON_ERROR: Final = ("abort", "continue", "patch")
TWICE: Final = 2
"""Retries of what may be done again, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for an action, or for one step.

    `timeout`, `backoff` (the first pause), `longest` (no pause is longer) and `cache_for` are seconds. `retries` is how
    often a failed attempt is made again; None means twice for what is idempotent or only reads, else once, and only
    where the handler did not say itself that it failed: it raised, or took too long, or its effects are missing though
    it says that it is done. What is not idempotent is tried again only if all its effects were conclusively seen to be
    missing, or where its handler says that it failed and `retries` are stated. `retry_on` are exception types, or a
    function of the failure (an exception, or the `ActionResult`); None means all. `lock` keeps two steps with the same
    arguments from running at once, in all runs of one executor; a tuple of parameters names those that count. `rate` is
    (how many, in how many seconds). `cache_for` serves answers of read-only actions again.

    `skills` says which of several handlers of an action is called: "best first" is the one that failed least in this
    run, and another one as soon as it fails; "in order" is the one that was declared first, and the next when its
    retries are used up; or a function of the names of those that may be called, and of how often each has failed in
    this run, that returns a name. `retries` are those of each handler; one that was not called yet is called also where
    none are left, but never where what is not idempotent might be done twice, as said above.

    `on_error` says what follows when all of this has failed: "patch" looks for another way to the goal, up the recovery
    ladder; "continue" goes on with all that does not depend on the step; "abort" begins nothing more, and undoes
    nothing.
    """

    timeout: float | None = None
    retries: int | None = None
    backoff: float = 0.5
    longest: float = 30.0
    jitter: float = 0.5
    retry_on: tuple[type[BaseException], ...] | Callable[[Any], bool] | None = None
    skills: Choice | Callable[[tuple[str, ...], Mapping[str, int]], str] = "best first"
    on_error: OnError = "patch"
    lock: bool | tuple[str, ...] = False
    rate: tuple[int, float] | None = None
    cache_for: float = 0.0

    def __post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            raise InputError(f"on_error is one of {', '.join(ON_ERROR)}, not {self.on_error!r}")
        if not callable(self.skills) and self.skills not in CHOICES:
            raise InputError(f"skills is one of {', '.join(CHOICES)}, or a function, not {self.skills!r}")
        for name in ("timeout", "backoff", "longest", "jitter", "cache_for"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and value >= 0):
                raise InputError(f"{name} is a number of seconds, not {value!r}")
        if self.retries is not None and not (isinstance(self.retries, int) and self.retries >= 0):
            raise InputError(f"retries are a number of further attempts, not {self.retries!r}")
        if self.retry_on is not None and not callable(self.retry_on):
            kinds = self.retry_on if isinstance(self.retry_on, tuple) else ()
            if not kinds or not all(isinstance(each, type) and issubclass(each, BaseException) for each in kinds):
                raise InputError(f"retry_on is a tuple of exception types, or a function, not {self.retry_on!r}")
        if self.rate is not None and not (len(self.rate) == 2 and self.rate[0] >= 1 and self.rate[1] > 0):
            raise InputError(f"rate is (how many, in how many seconds), not {self.rate!r}")


DEFAULT: Final = Policy()
