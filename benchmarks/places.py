"""Where the runs of the lab take place: in threads or processes here, or on the workers of a farm.

A place carries out attempts under `Settings` and yields their records as they come. Closing the generator ends what
runs. The records, and so the tables, do not depend on the place.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Protocol

from benchmarks.planners import Planner
from benchmarks.process import stop_all
from benchmarks.records import Record
from benchmarks.run import Attempt, Settings, carry_out, measure_start
from planner.errors import ForethoughtError, InputError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MOST_LOSSES: Final = 3
"""How many processes or workers may be lost with one attempt before it is given up."""
LOOK_SECONDS: Final = 0.2
"""How often a process of the pool that is to end looks for what it has started."""
SCHEMES: Final = ("dask://", "dask+tls://")
"""What the address of a farm begins with."""


class Place(Protocol):
    """Carries out attempts."""

    def check(self, planners: Sequence[Planner], settings: Settings) -> None:
        """Raise `InputError` where it cannot carry out runs of these planners under these settings."""
        ...

    def carry_out(self, attempts: Sequence[Attempt], settings: Settings) -> Generator[Record, None, None]:
        """Yield the record of each attempt, in the order in which they end.

        Raises `RunsLost` at the end where the processes or workers that were at some of them are lost.
        """
        ...


class RunsLost(ForethoughtError):
    """The processes that carried out `attempts` have ended each time; there is no record of them."""

    def __init__(self, attempts: Sequence[Attempt]) -> None:
        super().__init__(attempts)
        self.attempts = attempts

    def __str__(self) -> str:
        first = self.attempts[0]
        others = f" and {len(self.attempts) - 1} others" if len(self.attempts) > 1 else ""
        return (
            f"{first.planner.label} on {first.task.name}{others} have no record: what carried them out was lost "
            f"{MOST_LOSSES + 1} times; start the command again to repeat them"
        )


class Threads:
    """Runs here: each job is a thread that starts a process for the planner, and waits for it."""

    def check(self, planners: Sequence[Planner], settings: Settings) -> None:  # noqa: ARG002 - as the protocol says
        """Raise `InputError` where processors lack."""
        settings.shares()

    def carry_out(self, attempts: Sequence[Attempt], settings: Settings) -> Generator[Record, None, None]:
        """Yield the record of each attempt; closing the generator ends the processes."""
        starts = measure_starts(attempts, settings)
        shares: SimpleQueue[tuple[int, ...]] = SimpleQueue()
        for share in settings.shares():
            shares.put(share)

        def work(attempt: Attempt) -> Record:
            cores = shares.get()
            try:
                return carry_out(attempt, settings, cores)
            finally:
                shares.put(cores)

        with ThreadPoolExecutor(settings.jobs) as pool:
            futures = [pool.submit(work, attempt) for attempt in attempts]
            try:
                for future in as_completed(futures):
                    record = future.result()
                    yield replace(record, start_seconds=starts.get(record.planner))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                _stop_processes(futures)
                raise


def _stop_processes(futures: Sequence[Future[Record]]) -> None:
    """End the processes of those that still run, until none starts another one."""
    while not all(future.done() for future in futures):
        stop_all()
        wait(futures, timeout=0.05)


def measure_starts(attempts: Sequence[Attempt], settings: Settings) -> dict[str, float | None]:
    """Return the CPU seconds of each planner's start by its label, where the settings ask for them."""
    planners = {one.planner.label: one.planner for one in attempts} if settings.starts else {}
    cores = settings.shares()[0]
    return {label: measure_start(planner, settings.limits, cores) for label, planner in planners.items()}


class Processes:
    """Runs here, each job in a process of its own, which reads tasks and validates plans beside the others.

    What a lost process was at is carried out again by a new one.
    """

    def check(self, planners: Sequence[Planner], settings: Settings) -> None:  # noqa: ARG002 - as the protocol says
        """Raise `InputError` where processors lack."""
        settings.shares()

    def carry_out(self, attempts: Sequence[Attempt], settings: Settings) -> Generator[Record, None, None]:
        """Yield the record of each attempt; closing the generator ends the processes."""
        starts = measure_starts(attempts, settings)
        losses: Counter[int] = Counter()
        todo = deque(enumerate(attempts))
        lost: list[Attempt] = []
        while todo:
            unfinished: dict[int, Attempt] = {}
            with closing(self._use_pool(todo, settings, unfinished)) as records:
                for record in records:
                    yield replace(record, start_seconds=starts.get(record.planner))
            losses.update(unfinished.keys())
            lost += [one for number, one in unfinished.items() if losses[number] > MOST_LOSSES]
            todo.extendleft((number, one) for number, one in unfinished.items() if losses[number] <= MOST_LOSSES)
        if lost:
            raise RunsLost(lost)

    @staticmethod
    def _use_pool(
        todo: deque[tuple[int, Attempt]], settings: Settings, unfinished: dict[int, Attempt]
    ) -> Generator[Record, None, None]:
        """Yield records by one pool, until nothing is left or the pool breaks; `unfinished` then has what it was at."""
        context = multiprocessing.get_context("spawn")
        line, end = context.Pipe(duplex=False)
        shares = deque(settings.shares())
        at_work: dict[Future[Record], tuple[int, Attempt, tuple[int, ...]]] = {}
        with ProcessPoolExecutor(settings.jobs, context, _watch_starter, (line, os.getpid())) as pool:
            try:
                while todo or at_work:
                    while todo and shares:
                        number, attempt = todo.popleft()
                        unfinished[number] = attempt
                        cores = shares.popleft()
                        at_work[pool.submit(carry_out, attempt, settings, cores)] = number, attempt, cores
                    for future in wait(at_work, return_when=FIRST_COMPLETED).done:
                        number, _, cores = at_work.pop(future)
                        record = future.result()
                        del unfinished[number]
                        shares.append(cores)
                        yield record
            except BrokenProcessPool:
                return
            finally:
                end.close()


def _watch_starter(line: Connection, starter: int) -> None:
    """Let this process of a pool end what it has started when its starter closes the line, or itself when that is gone.

    A pipe tells of both; what processes share by locks is lost with the first process that is killed.
    """

    def watch() -> None:
        with suppress(EOFError, OSError):
            line.recv()
        while os.getppid() == starter:
            stop_all()
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


PLACES: Final[dict[str, Any]] = {"threads": Threads, "processes": Processes}
"""The places on this machine, by their names."""


def find_place(text: str) -> Place:
    """Return the place that `text` names: "threads", "processes", or the address of a farm. Raises `InputError`."""
    if text in PLACES:
        found: Place = PLACES[text]()
        return found
    if text.startswith(SCHEMES):
        from benchmarks.farm import Farm

        return Farm.at(text)
    known = f"write {', '.join(PLACES)} or dask://HOST:PORT, the address of a dask scheduler"
    raise InputError(f"there is no place {text!r} to run planners on", hint=known)
