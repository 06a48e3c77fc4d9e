"""`forethought warm`: machine code for all kernels, made ahead."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from planner.cli.exits import Exit
from planner.cli.output import give, tell


def warm(
    *,
    again: Annotated[bool, typer.Option("--again", help="Make it even if it is there.")] = False,
) -> None:
    """Compile the inner loops of search to machine code now, once; otherwise that happens when it is first needed.

    Prints the folder where the code is kept.
    """
    from planner.compiled import library, making  # noqa: PLC0415 - each command loads only what it runs

    if library.loaded() is None or again:
        if not making.can_make():
            tell("numba is not installed: search stays in plain Python, which gives the same answers more slowly")
            raise typer.Exit(Exit.UNSUPPORTED)
        tell("making machine code; this takes about a minute")
        began = time.monotonic()
        making.make()
        tell(f"made in {time.monotonic() - began:.0f} s")
    give(str(library.folder()))
