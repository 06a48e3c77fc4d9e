"""Defaults of data parameters: Python values on one side, what a file can hold on the other."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from planner.declare.places import Place
from planner.errors import UnsupportedError


def to_default(value: Any, annotation: Any, place: Place) -> Any:
    """Return `value` as one of the type `annotation`, or raise an error at `place`."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - few actions have defaults

    try:
        return TypeAdapter(annotation).validate_python(value if annotation is Decimal else _floats(value))
    except ValidationError:
        raise place.within("default").error(f"the default {value!r} is not of the declared type") from None


def from_default(value: Any, annotation: Any, owner: str) -> Any:
    """Return `value` as texts, numbers, lists and mappings; raises `UnsupportedError` where that loses something."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - as above

    adapter = TypeAdapter(annotation)
    try:
        plain = adapter.dump_python(value, mode="json", warnings="error")
        if adapter.validate_python(plain) == value:
            return plain
    except (ValueError, ValidationError):
        pass
    raise UnsupportedError(f"the default {value!r} of {owner} in a document", "only plain values can be written")


def _floats(value: Any) -> Any:
    """Return `value` with decimals, which files are read with, as floats."""
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_floats(each) for each in value]
        case dict():
            return {key: _floats(each) for key, each in value.items()}
    return value
