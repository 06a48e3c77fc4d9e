"""The processes that answer questions: each answers one at a time, and is ended where it passes a limit.

A process limits itself first, and then has a plan to show for it. What that misses, such as a process that it has
started, the server sees from outside, and ends the process with all below it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, Final, NoReturn

from executor.service.keys import KEY_VARIABLE
from executor.service.messages import HEADER, LARGEST, least_limit, pack
from planner.lightweight import dataclass
from planner.limits import GIB
from planner.subprocesses import module_command, module_environment

START_SECONDS: Final = 120.0
"""Most seconds from the start of a process to its being ready."""
LOOK_SECONDS: Final = 0.1
"""Seconds between two looks at the memory of a process."""
LATE_SECONDS: Final = 5.0
"""Seconds after its time limit, or after it was interrupted, at which a process is killed."""
PIPE_SECONDS: Final = 1.0
"""Time to wait for the pipes of a killed process to close, in seconds."""
REPEAT_SECONDS: Final = 1.0
"""Seconds between two interrupts: the first lets a search end itself, the second breaks it off."""
MEMORY_SLACK: Final = 1.25
"""Memory at which a process is killed, as a multiple of the limit that it watches itself."""
MOST_TASKS: Final = 500
"""Questions after which a process is replaced."""
MOST_GROWTH: Final = 256 * 1024**2
"""Bytes by which a process may have grown after a question; one that has grown more is replaced."""


class WorkerLost(Exception):
    """A process has ended, or was killed, before it answered: `kind` is "crashed", "memory", "time" or "cancelled"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How to start a process: its `memory_limit` in GiB, and its module."""

    memory_limit: float | None = None
    module: str = "executor.service.worker"


class Worker:
    """A process that answers questions."""

    def __init__(self, process: Process, settings: WorkerSettings) -> None:
        self._process = process
        self._settings = settings
        self._tasks = 0
        self.was_killed = False
        self._resident = self._resident_at_first = 0
        self._interrupted: float | None = None
        self._repeat_at = 0.0

    @classmethod
    async def start(cls, settings: WorkerSettings) -> Worker:
        """Start a process, and wait until it is ready. Raises `WorkerLost` and `OSError`."""
        command = module_command(settings.module, f"{settings.memory_limit or 0:g}")
        environment = module_environment()
        environment.pop(KEY_VARIABLE, None)
        creating = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment, start_new_session=True
            )
        )
        try:
            worker = cls(await asyncio.shield(creating), settings)
        except asyncio.CancelledError:
            await cls(await creating, settings).close()
            raise
        try:
            ready = await asyncio.wait_for(worker._read(), START_SECONDS)
        except TimeoutError:
            await worker.close()
            raise WorkerLost("crashed", "a process did not begin to work") from None
        except BaseException:
            await worker.close()
            raise
        worker._resident_at_first = ready["resident"]
        return worker

    @property
    def pid(self) -> int:
        """The identifier of the process."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the process answers no more: it has ended by itself, or was killed."""
        return self.was_killed or self._process.returncode is not None

    @property
    def is_worn(self) -> bool:
        """Whether another process should take the place of this one."""
        return self._tasks >= MOST_TASKS or self._resident - self._resident_at_first > MOST_GROWTH

    async def ask(self, message: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
        """Return the reply to `message`; `tell` is called with each better plan, in JSON. Raises `WorkerLost`."""
        self._tasks += 1
        self._interrupted = None
        deadline = time.monotonic() + message["time_limit"] + LATE_SECONDS
        reading = asyncio.ensure_future(self._exchange(message, tell))
        limit = least_limit(self._settings.memory_limit, message.get("question", {}).get("memory_limit"))
        watching = asyncio.ensure_future(self._watch(deadline, limit))
        try:
            await asyncio.wait({reading, watching}, return_when=asyncio.FIRST_COMPLETED)
            reply = (reading if reading.done() else watching).result()
        except BaseException:
            self.kill()
            raise
        finally:
            reading.cancel()
            watching.cancel()
            await asyncio.gather(reading, watching, return_exceptions=True)
        self._resident = reply.get("resident", 0)
        return reply

    def interrupt(self) -> None:
        """Ask the process to end what it is doing; it is killed if it does not."""
        if self._interrupted is None:
            self._interrupted = time.monotonic()
            self._repeat_at = self._interrupted + REPEAT_SECONDS
            self._signal(signal.SIGINT)

    def kill(self) -> None:
        """End the process and all that it has started."""
        self.was_killed = True
        for pid in [*processes_below(self.pid), self.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def wait(self) -> None:
        """Wait until the process has ended."""
        await self._process.wait()

    async def close(self) -> None:
        """End the process, and wait for its end, even where this is cancelled: a killed process ends soon."""
        self.kill()
        ending = asyncio.ensure_future(self._end())
        try:
            await asyncio.shield(ending)
        except asyncio.CancelledError:
            await ending
            raise

    async def _end(self) -> None:
        """Wait until a killed process has ended and its pipes are closed, unless a process out of reach holds them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.stdout.read(), PIPE_SECONDS)
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _exchange(self, message: dict[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # reading says how the process has ended
            self._process.stdin.write(pack(message))
            await self._process.stdin.drain()
        while "progress" in (reply := await self._read()):
            tell(reply["progress"])
        return reply

    async def _read(self) -> dict[str, Any]:
        """Read one message; raises `WorkerLost` where the process has ended."""
        assert self._process.stdout is not None
        try:
            (length,) = HEADER.unpack(await self._process.stdout.readexactly(HEADER.size))
            if length <= LARGEST:
                found: dict[str, Any] = json.loads(await self._process.stdout.readexactly(length))
                return found
        except asyncio.IncompleteReadError:
            code = await self._process.wait()
            how = f"signal {-code}" if code < 0 else f"code {code}"
            kind = "crashed" if self._interrupted is None else "cancelled"
            raise WorkerLost(kind, f"the process that was at work has ended by {how}") from None
        except ValueError:
            pass
        raise WorkerLost("crashed", "the process that was at work has sent what is no message")

    async def _watch(self, deadline: float, limit: float | None) -> NoReturn:
        """Raise `WorkerLost` once the process is to be killed; the memory limit is in GiB."""
        most = None if limit is None else limit * GIB * MEMORY_SLACK
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            now = time.monotonic()
            if most is not None and tree_bytes(self.pid) > most:
                raise WorkerLost("memory", f"the question took more than {limit:g} GiB of memory")
            if now > deadline:
                raise WorkerLost("time", "the question did not end at its time limit")
            if self._interrupted is not None:
                if now > self._interrupted + LATE_SECONDS:
                    raise WorkerLost("cancelled", "the question was cancelled")
                if now > self._repeat_at:
                    self._repeat_at = now + REPEAT_SECONDS
                    self._signal(signal.SIGINT)


def processes_below(pid: int) -> Iterator[int]:
    """Yield the processes that `pid` and they have started, as far as the system tells."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text(encoding="ascii").split():
                yield int(child)
                yield from processes_below(int(child))


def tree_bytes(pid: int) -> int:
    """Return the resident memory of a process and of those below it, in bytes; 0 where the system does not tell."""
    found, page = 0, os.sysconf("SC_PAGE_SIZE")
    for each in [pid, *processes_below(pid)]:
        with suppress(OSError, IndexError):
            found += int(Path(f"/proc/{each}/statm").read_text(encoding="ascii").split()[1]) * page
    return found
