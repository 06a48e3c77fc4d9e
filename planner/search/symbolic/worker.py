"""The program of the process of symbolic search: one step may take seconds and cannot be interrupted within.

It reads a pickled job and a memory limit in bytes from its input, and writes plans and bounds as lines of JSON. It ends
when its input is closed. Run as `python -m planner.search.symbolic.worker`.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from typing import IO

from planner.lightweight import Any, Final
from planner.limits import lift_address_limit
from planner.search.search_run import Ending, Run
from planner.search.symbolic.bidirectional import bidirectional
from planner.task.successor_generator import Space

PR_SET_PDEATHSIG: Final = 1
"""From `sys/prctl.h`."""


def main(source: IO[bytes], say: Callable[[dict[str, Any]], None]) -> None:
    """Search for the cheapest plan for the task that is read from `source`; call `say` with each plan and bound."""
    lift_address_limit()  # this process counts its memory itself
    say({"mortal": dies_with_its_starter()})
    (task, mutexes, orders), room, timed = pickle.load(source)  # noqa: S301 - written by the process that started this
    threading.Thread(target=_exit_at_end_of_input, args=(source,), daemon=True).start()
    run = Run()
    run.on_change = lambda: say(_describe(run))
    steps = bidirectional(Space(task), run, room, mutexes, orders, timed=timed)
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        say({"ended": stop.value.name, "expanded": run.expanded})
    except MemoryError:
        say({"ended": Ending.INCOMPLETE.name, "expanded": run.expanded})


def dies_with_its_starter() -> bool:
    """Ask the system to kill this process when the thread that started it has ended; return whether it will.

    Only such a process may be stopped for a while: else it would stay stopped for ever if its starter were killed.
    """
    starter = os.getppid()
    try:
        asked = ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) == 0
    except (AttributeError, OSError):  # not on Linux
        return False
    return asked and starter == os.getppid() != 1


def _describe(run: Run) -> dict[str, Any]:
    plan = {} if run.plan is None else {"plan": run.plan, "cost": run.limit}
    return {"bound": run.lower_bound, "expanded": run.expanded, **plan}


def _exit_at_end_of_input(source: IO[bytes]) -> None:
    source.read()
    os._exit(1)


def _say(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, _say)
