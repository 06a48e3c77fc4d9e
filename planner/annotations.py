"""Names for annotations, which nothing looks at while the planner runs.

Importing `typing` takes a tenth of the time in which a small task is read and ground. What starts with every plan takes
these names from here instead.
"""

from __future__ import annotations

__all__ = ["TYPE_CHECKING", "Any", "Final", "NoReturn", "Protocol", "TypeVar", "cast"]

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, Final, NoReturn, Protocol, TypeVar, cast
else:
    Any = Final = NoReturn = Protocol = object

    def TypeVar(name: str) -> object:  # noqa: N802 - as it is called there
        """Return what stands for a type."""
        return name

    def cast(_kind: object, value: object) -> object:
        """Return `value`."""
        return value
