"""The process in which diagrams are worked on: a step takes seconds at times, and cannot be broken off from outside.

It reads a job, and writes a line for all that it finds; it ends when nobody holds the other end of its input any more.
Run as `python -m planner.symbolic.process`.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from planner.records import dataclass
from planner.search.run import Ending, Run
from planner.search.space import Space
from planner.symbolic.exclusions import Pairs
from planner.task import Task


@dataclass(frozen=True, slots=True)
class Job:
    """Search for the cheapest plan for `task` in `room` bytes; `pairs` of facts never hold together."""

    task: Task
    room: int
    pairs: Pairs


def main(source: IO[bytes], say: Callable[[dict[str, Any]], None]) -> None:
    """Do the job that is read from `source`; `say` what was found."""
    job: Job = pickle.load(source)  # noqa: S301 - written by the process that started this
    threading.Thread(target=_until_left_alone, args=(source,), daemon=True).start()
    run = Run()
    run.on_change = lambda: say(_state(run))
    say({"ended": _ending(job, run).name, "steps": run.expanded})


def _ending(job: Job, run: Run) -> Ending:
    from planner.symbolic.bidirectional import bidirectional  # noqa: PLC0415 - it needs the library for diagrams

    steps = bidirectional(Space(job.task), run, job.room, job.pairs, lambda: None)
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    except MemoryError:
        return Ending.INCOMPLETE


def _state(run: Run) -> dict[str, Any]:
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
