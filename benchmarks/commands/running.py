"""Commands that run something: planners, grounding, validators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.commands.options import (
    Check,
    Cores,
    CpuSeconds,
    DomainFilter,
    MemoryGib,
    NameFilter,
    Out,
    ResultFile,
    Sample,
    Seed,
    SuiteFolder,
    TrackFilter,
    present,
)
from benchmarks.commands.tasks import tasks_of
from planner.cli.output import give, tell

if TYPE_CHECKING:
    from benchmarks.records import Record


def run(
    suite: SuiteFolder,
    planner: Annotated[list[str], typer.Option("--planner", help="A name or KIND:OPTIONS; see `bench planners`.")],
    out: Out = Path("results.jsonl"),
    *,
    track: TrackFilter = None,
    domain: DomainFilter = None,
    name: NameFilter = None,
    sample: Sample = None,
    seed: Seed = 0,
    time_limit: CpuSeconds = 30.0,
    memory_limit: MemoryGib = 4.0,
    check: Check = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes at a time; 1 measures best.")] = 1,
    core: Cores = None,
) -> None:
    """Run planners on the tasks of a suite; start it again to continue where it stopped."""
    from benchmarks.process import Limits  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.run import Settings, attempts_of, run_all  # noqa: PLC0415 - as above

    tasks = tasks_of(suite, track=track, domains=domain, names=name, sample=sample, seed=seed)
    attempts = attempts_of(tasks, present(planner))
    settings = Settings(Limits(time_limit, memory_limit), _validators(check), jobs, core.numbers if core else ())
    count = run_all(attempts, out, settings, _tell)
    others = f", the others were in {out} already" if count < len(attempts) else ""
    tell(f"{count} of {len(attempts)} runs carried out{others}")


def ground(
    suite: SuiteFolder,
    out: Out = Path("ground.jsonl"),
    *,
    track: TrackFilter = None,
    domain: DomainFilter = None,
    name: NameFilter = None,
    sample: Sample = None,
    seed: Seed = 0,
    time_limit: CpuSeconds = 60.0,
    memory_limit: MemoryGib = 4.0,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Repetitions; the fastest counts.")] = 1,
    core: Cores = None,
) -> None:
    """Ground tasks with ours and with Fast Downward's translator, alternating, and print the comparison."""
    from benchmarks.ground import OURS, THEIRS, ground_report  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.process import Limits  # noqa: PLC0415 - as above
    from benchmarks.records import read_records  # noqa: PLC0415 - as above
    from benchmarks.run import Settings, attempts_of, run_all  # noqa: PLC0415 - as above

    tasks = tasks_of(suite, track=track, domains=domain, names=name, sample=sample, seed=seed)
    attempts = attempts_of(tasks, present([OURS, THEIRS]), rounds)
    run_all(attempts, out, Settings(Limits(time_limit, memory_limit), (), cores=core.numbers if core else ()), _tell)
    give(ground_report(read_records(out)))


def validate(
    suite: SuiteFolder,
    results: ResultFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the judged results go; else they replace RESULTS.")
    ] = None,
    *,
    check: Check = None,
) -> None:
    """Check the plans in a result file again, with validators that have not seen them yet."""
    from benchmarks.records import read_records, write_records  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.report import checks  # noqa: PLC0415 - as above
    from benchmarks.run import check_again  # noqa: PLC0415 - as above
    from benchmarks.suite import load_suite  # noqa: PLC0415 - as above

    tasks = {task.name: task for task in load_suite(suite)}
    records = [check_again(record, tasks[record.task], _validators(check)) for record in read_records(results)]
    write_records(out or results, records)
    give(checks(records).markdown())


def _validators(names: list[str] | None) -> list[str]:
    from benchmarks.validators import FOREIGN, OURS, VALIDATORS  # noqa: PLC0415 - each command loads only what it runs
    from planner.errors import DocumentError, did_you_mean  # noqa: PLC0415 - as above

    groups = {"foreign": FOREIGN, "none": (), **{name: (name,) for name in VALIDATORS}}
    for name in names or ():
        if name not in groups:
            raise DocumentError(f"there is no validator '{name}'", hint=did_you_mean(name, groups))
    return [one for name in names or (OURS,) for one in groups[name]]


def _tell(record: Record) -> None:
    words = [record.task, record.planner, record.outcome]
    words += [f"cost {record.cost}"] if record.cost is not None else []
    words += [f"{record.cpu_seconds:.2f} s", f"{record.peak_mib:.0f} MiB", record.detail]
    tell("  ".join(filter(None, words)))
