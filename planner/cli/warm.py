"""`forethought warm`: make all machine code ahead of its first use."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from importlib.metadata import entry_points

from planner.cli.output import Exit, give, is_terminal, tell
from planner.cli.parser import Parser
from planner.lightweight import Final

ABOUT: Final = "Compile the inner loops of search to machine code now instead of at their first use."


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--again", action="store_true", help="Compile even if the machine code is there.")


def run(_started: float, given: Namespace) -> Exit:
    """Make machine code unless it is there, and print the folder where it is kept."""
    from planner.jit import build_process, library

    for each in entry_points(group="forethought.kernels"):
        each.load()
    if library.is_switched_off():
        tell(f"{library.SWITCH}=off: no machine code is made, and none is loaded")
        return Exit.UNSUPPORTED
    made, all_of_them = library.count_made()
    if given.again or made < all_of_them:
        if not build_process.can_build():
            tell("numba is not installed: search stays in plain Python, which gives the same answers more slowly")
            tell("`pip install 'forethought[jit]'` installs it")
            return Exit.UNSUPPORTED
        tell(f"making machine code: {all_of_them} parts, about a minute")
        _make(0 if given.again else made, all_of_them, again=given.again)
    give(str(library.find_used_folder()))
    return Exit.OK


def _make(made: int, all_of_them: int, *, again: bool) -> None:
    """Make machine code in the foreground, and count its parts on a terminal."""
    from planner.jit import build_process

    began, shown = time.monotonic(), is_terminal(sys.stderr)

    def count(part: str) -> None:
        nonlocal made
        made += 1
        if shown:
            sys.stderr.write(f"\r\x1b[K{made} of {all_of_them}: {part}")
            sys.stderr.flush()

    try:
        build_process.build_and_wait(count, again=again)
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
    tell(f"made in {time.monotonic() - began:.0f} s")
