"""What a handler gives back: `ActionResult`, or something that is one at second sight."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from executor.world.iterators import listed
from planner.errors import InputError, did_you_mean
from planner.model import Atom, Literal
from planner.records import dataclass, field

SURE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Metrics:
    """What an act took: seconds, tokens of language models, and money."""

    duration: float = 0.0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Metrics) -> Metrics:
        return Metrics(self.duration + other.duration, self.tokens + other.tokens, self.cost + other.cost)


NONE: Final = Metrics()


@dataclass(frozen=True, slots=True)
class ActionResult:
    """The answer of a handler.

    `text` is for people; `data` is what later steps take; `values` goes into working memory. `observed` are facts that
    the handler reports, beside the declared effects. `created` gives the objects that `creates` declares, by name.
    `next_actions` are hints for planning anew and never run unasked. A `confidence` below 1 leaves the step UNVERIFIED,
    whatever its handler says of `success`.
    """

    success: bool = True
    text: str = ""
    data: Any = None
    values: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    observed: tuple[str | Literal, ...] = ()
    created: Mapping[str, Any] = field(default_factory=dict)
    next_actions: tuple[str, ...] = ()
    confidence: float = SURE
    metrics: Metrics = NONE

    def __post_init__(self) -> None:
        if not isinstance(self.success, bool):
            raise InputError(f"success is True or False, not {self.success!r}")
        if not 0 <= self.confidence <= SURE:
            raise InputError(f"confidence is between 0 and 1, not {self.confidence!r}")
        self._check_kinds()
        for name in ("observed", "next_actions"):
            value = getattr(self, name)
            if not isinstance(value, tuple):
                object.__setattr__(self, name, (value,) if isinstance(value, str | Atom) else tuple(value))
        for name in ("data", "values", "created"):
            value = getattr(self, name)
            if (kept := listed(value)) is not value:
                object.__setattr__(self, name, kept)

    def _check_kinds(self) -> None:
        """Raise `InputError` for a field that is of another kind than is said."""
        for name, kind, what in (
            ("metrics", Metrics, "are Metrics"),
            ("values", Mapping, "are a mapping"),
            ("created", Mapping, "is a mapping"),
            ("text", str, "is a text"),
            ("error", str, "is a text"),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise InputError(f"{name} of a result {what}, not {value!r}")
        if self.metrics is not NONE and not _are_numbers(map(self.metrics.__getattribute__, Metrics.__match_args__)):
            raise InputError(f"metrics are numbers, not {self.metrics}")
        for key in self.values:
            if not isinstance(key, str):
                raise InputError(f"values of a result go into working memory by name, and {key!r} is no text")

    @classmethod
    def failed(cls, error: str, **others: Any) -> ActionResult:
        """Return the answer of a handler that could not do it, and did nothing."""
        return cls(success=False, error=error, **others)


@dataclass(frozen=True, slots=True)
class Wait:
    """What a handler returns where the answer comes later, from outside: `Executor.complete(run, step, result)`.

    After `seconds` the step has succeeded by itself. Where it waits for `event`, or for a person's choice among
    `choices`, it never does: there `seconds` is a deadline. When `deadline` seconds are over without an answer, nobody
    knows whether it happened, and the step is in doubt; it has failed where the wait is `conclusive`: what nobody has
    answered by then did not happen.
    """

    text: str = ""
    seconds: float | None = None
    event: str = ""
    choices: tuple[str, ...] = ()
    deadline: float | None = None
    conclusive: bool = False

    def __post_init__(self) -> None:
        for name in ("seconds", "deadline"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise InputError(f"a handler waits for {name} that are no number of seconds: {value!r}")
        choices: Any = self.choices
        if isinstance(choices, str) or not all(isinstance(each, str) for each in choices):
            hint = f"write ({choices!r},)" if isinstance(choices, str) else None
            raise InputError(f"choices are a tuple of texts, not {choices!r}", hint=hint)
        object.__setattr__(self, "choices", tuple(self.choices))


_DONE: Final = ActionResult()
_FIELDS: Final = frozenset(ActionResult.__match_args__)


def result_of(returned: Any) -> ActionResult:  # noqa: PLR0911 - a line for each kind
    """Return what a handler `returned` as a result.

    `None` is success, a bool says so itself, and a text is its text. A dict with fields of `ActionResult` is one (it
    needs `success` for that); any other dict and pydantic models are data. Raises `InputError` for a dict that is
    nearly a result, and where a field has a value that it cannot have.
    """
    match returned:
        case ActionResult():
            return returned
        case None:
            return _DONE
        case bool():
            return ActionResult(success=returned, error="" if returned else "the handler returned False")
        case str():
            return ActionResult(text=returned, data=returned)
        case {"success": _}:
            return _from_dict(returned)
        case BaseModel() if isinstance(getattr(returned, "success", None), bool):
            return _from_dict(dict(returned), returned)
        case _ if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
            raise InputError("the handler returned a generator", hint="return what it yields, as a list")
        case _:
            return ActionResult(data=returned)


def _from_dict(given: Mapping[str, Any], whole: Any = None) -> ActionResult:
    unknown = [name for name in given if name not in _FIELDS]
    if unknown and whole is None:
        hint = did_you_mean(unknown[0], sorted(_FIELDS)) or "put what is yours under data"
        raise InputError(f"the handler returned a result with the unknown field {unknown[0]!r}", hint=hint)
    found = {name: value for name, value in given.items() if name in _FIELDS}
    if unknown:
        found["data"] = found.get("data", whole)
    metrics = found.get("metrics")
    if isinstance(metrics, Mapping):
        found["metrics"] = _metrics(metrics)
    return ActionResult(**found)


def _metrics(given: Mapping[str, Any]) -> Metrics:
    unknown = [name for name in given if name not in Metrics.__match_args__]
    if unknown or not _are_numbers(given.values()):
        raise InputError(f"metrics are numbers: duration, tokens and cost; not {dict(given)!r}")
    return Metrics(**given)


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(each, int | float) and math.isfinite(each) for each in values)


def texts(items: Iterable[str | Literal]) -> tuple[str, ...]:
    """Return literals as text."""
    return tuple([item if isinstance(item, str) else str(item) for item in items])
