"""The memory of one long run, measured in a process of its own: `python -m benchmarks.overhead.memory STEPS`."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Final

from benchmarks.overhead.overhead_setting import CHAIN, Setting
from executor.executor import Executor

UNIT: Final = 1 if sys.platform == "darwin" else 1024
"""Bytes in which the system counts resident memory."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Peak resident memory in bytes: at the end, and how much of it came with the run, after its plan was there."""

    steps: int
    peak: int
    run: int


def measured(steps: int) -> Memory:
    """Return what a process needs that does nothing but carry out one plan of so many steps."""
    command = [sys.executable, "-m", "benchmarks.overhead.memory", str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Memory(**json.loads(done.stdout))


def here(steps: int) -> Memory:
    """Carry out the plan in this process."""
    world, plan = Setting(CHAIN, "sequential", steps).made()
    before = _peak()
    outcome = asyncio.run(Executor(world, model="sequential").run(plan))
    assert outcome.succeeded, outcome
    return Memory(steps, _peak(), _peak() - before)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


if __name__ == "__main__":
    print(json.dumps(asdict(here(int(sys.argv[1])))))  # noqa: T201 - that is what it is started for
