"""Check fields of declarations (texts, lists, mappings, tags, numbers); errors have the place of the declaration.

A function `check_…` returns the value in its exact form, or raises the error of the place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, Protocol

from planner.errors import DeclarationError, InputError, Location, did_you_mean
from planner.language.declare.atom_syntax import abbreviate, explain_bad_name
from planner.lightweight import dataclass, replace
from planner.model import TAGS, Number, Predicate
from planner.model.arithmetic import parse_number
from planner.model.formulas import exact_decimal, exact_number, exact_resolution
from planner.model.object_names import is_name


def format_count(number: int) -> str:
    """Return the number of arguments in words."""
    return "no arguments" if number == 0 else "1 argument" if number == 1 else f"{number} arguments"


def name_types(names: Iterable[str]) -> str:
    """Join names of types for a message: `'robot' or 'truck'`."""
    return " or ".join(repr(name) for name in names)


class Place(Protocol):
    """A place where something is declared, in Python or in a document."""

    @property
    def location(self) -> Location:
        """The file, with line and column where known."""
        ...

    def error(self, message: str, hint: str | None = None) -> InputError:
        """Make the error to raise for a mistake at this place."""
        ...

    def within(self, *path: str | int) -> Place:
        """Return the place of a part, if parts have places of their own."""
        ...


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of Python, and the way to a part of the call that begins there."""

    source: str
    line: int | None = None
    path: tuple[str | int, ...] = ()

    @property
    def location(self) -> Location:
        """File and line."""
        return Location(self.source, self.line)

    def error(self, message: str, hint: str | None = None) -> DeclarationError:
        """Make a `DeclarationError` at this line."""
        error = DeclarationError(message, self.location, hint)
        error.path = self.path
        return error

    def within(self, *path: str | int) -> CodePlace:
        """Return the place of a part: Python knows its line from the call alone."""
        return CodePlace(self.source, self.line, (*self.path, *path))


def find_caller() -> CodePlace:
    """Return the line outside this package that calls a declaring function."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to a caller's line, at a hundredth of inspect's price
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("planner.language.declare"):
        frame = frame.f_back
    return CodePlace(frame.f_code.co_filename, frame.f_lineno)


def find_caller_names() -> Mapping[str, Any]:
    """Return the local names of the caller: annotations may name classes that a function makes."""
    frame = sys._getframe(1)  # noqa: SLF001 - see `find_caller`
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("planner.language.declare"):
        frame = frame.f_back
    return frame.f_locals


def find_definition(function: Callable[..., Any]) -> CodePlace:
    """Return the line of the definition of `function`, or of the call where it has no code of its own."""
    code = getattr(function, "__code__", None)
    if code is None:
        return find_caller()
    return CodePlace(code.co_filename, code.co_firstlineno)


ALIKE: Final = 0.7
"""Least similarity, from 0 to 1, at which a domain's own tag counts as a misspelling of a tag with a meaning."""
SURROGATE: Final = re.compile("[\ud800-\udfff]")


def check_tags(value: str | Iterable[str] | None, known: Iterable[str], owner: str, place: Place) -> frozenset[str]:
    """Return `value` as a set of known tags."""
    found = check_texts(value, "tags", place)
    for tag in found:
        if tag not in known:
            near = did_you_mean(tag, known) or f"{owner} may be tagged {', '.join(sorted(known))}"
            raise place.error(f"unknown tag {abbreviate(tag)}", near)
    return frozenset(found)


def check_action_tags(value: str | Iterable[str] | None, place: Place) -> frozenset[str]:
    """Return `value` as a set of tags of an action: those with a meaning, and the domain's own.

    Raises the error of `place` for a tag that looks like a misspelling of one with a meaning.
    """
    found = check_texts(value, "tags", place)
    for tag in found:
        if not is_name(tag):
            raise place.error(*explain_bad_name(tag, "a tag"))
        near = None if tag in TAGS else did_you_mean(tag, TAGS, cutoff=ALIKE)
        if near is not None:
            raise place.error(f"unknown tag {abbreviate(tag)}", near)
    return frozenset(found)


def check_texts(value: str | Iterable[str] | None, what: str, place: Place) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    if value is None:
        return ()
    found = value if isinstance(value, list | tuple | set | frozenset) else (value,)
    for item in found:
        if not isinstance(item, str):
            raise place.error(f"{what} are texts, not {abbreviate(item)}")
        check_text(item, f"one of {what}", place)
    return tuple(found)


def check_text(value: Any, what: str, place: Place) -> str:
    """Return `value`, which must be a text."""
    if not isinstance(value, str):
        raise place.error(f"{what} is a text, not {abbreviate(value)}")
    if not value.isascii() and SURROGATE.search(value):
        raise place.error(f"{what} has half of a surrogate pair in it, which is no character")
    return value


def check_mapping(value: Any, what: str, place: Place) -> Mapping[str, Any]:
    """Return `value`, which must be a mapping from texts."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise place.error(f"{what} is a mapping from names, not {abbreviate(value)}")
    return value


def check_list(value: Any, what: str, place: Place) -> Iterable[Any]:
    """Return `value`, which must be a list or tuple."""
    if not isinstance(value, list | tuple):
        raise place.error(f"{what} is a list, not {abbreviate(value)}")
    return value


_ROUNDING: Final = Decimal("1e-9")
"""Tolerance for the sum of probabilities written as floats."""
_NEVER: Final = Decimal(0)


def check_number(value: Any, what: str, place: Place, resolution: Decimal | None = None) -> Number:
    """Return the non-negative number `value` exactly."""
    try:
        found = exact_number(value, resolution)
    except ValueError as error:
        raise place.error(f"{what}: {error}") from None
    if found < 0:
        raise place.error(f"{what} is {found}, but may not be negative")
    return found


def check_value(value: Any, what: str, place: Place, resolution: Decimal | None = None) -> Number:
    """Return the number `value` exactly: of any size, and negative ones, too; a float only with a resolution."""
    if resolution is not None or isinstance(value, bool | float) or not isinstance(value, int | str | Decimal):
        try:
            return exact_number(value, resolution)
        except ValueError as error:
            raise place.error(f"{what}: {error}") from None
    try:
        return parse_number(value)
    except ValueError as error:
        raise place.error(f"{what}: {error}") from None


def resolution_of(value: Any, place: Place) -> Decimal | None:
    """Read a resolution as a decimal; None stays None."""
    try:
        return None if value is None else exact_resolution(value)
    except ValueError as error:
        raise place.error(str(error)) from None


def check_decimal(value: Any, what: str, place: Place) -> Decimal:
    """Return the non-negative number `value` as a decimal; floats count as they print."""
    try:
        found = exact_decimal(value)
    except ValueError as error:
        raise place.error(f"{what}: {error}") from None
    if found < 0:
        raise place.error(f"{what} is {found}, but may not be negative")
    return found


def check_risk(value: Any, place: Place) -> Decimal:
    """Return a probability below 1."""
    if type(value) is int and value == 0:
        return _NEVER
    found = check_decimal(value, "the risk", place)
    if found >= 1:
        raise place.error(f"the risk is {found}; it must be below 1, or the action never works")
    return found


def check_distribution(probabilities: Iterable[Decimal], place: Place) -> None:
    """Raise an error unless `probabilities` are positive and sum to 1."""
    found = tuple(probabilities)
    if any(not 0 < each <= 1 for each in found):
        wrong = next(each for each in found if not 0 < each <= 1)
        raise place.error(f"the probability of an outcome is {wrong}; it must be above 0 and at most 1")
    if found and abs(sum(found, Decimal(-1))) > _ROUNDING:
        raise place.error(f"the probabilities of the outcomes sum to {sum(found, Decimal(0))}, not to 1")


def add_fact(predicates: dict[str, Predicate], made: Predicate, told: str) -> None:
    """Add the predicate `made` of facts that say what is `told`; one that stands there gets its tags.

    Raises `InputError` if that has other parameters.
    """
    known = predicates.get(made.name)
    if known is not None and len(known.parameters) != len(made.parameters):
        found = f"the predicate {made.name!r} has {len(known.parameters)} arguments"
        says = f"as a fact that says {told} it has {len(made.parameters)}"
        raise InputError(f"{found}; {says}", hint="call the predicate otherwise")
    predicates[made.name] = made if known is None else replace(known, tags=known.tags | made.tags)
