"""The process in which diagrams are worked on: a step takes seconds at times, and cannot be broken off from outside.

It reads a task and how many bytes it may take, and writes a line for all that it finds; it ends when nobody holds the
other end of its input any more. Run as `python -m planner.symbolic.process`.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
from collections.abc import Callable
from typing import IO

from planner.annotations import Any, Final
from planner.compiled import library
from planner.compiled.lists import Entries
from planner.mutexes import Pruned, pruned
from planner.search.run import Ending, Run
from planner.search.space import Space
from planner.symbolic.bidirectional import bidirectional

PRUNING_SECONDS: Final = 5.0
"""Seconds after which no more mutexes are looked for."""


def main(source: IO[bytes], say: Callable[[dict[str, Any]], None]) -> None:
    """Search for the cheapest plan for the task that is read from `source`; `say` what is found."""
    task, room = pickle.load(source)  # noqa: S301 - written by the process that started this
    threading.Thread(target=_until_left_alone, args=(source,), daemon=True).start()
    entries = library.loaded()
    known = pruned(task, entries=entries, seconds=PRUNING_SECONDS)
    run = Run()
    run.on_change = lambda: say(_state(run, known))
    say({"ended": _ending(known, room, run, entries or library.ENTRIES).name, "steps": run.expanded})


def _ending(known: Pruned, room: int, run: Run, entries: Entries) -> Ending:
    if not known.solvable:
        return Ending.EXHAUSTED
    steps = bidirectional(Space(known.task), run, room, known.excluded, entries)
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    except MemoryError:
        return Ending.INCOMPLETE


def _state(run: Run, known: Pruned) -> dict[str, Any]:
    """Return what is known by now; actions have their numbers in the task that was read."""
    plan = {} if run.plan is None else {"plan": [known.actions[each] for each in run.plan], "cost": run.limit}
    return {"bound": run.lower_bound, **plan}


def _until_left_alone(source: IO[bytes]) -> None:
    source.read()
    os._exit(1)


def _say(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, _say)
