"""Running a job in a process of its own, within limits of time and memory, until it answers or is stopped."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from planner.budget import GIB, Budget, LimitReached
from planner.engines.jobs import Answer, Job, Outcome
from planner.interpreter import command, environment
from planner.plan import StoppedBy

POLL_SECONDS: Final = 0.05
"""How often the other process is looked at."""
GRACE_SECONDS: Final = 0.2
"""How much longer than its limit an engine may take to say that it has reached it, and to stop when told to."""


def run(job: Job, budget: Budget) -> Answer:
    """Return the answer to `job`; what runs for it, and what that has started, is stopped when `budget` is used up.

    Raises `LimitReached` then. Memory is the resident memory of all processes that work on the job.
    """
    job = replace(job, time_limit=budget.remaining)
    with tempfile.TemporaryDirectory(prefix="forethought-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        (directory / "job").write_bytes(pickle.dumps(job))
        with (directory / "output").open("wb") as output:
            process = _start(directory, output.fileno())
            try:
                _watch(process, budget)
            finally:
                _stop(process)
        return _read(directory, process.returncode)


def _start(directory: Path, output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - this very interpreter, on a module of ours
        command("planner.engines.worker", str(directory)),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=environment(TMPDIR=str(directory)),
        start_new_session=True,
    )


def _watch(process: subprocess.Popen[bytes], budget: Budget) -> None:
    """Wait for `process` to end; raise `LimitReached` when it may not go on."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
            return
        if budget.cancel is not None and budget.cancel.is_set():
            raise LimitReached(StoppedBy.CANCELLED)
        if budget.time_limit is not None and budget.elapsed > budget.time_limit + GRACE_SECONDS:
            raise LimitReached(StoppedBy.TIME)
        if budget.memory_limit is not None and _resident(process.pid) > budget.memory_limit * GIB:
            raise LimitReached(StoppedBy.MEMORY)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop `process`, if it still runs, and all that it has started."""
    if process.poll() is not None:
        return
    tree = list(_tree(process.pid))
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    for pid in tree:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _tree(root: int) -> Iterator[int]:
    """Yield `root` and the processes below it, as far as the system tells."""
    stack = [root]
    while stack:
        current = stack.pop()
        yield current
        for children in Path(f"/proc/{current}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                stack.extend(map(int, children.read_text(encoding="ascii").split()))


def _resident(root: int) -> int:
    """Return the resident memory, in bytes, of `root` and the processes below it; 0 where the system does not tell."""
    page, total = os.sysconf("SC_PAGE_SIZE"), 0
    for pid in _tree(root):
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * page
    return total


def _read(directory: Path, code: int) -> Answer:
    """Return the answer that was left in `directory`; where there is none, the process crashed."""
    with contextlib.suppress(FileNotFoundError):
        answer: Answer = pickle.loads((directory / "answer").read_bytes())  # noqa: S301 - written by our own process
        return answer
    said = (directory / "output").read_text(encoding="utf-8", errors="replace").strip()
    return Answer(Outcome.CRASHED, reason=f"exit code {code}" + (f": {said.splitlines()[-1]}" if said else ""))
