"""How kernels are declared: the one place that knows of a compiler.

All numbers are signed 64-bit integers while kernels compute, so that they mean the same with and without a compiler;
arrays hold them in 64 bits (`Words`) or, where they are never negative, in 32 (`Index`: numbers of things; indexing by
an unsigned number needs no test for a negative one). Floating-point numbers (`Reals`) come to the same if they are
added in the same order.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

if TYPE_CHECKING:
    _Array = array[int]
    _Floats = array[float]
else:
    _Array = _Floats = array  # it cannot be subscripted before Python 3.12

Words = Annotated[_Array, "q"]
"""An array of signed 64-bit integers; the letter is the type code of `array.array`."""
Index = Annotated[_Array, "I"]
"""An array of unsigned 32-bit integers."""

Reals = Annotated[_Floats, "d"]
"""An array of floating-point numbers."""

F = TypeVar("F", bound=Callable[..., Any])
ENTRIES: dict[str, Callable[..., Any]] = {}
"""The kernels that are called from outside, by name."""
_compiler: list[Callable[[Any], Any]] = []


def kernel(function: F) -> F:
    """Mark `function` as a kernel: it is compiled where a compiler was given, and otherwise runs as it stands."""
    compiled: F = _compiler[0](function) if _compiler else function
    return compiled


def entry(function: F) -> F:
    """Mark `function` as a kernel that is called from outside.

    Its parameters are integers and records of arrays (NamedTuples of `Words`, `Index` and `Reals`), with annotations;
    it returns an integer.
    """
    ENTRIES[function.__name__] = function
    return function


def use_compiler(compiler: Callable[[Any], Any]) -> None:
    """Let `compiler` make every kernel that is imported from now on."""
    _compiler[:] = [compiler]
