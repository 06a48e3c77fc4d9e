"""Declares kernels, the kinds of their arrays, and the numbers that all of them share; knows the compiler.

Kernels compute with signed 64-bit integers, so that numbers mean the same with and without a compiler. Arrays hold them
in 64 bits (`Words`) or, where they are never negative, in 32 (`Index`); indexing by an unsigned number needs no test
for a negative one. Floating-point numbers (`Reals`) come out alike if they are added in the same order.

Lists of lists are flat: the elements of list i are `items[start[i]:start[i + 1]]`. A place in a packed state is a word
and bits in it; words are used up to 63 bits, and so never negative. The single numbers that a search keeps between two
calls have places in one array of `Words` (`planner.jit.slots_kernel`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

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


class _Entries(dict[str, Callable[..., Any]]):
    """Kernels by name; one that is asked for before it is known is imported from its module, where `modules` has it."""

    def __init__(self) -> None:
        super().__init__()
        self.modules: dict[str, str] = {}

    def __missing__(self, name: str) -> Callable[..., Any]:
        __import__(self.modules[name])
        return self[name]


ENTRIES: Final = _Entries()
"""The kernels that are called from outside, by name: those of imported modules, and others as they are asked for."""
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


NOTHING: Final = 0xFFFFFFFF
"""In an `Index`: no fact, no state, no action, the end of a list."""
INFINITE: Final = 1 << 60
"""A cost that cannot be paid."""

PAUSED: Final = 0
"""So much work was done as was allowed."""
EXHAUSTED: Final = 1
FOUND: Final = 2
"""`slot.GOAL_STATE` is reached by a plan that costs `slot.CURRENT_F`."""
FULL: Final = 3
"""An array is too short: lengthen it, and call again."""
DONE: Final = 4
"""What was asked for was done."""
PASSED: Final = 4
"""All that waits has a greater f than `slot.UNTIL`: the least is `slot.CURRENT_F`."""
