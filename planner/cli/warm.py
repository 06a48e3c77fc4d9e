"""`forethought warm`: compile all kernels to machine code ahead of their first use."""

from __future__ import annotations

import time
from argparse import Namespace

from planner.cli.output import Exit, give, tell
from planner.cli.parser import Parser
from planner.lightweight import Final

ABOUT: Final = "Compile the inner loops of search to machine code now instead of at their first use."


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--again", action="store_true", help="Compile even if the machine code is there.")


def run(_started: float, given: Namespace) -> Exit:
    """Compile unless the machine code is there, and print the folder where it is kept."""
    from planner.jit import build_process, library

    if given.again or library.load() is None:
        if not build_process.can_build():
            tell("numba is not installed: search stays in plain Python, which gives the same answers more slowly")
            return Exit.UNSUPPORTED
        tell("making machine code; this takes two or three minutes, or half of that on two processors")
        began = time.monotonic()
        build_process.build_and_wait()
        tell(f"made in {time.monotonic() - began:.0f} s")
    give(str(library.find_folder()))
    return Exit.OK
