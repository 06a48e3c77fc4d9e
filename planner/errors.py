"""The errors that Forethought raises on purpose, and text of others in a form that is safe to show.

    ForethoughtError
    ├── InputError              a mistake in what was given; carries a `Location`
    │   ├── DeclarationError    ... in Python declarations
    │   ├── DocumentError       ... in a YAML or JSON file
    │   ├── PddlError           ... in a PDDL or HDDL file
    │   └── PlanError           ... in a plan file, or a plan that does not fit its problem
    ├── UnsupportedError        the construct is understood, but this planner or engine does not take it
    ├── NoPlan                  a plan was demanded, and there is none; carries the `Result`
    └── EngineError             a foreign planner broke its side of the contract

Limits (time, memory, cancellation) are not errors: they end in a `Result`. Text is shown without the characters that
steer a terminal or turn text round.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.lightweight import Any, Final, dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file (`line` and `column` count from 1) or, without a line, a Python definition."""

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.source, self.line, self.column) if part is not None)


class ForethoughtError(Exception):
    """The base of all errors that Forethought raises on purpose."""


class InputError(ForethoughtError):
    """A mistake in the input: its `location`, what was found and expected, and a `hint` how to correct it.

    `path` leads from the declaration at `location` to the part that is wrong, such as ("requires", 1), in Python.
    """

    path: tuple[str | int, ...] = ()

    def __init__(self, message: str, location: Location | None = None, hint: str | None = None) -> None:
        super().__init__(message, location, hint)
        self.message = message
        self.location = location
        self.hint = hint

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        return f"{where}{self.message}" + (f"; {self.hint}" if self.hint else "")

    def without_place(self) -> InputError:
        """Return the same error without the location."""
        return InputError(self.message, hint=self.hint)


class DeclarationError(InputError):
    """A mistake in Python declarations."""


class DocumentError(InputError):
    """A mistake in a YAML or JSON document."""


class PddlError(InputError):
    """A mistake in a PDDL or HDDL file."""


class PlanError(InputError):
    """A plan that cannot be read, or that names what its problem does not have."""


class UnsupportedError(ForethoughtError):
    """The planner or engine does not support `construct`; `hint` names an alternative."""

    def __init__(self, construct: str, hint: str | None = None) -> None:
        super().__init__(construct, hint)
        self.construct = construct
        self.hint = hint

    def __str__(self) -> str:
        return f"unsupported: {self.construct}" + (f"; {self.hint}" if self.hint else "")


class NoPlan(ForethoughtError):
    """`Result.expect_plan` was called on a result without one."""

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        return f"no plan: {self.result.describe()}"


class EngineError(ForethoughtError):
    """A foreign planner could not be started, crashed, or returned an invalid answer."""


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return "did you mean 'x'?" for the known name nearest to `name`, or None when none is near.

    `cutoff` is the least likeness, from 0 to 1.
    """
    import difflib

    folded = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=cutoff)
    return f"did you mean '{folded[near[0]]}'?" if near else None


def with_article(noun: str) -> str:
    """Return `noun` after "a" or "an", by its first letter."""
    return f"an {noun}" if noun[:1].lower() in set("aeiou") else f"a {noun}"


def kind_of(value: object) -> str:
    """Return the kind of `value` for a message: "an int", "a list", "None"."""
    return "None" if value is None else with_article(type(value).__name__)


def describe_error(error: Exception) -> str:
    """Return the type and message of `error`, and the module and line that raised it if it is an internal error."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    place = error.__traceback__
    if isinstance(error, ForethoughtError) or place is None:
        return text
    while place.tb_next is not None:
        place = place.tb_next
    return f"{text} ({place.tb_frame.f_globals.get('__name__', '?')}:{place.tb_lineno})"


_C0: Final = [*range(0x20), 0x7F]
_C1: Final = [*range(0x80, 0xA0)]
_BIDI: Final = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_DROPPED: Final = dict.fromkeys(code for code in (*_C0, *_C1, *_BIDI) if chr(code) not in "\n\t")


def printable(text: str) -> str:
    """Return `text` without C0, C1 and bidirectional controls; line breaks and tabs stay.

    A name or an answer of a tool could else colour, move or hide what a terminal shows, or change its clipboard.
    """
    return text if text.isprintable() and text.isascii() else text.translate(_DROPPED)
