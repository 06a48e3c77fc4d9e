"""Farms: the lab's runs on the workers of dask.distributed (extra `farm`), which may be on other hosts.

Workers share no disk with the driver: an attempt goes to them as a parcel with the contents of its files. The worker
writes these to a folder of its own and does what the lab does here, so that each run is under the lab's limits of time
and memory. A worker that another version of Forethought runs on, or that lacks a planner or a validator, refuses.
Whoever reaches a dask scheduler can run programs on its workers: it listens where only friends are, or with TLS.
"""

from __future__ import annotations

import platform
import sys
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from threading import Lock, Timer
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from benchmarks.places import SCHEMES, RunsLost
from benchmarks.planners import Planner, find_missing
from benchmarks.process import Limits
from benchmarks.records import Record
from benchmarks.run import Attempt, Settings, carry_out, measure_start
from benchmarks.suite import BenchmarkTask
from benchmarks.validators import VALIDATORS
from planner.cli.output import tell
from planner.errors import ForethoughtError, InputError

PACKAGES: Final = ("planner", "htn", "executor", "benchmarks")
"""The packages whose source must be the same on all workers."""
CONNECT_SECONDS: Final = 30.0
"""Most seconds until the scheduler answers."""
WORKERS_SECONDS: Final = 60.0
"""Most seconds until there is a worker; and the silence after which the driver looks whether there is one left."""
AT_ONCE_SECONDS: Final = 0.5
"""Seconds of waiting that are not worth a message."""
AHEAD: Final = 2
"""Parcels at the scheduler for each thread of a worker: enough that none waits for the driver."""
MEND: Final = "start the workers again with the version of the driver"


class FarmLost(ForethoughtError):
    """The scheduler of a farm is gone."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a process runs: the version of Forethought with a digest of its source, Python, and what is missing there.

    `lacks` has the planners and validators that were asked for and are not installed, each with a reason.
    """

    forethought: str
    source: str
    python: str
    lacks: tuple[str, ...] = ()

    @classmethod
    def find(cls, planners: Sequence[Planner], validators: Sequence[str]) -> Equipment:
        """Return the equipment of this process."""
        missing = [f"{one.label} needs {lacking}" for one in planners if (lacking := find_missing(one)) is not None]
        missing += [f"the validator {name} is not there" for name in validators if not VALIDATORS[name].available]
        return cls(version("forethought"), digest_source(), python_series(), tuple(missing))

    def refuse(self, needed: Equipment) -> str | None:
        """Return why this worker cannot carry out a driver's runs; None where it can."""
        if (self.forethought, self.source) != (needed.forethought, needed.source):
            ours, theirs = (f"{each.forethought} ({each.source[:12]})" for each in (needed, self))
            return f"it runs Forethought {theirs}, and this is {ours}: their results are no table"
        if self.python != needed.python:
            return f"it runs Python {self.python}, and this is {needed.python}: their times do not compare"
        more = [one for one in self.lacks if one not in needed.lacks]
        return f"it lacks what is needed: {'; '.join(more)}" if more else None


def python_series() -> str:
    """Return implementation and series of Python, such as "CPython 3.11"."""
    return f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}"


@cache
def digest_source() -> str:
    """Return the SHA-256 of the source of the packages that a run may use, by the names of the files."""
    found = sha256()
    for package in PACKAGES:
        spec = find_spec(package)
        for folder in map(Path, (spec.submodule_search_locations if spec else None) or ()):
            for path in sorted(folder.rglob("*.py")):
                content = path.read_bytes()
                found.update(f"{package}/{path.relative_to(folder).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()


@dataclass(frozen=True, slots=True)
class Parcel:
    """An attempt as it goes to a worker: the files of its task are there by content, compressed."""

    attempt: Attempt
    contents: tuple[bytes, bytes]
    settings: Settings
    needed: Equipment

    @classmethod
    def pack(cls, attempt: Attempt, settings: Settings, needed: Equipment) -> Parcel:
        """Return the parcel of an attempt."""
        domain, problem = (zlib.compress(path.read_bytes(), 1) for path in paths_of(attempt.task))
        return cls(attempt, (domain, problem), settings, needed)

    @contextmanager
    def unpack(self) -> Generator[Attempt, None, None]:
        """Write the files to a folder of this worker while the block is at work, and give the attempt on them."""
        task = self.attempt.task
        with TemporaryDirectory(prefix="farm-") as name:
            files = [Path(name, kind, path.name) for kind, path in zip(("d", "p"), paths_of(task), strict=True)]
            for file, content in zip(files, self.contents, strict=True):
                file.parent.mkdir()
                file.write_bytes(zlib.decompress(content))
            there = replace(task, domain_path=files[0], problem_path=files[1])
            yield replace(self.attempt, task=there)


def paths_of(task: BenchmarkTask) -> tuple[Path, Path]:
    """Return the paths of the domain and of the problem of a task."""
    return task.domain_path, task.problem_path


def carry_out_parcel(parcel: Parcel) -> dict[str, str]:
    """Carry out an attempt on this worker; return its record as a line of JSON, or why it was refused."""
    settings, planner = parcel.settings, parcel.attempt.planner
    reason = Equipment.find([planner], settings.validators).refuse(parcel.needed)
    if reason is not None:
        return {"refused": f"the worker on {platform.node()} refuses: {reason}"}
    with parcel.unpack() as attempt:
        record = carry_out(attempt, settings)
    if settings.starts:
        record = replace(record, start_seconds=_find_start(planner, settings.limits))
    return {"record": record.to_line()}


_starts: Final[dict[tuple[str, str, str], float | None]] = {}
_measuring: Final = Lock()


def _find_start(planner: Planner, limits: Limits) -> float | None:
    """Return the start of a planner on this worker, measured once."""
    key = (planner.label, planner.configuration, str(asdict(limits)))
    with _measuring:
        if key not in _starts:
            _starts[key] = measure_start(planner, limits)
    return _starts[key]


@dataclass(frozen=True, slots=True)
class Farm:
    """The workers of the dask scheduler at `address`, as dask writes it."""

    address: str

    @classmethod
    def at(cls, text: str) -> Farm:
        """Read `dask://HOST:PORT`, or `dask+tls://HOST:PORT` with the certificates of dask's own configuration."""
        parts = urlsplit(text)
        try:
            port = parts.port
        except ValueError:
            port = None
        if not parts.hostname or not port or parts.path or parts.query:
            raise InputError(f"{text!r} is no address of a farm", hint=f"such as {SCHEMES[0]}127.0.0.1:8786")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return cls(f"{'tls' if parts.scheme.endswith('tls') else 'tcp'}://{host}:{port}")

    def check(self, planners: Sequence[Planner], settings: Settings) -> None:
        """Raise `InputError` where the farm is not there, or one of its workers would refuse."""
        if settings.cores or settings.jobs > 1:
            hint = "start each worker on its processors: `taskset -c 0 dask worker … --nthreads 1`"
            raise InputError("--core and --jobs are for this machine; a farm has its workers' threads", hint=hint)
        needed = Equipment.find(planners, settings.validators)
        with self._connect() as client:
            found = client.run(Equipment.find, list(planners), list(settings.validators), on_error="return")
        for worker, equipment in found.items():
            raise_refusal(worker, equipment, needed)

    def carry_out(self, attempts: Sequence[Attempt], settings: Settings) -> Generator[Record, None, None]:
        """Yield the record of each attempt; a lost worker's are carried out again by others.

        What is at work when the generator is closed ends on the workers by itself, and nobody takes it.
        """
        planners = list({one.planner.label: one.planner for one in attempts}.values())
        needed = Equipment.find(planners, settings.validators)
        lost: list[Attempt] = []
        with self._connect() as client:
            errand = Errand(client, settings, needed)
            todo = iter(attempts)
            try:
                while errand.fill(todo):
                    attempt, told = errand.take()
                    if told is None:
                        lost.append(attempt)
                    else:
                        yield told
            finally:
                errand.drop()
        if lost:
            raise RunsLost(lost)

    @contextmanager
    def _connect(self) -> Generator[Any, None, None]:
        """Give a client of the scheduler, once there is a worker."""
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            hint = "pip install 'forethought[farm]'"
            raise InputError(f"this needs {error.name}, which is not installed", hint=hint) from None
        try:
            with _tell_of_waiting(f"the dask scheduler at {self.address}", CONNECT_SECONDS):
                client = Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError) as error:
            hint = "`dask scheduler` starts one"
            raise InputError(f"no dask scheduler answers at {self.address}: {error}", hint=hint) from None
        try:
            try:
                with _tell_of_waiting(f"a worker of the farm at {self.address}", WORKERS_SECONDS):
                    client.wait_for_workers(1, timeout=WORKERS_SECONDS)
            except TimeoutError:
                hint = f"`dask worker {self.address} --nthreads 1` starts one"
                raise InputError(f"the farm at {self.address} has no workers", hint=hint) from None
            yield client
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close(timeout=CONNECT_SECONDS)


@contextmanager
def _tell_of_waiting(what: str, seconds: float) -> Generator[None, None, None]:
    """Say that the body waits for `what`, and for how long at most, unless it comes at once."""
    telling = Timer(AT_ONCE_SECONDS, tell, [f"waiting for {what}, {seconds:g} s at most"])
    telling.daemon = True
    telling.start()
    try:
        yield
    finally:
        telling.cancel()


class Errand:
    """What a driver has at a farm: parcels on their way, and those that have come back."""

    def __init__(self, client: Any, settings: Settings, needed: Equipment) -> None:
        self._client = client
        self._settings = settings
        self._needed = needed
        self._away: dict[str, tuple[Any, Attempt]] = {}
        self._back: SimpleQueue[Any] = SimpleQueue()

    def fill(self, todo: Iterator[Attempt]) -> bool:
        """Send as many parcels as the workers have use for; return whether any is away."""
        most = AHEAD * max(1, self._count_threads())
        while len(self._away) < most and (attempt := next(todo, None)) is not None:
            parcel = Parcel.pack(attempt, self._settings, self._needed)
            future = self._client.submit(carry_out_parcel, parcel, key=f"forethought-{uuid4()}", pure=False)
            self._away[future.key] = future, attempt
            future.add_done_callback(self._back.put)
        return bool(self._away)

    def take(self) -> tuple[Attempt, Record | None]:
        """Wait for a parcel; return its attempt with the record, or None where it was lost with its workers."""
        from distributed import KilledWorker

        future = self._wait()
        _, attempt = self._away.pop(future.key)
        if future.status in ("cancelled", "lost"):
            raise self._explain_loss()
        error = future.exception() if future.status == "error" else None
        if isinstance(error, KilledWorker):
            return attempt, None
        if error is not None:
            raise_refusal("a worker", error, self._needed)
        reply: Mapping[str, str] = future.result()
        if "refused" in reply:
            raise InputError(reply["refused"], hint=MEND)
        return attempt, Record.from_line(reply["record"])

    def drop(self) -> None:
        """Give up what is away: what no worker has begun will not begin."""
        with suppress(Exception):  # the scheduler may be gone
            self._client.cancel([future for future, _ in self._away.values()], force=True)

    def _wait(self) -> Any:
        told = False
        while True:
            try:
                return self._back.get(timeout=WORKERS_SECONDS)
            except Empty:
                if not self._count_threads() and not told:
                    told = True
                    tell("the farm has no worker left; runs go on as soon as one comes")

    def _count_threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except Exception as error:  # dask tells of a lost scheduler by many kinds of errors
            raise self._explain_loss() from error

    @staticmethod
    def _explain_loss() -> FarmLost:
        return FarmLost("the scheduler of the farm is gone; start it, and the command again, to continue")


def raise_refusal(worker: str, equipment: Equipment | BaseException, needed: Equipment) -> None:
    """Raise `InputError` where a worker has another equipment, or could not say which it has."""
    if isinstance(equipment, Equipment):
        reason = equipment.refuse(needed)
    elif isinstance(equipment, ModuleNotFoundError):
        reason = f"it has no {equipment.name}"
    elif isinstance(equipment, ForethoughtError):
        raise equipment
    else:
        reason = f"{type(equipment).__name__}: {equipment}"
    if reason is not None:
        raise InputError(f"{worker} is of no use: {reason}", hint=MEND)
