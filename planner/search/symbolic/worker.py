"""The process in which diagrams are worked on: a step takes seconds at times, and cannot be broken off from outside.

It reads what to search and how many bytes it may take, and writes a line for all that it finds; it ends when nobody
holds the other end of its input any more. Run as `python -m planner.search.symbolic.worker`.
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
from planner.task.state_space import Space

PR_SET_PDEATHSIG: Final = 1
"""From `sys/prctl.h`."""


def main(source: IO[bytes], say: Callable[[dict[str, Any]], None]) -> None:
    """Search for the cheapest plan for the task that is read from `source`; `say` what is found."""
    lift_address_limit()  # it keeps count of what it takes
    say({"mortal": dies_with_its_starter()})
    (task, mutexes, orders), room = pickle.load(source)  # noqa: S301 - written by the process that started this
    threading.Thread(target=_until_left_alone, args=(source,), daemon=True).start()
    run = Run()
    run.on_change = lambda: say(_found(run))
    steps = bidirectional(Space(task), run, room, mutexes, orders)
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        say({"ended": stop.value.name})
    except MemoryError:
        say({"ended": Ending.INCOMPLETE.name})


def dies_with_its_starter() -> bool:
    """Let the system kill this process when the thread that started it is gone; return whether it will, for sure.

    Then it may be stopped: a process that was and whose starter is killed would be there for ever.
    """
    starter = os.getppid()
    try:
        asked = ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) == 0
    except (AttributeError, OSError):  # not on Linux
        return False
    return asked and starter == os.getppid() != 1


def _found(run: Run) -> dict[str, Any]:
    plan = {} if run.plan is None else {"plan": run.plan, "cost": run.limit}
    return {"bound": run.lower_bound, **plan}


def _until_left_alone(source: IO[bytes]) -> None:
    source.read()
    os._exit(1)


def _say(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, _say)
