"""Define how a handler answers: `ActionResult`, `Wait`, or the exceptions `InDoubt` and `NothingDone`.

`executor.tools.returned_values` reads all other values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from executor.tools.containment import as_plain_number, as_plain_text, call_or_else, quote_value
from executor.tools.isolated_values import replace_iterators
from planner.errors import InputError
from planner.lightweight import dataclass, field
from planner.model import Atom, Literal, Not

SURE: Final = 1.0
LONGEST_WAIT: Final = 10 * 366 * 86_400.0
"""Longest wait of a step, in seconds: ten years; what is longer is a timestamp by mistake."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """Cost of an attempt: seconds, tokens of language models, and money."""

    duration: float = 0.0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: Metrics) -> Metrics:
        return Metrics(self.duration + other.duration, self.tokens + other.tokens, self.cost + other.cost)


NONE: Final = Metrics()


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Result of a handler.

    `text` is for people; `data` is what later steps take; `values` goes into working memory. `observed` are facts that
    the handler reports, beside the declared effects. `created` gives the objects that `creates` declares, by name.
    `found` gives further objects that turned up, by type: `{"order": ["o7"]}`.
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
    found: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.success, bool):
            raise InputError(f"success must be True or False, got {quote_value(self.success)}")
        if self.confidence is not SURE:
            self._set("confidence", _read_confidence(self.confidence))
        self._check_kinds()
        self._set("text", as_plain_text(self.text))
        self._set("error", as_plain_text(self.error))
        for name in ("observed", "next_actions"):
            value = getattr(self, name)
            if type(value) is not tuple or value:
                items = (value,) if isinstance(value, str | Atom | Not) else value
                self._set(name, tuple([_read_literal(each) for each in items]))
        for name in ("data", "values", "created", "found"):
            value = getattr(self, name)
            if (kept := replace_iterators(value)) is not value:
                self._set(name, kept)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_kinds(self) -> None:
        """Raise `InputError` for a field of the wrong type."""
        for name, kind, what in (
            ("metrics", Metrics, "Metrics"),
            ("values", Mapping, "a mapping"),
            ("created", Mapping, "a mapping"),
            ("found", Mapping, "a mapping"),
            ("text", str, "a text"),
            ("error", str, "a text"),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise InputError(f"{name} of a result must be {what}, got {quote_value(value)}")
        if self.metrics is not NONE:
            taken = {name: getattr(self.metrics, name) for name in Metrics.__match_args__}
            if not _are_numbers(taken.values()):
                raise InputError(f"metrics must be numbers, got {quote_value(self.metrics)}")
            self._set("metrics", Metrics(**{name: as_plain_number(each) for name, each in taken.items()}))
        for name in ("values", "created", "found"):
            given = getattr(self, name)
            for key in given:
                if not isinstance(key, str):
                    raise InputError(f"keys in {name} of a result must be texts, got {quote_value(key)}")
            if given:
                self._set(name, {as_plain_text(key): given[key] for key in given})

    @classmethod
    def failed(cls, error: str, **others: Any) -> ActionResult:
        """Make the result of a handler that failed and changed nothing."""
        return cls(success=False, error=error, **others)


class ResultOfItsOwn:
    """Base of what handlers may return that says itself what result it is, such as the outcome of a run."""

    __slots__ = ()

    def as_result(self) -> ActionResult:
        """Return the result; raises what the handler would raise."""
        raise NotImplementedError


class NothingDone(Exception):
    """Raised by a handler that knows that it has changed nothing, such as before it has sent anything.

    The step has failed, and may be done again; any other exception leaves an irreversible step in doubt.
    """


class InDoubt(Exception):
    """Raised by a handler that cannot tell whether its action took place, such as after a lost connection.

    The step is in doubt, as after its time limit: it is done again only if that is harmless, or if a conclusive
    observer sees that nothing happened.
    """


@dataclass(frozen=True, slots=True)
class Wait:
    """Returned by a handler whose result comes later, from outside: as the answer to the question `wait:STEP`.

    The step succeeds by itself after `seconds`. For a step that waits for `event`, or for a person's choice among
    `choices`, `seconds` is a deadline instead. A step without a result after `deadline` seconds is in doubt, or failed
    if the wait is `conclusive`: then no answer means that nothing happened. Both count from now, at most ten years.

    `choices` are texts, or a mapping from each choice to the facts that it means: `{"yes": ["approved"], "no":
    ["refused"]}`; facts of the other choices are then false. An answer that means no ("no", "refuse", "reject", …)
    refuses the step, which fails with nothing done, unless it is a choice that means facts. With `goes_on`, the handler
    is called again, and has the choice, "no" too if it is one, or else the data of the answer, as `context.answer`.
    """

    text: str = ""
    seconds: float | None = None
    event: str = ""
    choices: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    deadline: float | None = None
    conclusive: bool = False
    goes_on: bool = False

    def __post_init__(self) -> None:
        for name in ("seconds", "deadline"):
            value = getattr(self, name)
            seconds = 0.0 if value is None else call_or_else(partial(float, value), math.nan)
            if not 0 <= seconds <= LONGEST_WAIT:
                hint = f"the time is counted from now: write {name}=60, and no timestamp" if seconds > 0 else None
                raise InputError(f"{name} of a Wait must be a number of seconds, got {quote_value(value)}", hint=hint)
            object.__setattr__(self, name, None if value is None else seconds)
        for name in ("text", "event"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise InputError(f"{name} of a Wait must be a text, got {quote_value(value)}")
            object.__setattr__(self, name, as_plain_text(value))
        object.__setattr__(self, "choices", _read_choices(self.choices))
        if not isinstance(self.goes_on, bool):
            raise InputError(f"goes_on of a Wait must be True or False, got {quote_value(self.goes_on)}")


def _read_choices(choices: Any) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    """Read the choices of a wait, with the facts that they mean if it says so; raises `InputError`."""
    is_mapping = isinstance(choices, Mapping)
    if isinstance(choices, str) or not (is_mapping or isinstance(choices, list | tuple)):
        hint = f"write ({choices!r},)" if isinstance(choices, str) else None
        raise InputError(f"choices must be a tuple of texts, got {quote_value(choices)}", hint=hint)
    if not all(isinstance(each, str) and each.strip() for each in choices):
        raise InputError(f"choices must be a tuple of texts, got {quote_value(choices)}")
    names = [as_plain_text(each) for each in choices]
    same = next((each for each in names if sum(each.casefold() == other.casefold() for other in names) > 1), None)
    if same is not None:
        raise InputError(f"the choices of a Wait must differ, and {same!r} is there twice")
    if not is_mapping:
        return tuple(names)
    meant = {name: choices[name] for name in choices}
    facts = {name: (each,) if isinstance(each, str | Atom | Not) else each for name, each in meant.items()}
    wrong = next((name for name, each in facts.items() if not isinstance(each, list | tuple)), None)
    if wrong is not None:
        hint = f'write {{{wrong!r}: ["approved"]}}'
        raise InputError(f"the choice {wrong!r} must mean facts, got {quote_value(meant[wrong])}", hint=hint)
    return {as_plain_text(name): as_texts([_read_literal(one) for one in each]) for name, each in facts.items()}


def _read_confidence(value: Any) -> float:
    """Convert a confidence to a number; raises `InputError` unless it is from 0 to 1."""
    found = call_or_else(lambda: float(value), math.nan)
    if not 0 <= found <= SURE:
        raise InputError(f"confidence must be between 0 and 1, got {quote_value(value)}")
    return found


def _read_literal(item: Any) -> Any:
    """Return an entry of a result for later parsing: a literal unchanged, anything else as text."""
    if isinstance(item, Atom | Not):
        return item
    return as_plain_text(item) if isinstance(item, str) else as_plain_text(str(item))


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(each, int | float) and math.isfinite(each) for each in values)


def as_texts(items: Iterable[str | Literal]) -> tuple[str, ...]:
    """Return literals as text."""
    return tuple([item if isinstance(item, str) else str(item) for item in items])
