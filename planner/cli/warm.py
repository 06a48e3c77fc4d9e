"""`forethought warm`: machine code for all kernels, made ahead."""

from __future__ import annotations

import time

from planner.cli.exit_codes import Exit
from planner.cli.output import give, tell
from planner.lightweight import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from planner.cli.parser import Parser

ABOUT: Final = "Compile the inner loops of search to machine code now, and not when it is first needed."


def arguments(parser: Parser) -> None:
    """Declare what the command takes."""
    parser.add_argument("--again", action="store_true", help="Make it even if it is there.")


def run(_started: float, *, again: bool) -> Exit:
    """Print the folder where the code is kept."""
    from planner.jit import library, making

    if again or library.loaded() is None:
        if not making.can_make():
            tell("numba is not installed: search stays in plain Python, which gives the same answers more slowly")
            return Exit.UNSUPPORTED
        tell("making machine code; this takes two or three minutes, or half of that on two processors")
        began = time.monotonic()
        making.make()
        tell(f"made in {time.monotonic() - began:.0f} s")
    give(str(library.folder()))
    return Exit.OK
