"""A model of a day with a million runs: its bottleneck, how many workers it takes, what is stored, what it costs.

    python -m benchmarks.million_runs                                         by constants that were measured before
    python -m benchmarks.million_runs --journal postgresql://…                by constants that are measured now
    python -m benchmarks.million_runs --journal postgresql://… --check 200    and a small run beside its prediction

The model is the operational analysis of queueing networks (Denning and Buzen, 1978). A run makes demands at stations,
in seconds; the utilization of a station is throughput times demand, divided by its servers. A closed batch takes at
least as long as its busiest station. A worker stands still while the database commits what it appends, so that commits
hold a worker, too. Demands are measured with one worker; the check is made with several.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks.report import format_table
from benchmarks.run_demands import Bench, Demand, calibrate, measure_commits
from executor.cli.places import journal_place
from executor.journal import DatabaseAddress, Place, open_journal
from planner.cli.output import give
from planner.limits import count_processors

DAY: Final = 86_400.0
MONTH_HOURS: Final = 730.0
DAYS_A_MONTH: Final = MONTH_HOURS / 24
KB: Final = 1e3
GB: Final = 1e9
CONNECTIONS: Final = 2
"""Connections of a worker to the database: one appends, one renews the lease."""
EACH_RUN: Final = (7.5, 3.6, 14.6, 420.0)
EACH_STEP: Final = (0.95, 0.6, 3.05, 740.0)
"""Worker ms, database ms, commits and bytes, as measured on 28 November 2026 with PostgreSQL 15 on the same machine."""


@dataclass(frozen=True, slots=True)
class Load:
    """What comes: runs a day, the busiest hour as a multiple of the mean, steps of a run, and how they take their time.

    `plan` is the CPU time of planning a run, `wait` how long a step waits for what its handler calls, in seconds.
    """

    runs: float
    peak: float
    steps: int
    plan: float
    wait: float


@dataclass(frozen=True, slots=True)
class House:
    """What is there: how many runs a worker drives at once, how busy stations may be, and what the database can do.

    `commits` are those that the database can make in a second over many connections, `commit` the seconds for which
    one holds a worker, and `cores` its processors.
    """

    concurrency: int
    busy: float
    commits: float
    commit: float
    cores: float


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in any currency: of a vCPU for an hour, a GB of storage for a month, and models for a run."""

    vcpu_hour: float
    gb_month: float
    models: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a day needs: workers by each limit, the database's load at the peak, storage, and money for a month."""

    rate: float
    workers_by_time: int
    workers_by_slots: int
    workers_mean: int
    commits: float
    database_cores: float
    shares: dict[str, float]
    day_bytes: float
    kept_bytes: float
    costs: dict[str, float]

    @property
    def workers(self) -> int:
        """Worker processes at the peak."""
        return max(self.workers_by_time, self.workers_by_slots)

    @property
    def bottleneck(self) -> str:
        """What cannot be had more of by starting more workers, and is used most at the peak."""
        return max(self.shares, key=lambda name: self.shares[name])

    @property
    def room(self) -> float:
        """How many times the load could grow before the bottleneck is as busy as it may be."""
        share = self.shares[self.bottleneck]
        return 1.0 / share if share else math.inf


@dataclass(frozen=True, slots=True)
class Model:
    """A load, what a run and a step demand, and the house that serves them."""

    load: Load
    each_run: Demand
    each_step: Demand
    house: House

    @property
    def whole(self) -> Demand:
        """What a run demands with all its steps and its plan."""
        return self.each_run.plus(self.each_step, self.load.steps).plus(Demand(worker=1.0), self.load.plan)

    @property
    def held(self) -> float:
        """How long a run holds a worker, in seconds: its CPU, and the commits that it waits for."""
        return self.whole.worker + self.whole.commits * self.house.commit

    @property
    def residence(self) -> float:
        """How long a run is at work, in seconds, where nothing else holds its worker."""
        return self.held + self.load.steps * self.load.wait

    def forecast(self, prices: Prices, days: float) -> Forecast:
        """Return what a day needs, where runs are kept for some days."""
        load, house, whole = self.load, self.house, self.whole
        peak = load.runs / DAY * load.peak
        by_time = peak * self.held / house.busy
        by_slots = peak * self.residence / (house.concurrency * house.busy)
        mean_workers = max(1, math.ceil(max(by_time, by_slots) / load.peak))
        commits, cores = peak * whole.commits, peak * whole.database
        kept = load.runs * whole.bytes * days
        hour = MONTH_HOURS * prices.vcpu_hour
        return Forecast(
            rate=peak,
            workers_by_time=max(1, math.ceil(by_time)),
            workers_by_slots=max(1, math.ceil(by_slots)),
            workers_mean=mean_workers,
            commits=commits,
            database_cores=cores,
            shares={
                "commits of the database": commits / (house.commits * house.busy),
                "processors of the database": cores / (house.cores * house.busy),
            },
            day_bytes=load.runs * whole.bytes,
            kept_bytes=kept,
            costs={
                "workers, as many as the mean needs": mean_workers * hour,
                "database, its processors": house.cores * hour,
                "storage": kept / GB * prices.gb_month,
                "language models": load.runs * DAYS_A_MONTH * prices.models,
            },
        )

    def predict_batch(self, runs: int, workers: int, processors: int) -> float:
        """Return the seconds that some workers on one machine with the database take for a batch of runs."""
        concurrent = min(runs, workers * self.house.concurrency)
        return runs * max(
            self.held / workers,
            self.whole.commits / self.house.commits,
            (self.whole.worker + self.whole.database) / processors,
            self.residence / concurrent,
        )


def describe(demand: Demand) -> list[str]:
    """Return a demand as cells of a table."""
    milliseconds = (f"{1e3 * demand.worker:.2f}", f"{1e3 * demand.database:.2f}")
    return [*milliseconds, f"{demand.commits:.2f}", f"{demand.bytes / KB:.2f}"]


def tabulate_day(model: Model, found: Forecast, days: float) -> Iterator[Sequence[object]]:
    """Yield the rows of the table of a day: what, how much, and how it comes."""
    load, house, total = model.load, model.house, sum(found.costs.values())
    million = total / (load.runs * DAYS_A_MONTH / 1e6)
    yield "runs a second at the peak", f"{found.rate:.1f}", f"{load.runs:,.0f} a day, {load.peak:g} times the mean"
    yield "steps a second at the peak", f"{found.rate * load.steps:.0f}", f"{load.steps} a run"
    by = f"{found.workers_by_time} by time, {found.workers_by_slots} by runs at once, {house.concurrency} each"
    yield "worker processes at the peak", found.workers, f"{by}, {house.busy:.0%} busy"
    yield "worker processes by the mean", found.workers_mean, ""
    about = f"the database can make {house.commits:.0f}; one takes {1e3 * house.commit:.2g} ms"
    yield "commits a second at the peak", f"{found.commits:.0f}", about
    yield "processors of the database at work", f"{found.database_cores:.2f}", f"it has {house.cores:g}"
    yield "connections", CONNECTIONS * found.workers, f"{CONNECTIONS} a worker"
    yield "storage a day", f"{found.day_bytes / GB:.1f} GB", "events with their indexes"
    yield "storage kept", f"{found.kept_bytes / GB:,.0f} GB", f"for {days:g} days"
    yield "**bottleneck**", found.bottleneck, f"room for {found.room:.1f} times this load"
    for name, cost in found.costs.items():
        yield f"a month: {name}", f"{cost:,.0f}", ""
    yield "**a month**", f"{total:,.0f}", f"{million:,.2f} for a million runs"


def compare_batch(bench: Bench, model: Model, runs: int, workers: int) -> Iterator[Sequence[object]]:
    """Yield rows that compare a batch by several workers with its prediction from the constants of one."""
    model = replace(model, load=replace(model.load, plan=0.0))  # plans are found when runs are enqueued
    found, whole = bench.carry_out(runs, model.load.steps, workers), model.whole
    seconds = model.predict_batch(runs, workers, count_processors())
    yield f"seconds of {runs} runs with {workers} workers", f"{seconds:.1f}", f"{found.seconds:.1f}"
    yield "CPU of the workers, s", f"{runs * whole.worker:.1f}", f"{found.demand.worker:.1f}"
    yield "CPU of the database, s", f"{runs * whole.database:.1f}", f"{found.demand.database:.1f}"
    yield "commits", f"{runs * whole.commits:.0f}", f"{found.demand.commits:.0f}"
    yield "MB", f"{runs * whole.bytes / 1e6:.2f}", f"{found.demand.bytes / 1e6:.2f}"


def measure(place: Place, model: Model, trial: tuple[int, int]) -> tuple[Model, list[Sequence[object]]]:
    """Return the model with the constants of a journal, and a comparison with a batch of (runs, workers)."""
    with tempfile.TemporaryDirectory(prefix="million-") as name:
        if isinstance(place, DatabaseAddress):
            open_journal(place).close()
            model = replace(model, house=replace(model.house, commits=measure_commits(place)))
        bench = Bench(place, Path(name), model.load.wait, model.house.concurrency)
        each_run, each_step, commit = calibrate(bench, model.load.steps)
        house = replace(model.house, commit=commit)
        model = replace(model, each_run=each_run, each_step=each_step, house=house)
        return model, list(compare_batch(bench, model, *trial)) if trial[0] else []


def main(
    *,
    journal: Annotated[
        Any, typer.Option(parser=journal_place, help="Measure the constants on it: a file, or postgresql://….")
    ] = None,
    check: Annotated[int, typer.Option(min=0, help="Carry out so many runs beside their prediction.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Workers of the check.")] = 2,
    runs: Annotated[float, typer.Option(min=1, help="Runs a day.")] = 1e6,
    peak: Annotated[float, typer.Option(min=1, help="The busiest hour, as a multiple of the mean.")] = 3.0,
    steps: Annotated[int, typer.Option(min=3, help="Steps of a run.")] = 20,
    plan: Annotated[float, typer.Option("--plan-ms", min=0, help="CPU of planning a run, in ms.")] = 50.0,
    wait: Annotated[float, typer.Option("--wait-ms", min=0, help="How long a handler waits, in ms.")] = 500.0,
    run_worker: Annotated[float, typer.Option("--run-ms", help="CPU of a worker for a run, ms.")] = EACH_RUN[0],
    run_database: Annotated[float, typer.Option("--run-database-ms", help="Likewise of the database.")] = EACH_RUN[1],
    run_commits: Annotated[float, typer.Option(help="Commits of a run without its steps.")] = EACH_RUN[2],
    run_bytes: Annotated[float, typer.Option(help="Bytes of a run without its steps.")] = EACH_RUN[3],
    step_worker: Annotated[float, typer.Option("--step-ms", help="CPU of a worker for a step, ms.")] = EACH_STEP[0],
    step_database: Annotated[float, typer.Option("--step-database-ms", help="Of the database, ms.")] = EACH_STEP[1],
    step_commits: Annotated[float, typer.Option(help="Commits of a step.")] = EACH_STEP[2],
    step_bytes: Annotated[float, typer.Option(help="Bytes of a step.")] = EACH_STEP[3],
    commits: Annotated[float, typer.Option("--database-commits", help="Commits a second that it can make.")] = 5000.0,
    commit: Annotated[float, typer.Option("--commit-ms", help="How long one holds a worker, ms.")] = 2.5,
    cores: Annotated[float, typer.Option("--database-cores", help="Processors of the database.")] = 4.0,
    concurrency: Annotated[int, typer.Option(min=1, help="Runs that a worker drives at once.")] = 64,
    busy: Annotated[float, typer.Option(min=0.05, max=1, help="How busy a station may be at the peak.")] = 0.6,
    days: Annotated[float, typer.Option("--retention", min=0, help="Days for which runs are kept.")] = 30.0,
    vcpu_hour: Annotated[float, typer.Option(help="Price of a vCPU for an hour.")] = 0.04,
    gb_month: Annotated[float, typer.Option(help="Price of a GB for a month.")] = 0.12,
    models: Annotated[float, typer.Option(help="Price of language models for a run.")] = 0.0,
) -> None:
    """Print what a day of runs needs, with all assumptions, as Markdown tables."""
    model = Model(
        Load(runs, peak, steps, plan / 1e3, wait / 1e3),
        Demand(run_worker / 1e3, run_database / 1e3, run_commits, run_bytes),
        Demand(step_worker / 1e3, step_database / 1e3, step_commits, step_bytes),
        House(concurrency, busy, commits, commit / 1e3, cores),
    )
    if journal is not None:
        model, rows = measure(journal, model, (check, workers))
        if rows:
            give(format_table(("", "predicted", "measured"), rows))
    head = ("measured" if journal is not None else "assumed", "worker, ms", "database, ms", "commits", "kB")
    give(format_table(head, [("a run", *describe(model.each_run)), ("a step", *describe(model.each_step))]))
    give(
        f"\nplanning {plan:g} ms a run, handlers {wait:g} ms a step; a vCPU {vcpu_hour:g} an hour, a GB {gb_month:g}\n"
    )
    found = model.forecast(Prices(vcpu_hour, gb_month, models), days)
    give(format_table(("a day", "", ""), tabulate_day(model, found, days)))


if __name__ == "__main__":
    os.environ.setdefault("FORETHOUGHT_NO_MODELS", "1")
    typer.run(main)
