"""Hand what belongs to a run alone to its handlers: clients, the account of a tenant, secrets. None of it is written.

The journal knows the name of the type only, so that a run that is taken up without it can say what is missing.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from executor.errors import RunError
from executor.tools.containment import as_plain_text

MakeDeps = Callable[..., Any]
"""Makes the deps of a run; it takes `run`, its name, or `memory`, the values of its request, or both."""


class MissingDeps(RunError):
    """A handler asked for the deps of a run that was taken up without them."""


class Deps:
    """The deps of one run: those that were `given`, or else what `make` returns when they are first asked for.

    `wanted` is the type of those that the run was begun with; "" if there were none.
    """

    def __init__(self, given: Any, make: MakeDeps | None = None) -> None:
        self._given, self._make = given, make
        self.wanted = ""
        self.run = ""
        self.read_memory: Callable[[], Mapping[str, Any]] = dict
        """Returns the values of the request."""

    @property
    def type_name(self) -> str:
        """The name of the type of what was given; "" where nothing was."""
        return "" if self._given is None else as_plain_text(type(self._given).__qualname__)

    @property
    def has_any(self) -> bool:
        """Whether there are deps, or will be."""
        return self._given is not None or self._make is not None

    @property
    def is_missing(self) -> bool:
        """Whether the run was begun with deps, and has none now."""
        return bool(self.wanted) and not self.has_any

    def get(self) -> Any:
        """Return the deps, None where there never were any; raises `MissingDeps`, and whatever `make` raises."""
        if self.is_missing:
            raise MissingDeps(f"the run {self.run!r} was taken up without its deps={self.wanted}(…)", hint=RESUMING)
        if self._given is None and self._make is not None:
            told = {"run": self.run, "memory": self.read_memory()}
            taken = inspect.signature(self._make).parameters
            self._given = self._make(**{name: value for name, value in told.items() if name in taken})
        return self._given


RESUMING: Final = "executor.resume(run, deps=…), or @world.deps, which makes them"


def describe_missing(wanted: str, actions: Sequence[str]) -> str:
    """Describe the deps, of the type `wanted`, that a run lacks and handlers of `actions` take."""
    return f"its deps={wanted}(…), which {', '.join(actions)} take: {RESUMING}"


def uses_deps(function: Callable[..., Any]) -> bool:
    """Return whether the code of a handler, check or hook asks a context for its deps; True where it has no code."""
    plain = inspect.unwrap(function)
    code = getattr(plain if hasattr(plain, "__code__") else getattr(plain, "__call__", plain), "__code__", None)  # noqa: B004 - its code
    return code is None or _has_name(code, "deps")


def _has_name(code: types.CodeType, name: str) -> bool:
    """Return whether `name` is a global or an attribute in the code of a function, or of functions in it."""
    return name in code.co_names or any(
        _has_name(each, name) for each in code.co_consts if isinstance(each, types.CodeType)
    )
