"""What runs demand of workers and of a database: measured by small batches that worker processes carry out.

What a start costs and what grows with the first runs are left out, as the difference of two batches; so is what a run
costs beside its steps.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import typer

from executor.executor import Executor
from executor.journal import AnyJournal, DatabaseAddress, Place, open_journal
from executor.tools.world import World
from planner.cli.output import tell
from planner.language.loading.load import open_source
from planner.language.loading.python_files import PythonSource
from planner.subprocesses import module_command

LINES: Final = 8
"""Connections of the probe of a database's commits."""
PROBE_SECONDS: Final = 2.0
CALIBRATION: Final = (20, 60)
"""Numbers of runs of the two calibrations with one worker; the difference leaves out what a start costs."""
SHORT: Final = 2
"""Steps of the shorter runs of a calibration: the difference to long ones is what steps cost."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a run, or a step, asks of the stations: seconds of CPU of a worker and of the database, commits, bytes."""

    worker: float = 0.0
    database: float = 0.0
    commits: float = 0.0
    bytes: float = 0.0

    def plus(self, other: Demand, times: float) -> Demand:
        """Return this demand and `times` the other one."""
        return Demand(*(getattr(self, one.name) + times * getattr(other, one.name) for one in fields(self)))

    def over(self, count: float) -> Demand:
        """Return the demand of one of `count`; none is below zero."""
        return Demand(*(max(0.0, getattr(self, one.name)) / count for one in fields(self)))


WORLD: Final = '''"""A world whose handlers wait, and do nothing else."""

import asyncio

from executor import World
from planner import Domain

domain = Domain("million")
for number in range({steps}):
    needs = [f"done{{number - 1}}"] if number else []
    domain.action(f"do{{number}}", {{}}, requires=needs, provides=[f"done{{number}}"], tags=["trusted"])
world = World(domain)


async def wait() -> None:
    """Wait for what a handler would call."""
    await asyncio.sleep({wait})


for number in range({steps}):
    world.handler(f"do{{number}}")(wait)
work = domain.problem(goal=["done{last}"])
'''


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch of runs took: CPU seconds of workers and database, commits, bytes, and seconds by the clock."""

    demand: Demand
    seconds: float


class Bench:
    """Carries out batches of runs on a journal, by workers that are processes of this machine."""

    def __init__(self, place: Place, folder: Path, wait: float, concurrency: int) -> None:
        self._place = place
        self._folder = folder
        self._wait = wait
        self._concurrency = concurrency
        self._starts: dict[int, float] = {}

    def carry_out(self, runs: int, steps: int, workers: int) -> Batch:
        """Enqueue runs, let workers carry them out, and return what that took, without the start of the workers."""
        path = self._write_world(steps)
        if steps not in self._starts:
            self._starts[steps] = self._work(path, 1)
        with open_journal(self._place) as journal:
            known = {record.run for record in journal.runs()}
        asyncio.run(self._enqueue(path, runs))
        before = self._look()
        cpu = self._work(path, workers) - workers * self._starts[steps]
        after = self._look()
        with open_journal(self._place) as journal:
            seconds = self._span(journal, known)
        used = replace(after.plus(before, -1.0), worker=cpu)
        return Batch(used, seconds)

    def _write_world(self, steps: int) -> Path:
        path = self._folder / f"world{steps}.py"
        path.write_text(WORLD.format(steps=steps, wait=self._wait, last=steps - 1), encoding="utf-8")
        return path

    async def _enqueue(self, path: Path, runs: int) -> None:
        source = open_source(str(path))
        assert isinstance(source, PythonSource)
        (world,), (problem,) = source.values(World), source.problems().values()
        executor = Executor(world, self._place)
        for _ in range(runs):
            await executor.enqueue(problem)
        assert executor.journal is not None
        executor.journal.close()

    def _work(self, path: Path, workers: int) -> float:
        """Let workers carry out what is due; return their CPU seconds."""
        place = str(self._place)
        words = ["worker", str(path), "--journal", place, "--once", "--quiet", "--concurrency", str(self._concurrency)]
        environment = dict(os.environ)
        if isinstance(self._place, DatabaseAddress) and self._place.password:
            environment["PGPASSWORD"] = self._place.password
        started = [subprocess.Popen(module_command("planner.cli", *words), env=environment) for _ in range(workers)]
        seconds = 0.0
        for process in started:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise typer.Exit(process.returncode)
            seconds += usage.ru_utime + usage.ru_stime
        return seconds

    @staticmethod
    def _span(journal: AnyJournal, known: set[str]) -> float:
        """Return the seconds between the first take-up and the last end of the runs that are new."""
        begun, ended = [], []
        for record in journal.runs():
            if record.run not in known:
                begun.append(next(entry.time for entry in journal.read(record.run) if entry.kind == "RunResumed"))
                ended.append(record.updated)
                if record.status != "SUCCEEDED":
                    tell(f"{record.run} ended as {record.status}")
        return max(ended) - min(begun)

    def _look(self) -> Demand:
        """Return what the journal has used so far: CPU of the database where it is of this machine, commits, bytes."""
        if not isinstance(self._place, DatabaseAddress):
            return Demand(bytes=sum(path.stat().st_size for path in self._place.parent.glob(f"{self._place.name}*")))
        with connect(self._place) as database:
            run = database.run
            run("SELECT pg_stat_force_next_flush()" if _version_of(run) >= 15 else "SELECT 1")
            ((commits, size),) = run(
                "SELECT xact_commit, pg_database_size(datname) FROM pg_stat_database WHERE datname = current_database()"
            )
            ((postmaster,),) = run("SELECT min(pid) FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        return Demand(database=read_family_seconds(int(postmaster)), commits=float(commits), bytes=float(size))


def _version_of(run: Any) -> int:
    ((version,),) = run("SHOW server_version_num")
    return int(version) // 10_000


def connect(address: DatabaseAddress) -> Any:
    """Return a plain connection of pg8000, as a context."""
    from contextlib import closing

    import pg8000.native

    where: dict[str, Any] = {"host": address.host, "port": address.port}
    if address.host.startswith("/"):
        where = {"unix_sock": f"{address.host}/.s.PGSQL.{address.port}"}
    return closing(
        pg8000.native.Connection(address.user, database=address.database, password=address.password, **where)
    )


def read_family_seconds(child: int) -> float:
    """Return the CPU seconds of the server that `child` is a process of, with all its processes; 0 on other hosts."""
    try:
        parent = Path(f"/proc/{child}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
        tick = os.sysconf("SC_CLK_TCK")
        found = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = path.read_text(encoding="utf-8").rpartition(")")
            except OSError:
                continue
            words = rest.split()
            if "postgres" in name and parent in (words[1], path.parent.name):
                own = words[11:15] if path.parent.name == parent else words[11:13]
                found += sum(map(int, own))
    except (OSError, IndexError):
        return 0.0
    return found / tick


def calibrate(bench: Bench, steps: int) -> tuple[Demand, Demand, float]:
    """Return what a run and what a step demands, and how long a commit holds a worker, in seconds.

    All are measured with one worker on short and on long runs; what a worker does in no CPU time, it waits for commits.
    """
    few, many = CALIBRATION
    bench.carry_out(few, SHORT, 1)  # tables and caches grow with the first runs
    short = bench.carry_out(many, SHORT, 1).demand.over(many)
    batch = bench.carry_out(many, steps, 1)
    long = batch.demand.over(many)
    commit = max(0.0, batch.seconds / many - long.worker) / max(1.0, long.commits)
    each_step = long.plus(short, -1.0).over(steps - SHORT)
    return short.plus(each_step, -SHORT).over(1), each_step, commit


def measure_commits(address: DatabaseAddress) -> float:
    """Return the commits a second of small rows that a database makes over some connections at once."""
    from threading import Thread

    done: list[int] = []

    def commit() -> None:
        with connect(address) as database:
            run, count, end = database.run, 0, time.monotonic() + PROBE_SECONDS
            while time.monotonic() < end:
                run("INSERT INTO forethought_probe VALUES (:text)", text="x" * 200)
                count += 1
            done.append(count)

    with connect(address) as database:
        database.run("CREATE TABLE IF NOT EXISTS forethought_probe (text TEXT)")
        threads = [Thread(target=commit) for _ in range(LINES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        database.run("DROP TABLE forethought_probe")
    return sum(done) / PROBE_SECONDS
