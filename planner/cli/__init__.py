"""The `forethought` command: messages to people on stderr, results on stdout, exit codes as in `Exit`."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from planner.cli.interrupt import SIGNALS
from planner.cli.output import Exit
from planner.lightweight import NoReturn

__all__ = ["Exit", "main"]


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command that `arguments` (by default those of the process) name, and exit with a code of `Exit`."""
    started = time.monotonic()
    if arguments is not None:
        _run(arguments, started)
    atexit.register(_ignore_signals)
    for number in SIGNALS:
        signal.signal(number, _leave)
    try:
        _run(sys.argv[1:], started)
    finally:
        gc.freeze()  # the process ends: a last garbage collection would take longer than many searches


def _run(arguments: Sequence[str], started: float) -> NoReturn:
    from planner.cli.root import run

    run(arguments, started)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End the process at once: before the command has begun and after it has ended, nothing has to be saved."""
    os._exit(Exit.INTERRUPTED)


def _ignore_signals() -> None:
    """Ignore signals while Python shuts down: they would kill the process after its result was printed."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
