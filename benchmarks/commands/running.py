"""Commands that run planners, grounding and validators, or list the suites, planners and validators that there are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.commands import options
from planner.cli.output import give, tell

if TYPE_CHECKING:
    from benchmarks.records import Record
    from benchmarks.suite import BenchmarkTask


def run(
    suite: options.SuiteFolder,
    planner: Annotated[
        list[str], typer.Option("--planner", help="Planner to run: a name or KIND:OPTIONS; see `bench planners`.")
    ],
    out: options.Out = Path("results.jsonl"),
    *,
    track: options.TrackFilter = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
    sample: options.Sample = None,
    seed: options.Seed = 0,
    time_limit: options.CpuSeconds = 30.0,
    memory_limit: options.MemoryGib = 4.0,
    check: options.Check = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Number of planners that run at the same time; 1 measures best.")
    ] = 1,
    core: options.Cores = None,
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="PLACE",
            help="Where to run: threads, processes (as many as --jobs says), or dask://HOST:PORT, a dask scheduler.",
        ),
    ] = "threads",
    wall_factor: Annotated[
        float,
        typer.Option(
            "--wall-factor",
            parser=options.parse_positive,
            metavar="NUMBER",
            help="How often the time limit the clock may run, and 5 s: more where others keep the processor busy.",
        ),
    ] = 3.0,
    starts: Annotated[
        bool, typer.Option("--starts", help="Measure each planner on a trivial task first, and record that time, too.")
    ] = False,
) -> None:
    """Run planners on the tasks of a suite; start it again to continue where it stopped."""
    from benchmarks.places import PLACES, find_place
    from benchmarks.process import Limits
    from benchmarks.report import note_guarded
    from benchmarks.run import Settings, attempts_of, run_all

    place = find_place(on)
    tasks = options.select_tasks(suite, track=track, domains=domain, names=name, sample=sample, seed=seed)
    attempts = attempts_of(tasks, (options.select_installed if on in PLACES else options.select_planners)(planner))
    limits, cores = Limits(time_limit, memory_limit, wall_factor), core.numbers if core else ()
    settings = Settings(limits, _select_validators(check), jobs, cores, starts)
    carried_out: list[Record] = []

    def watch(record: Record) -> None:
        carried_out.append(record)
        _tell_record(record)

    count = run_all(attempts, out, settings, watch, place)
    others = f", the others were in {out} already" if count < len(attempts) else ""
    tell(f"{count} of {len(attempts)} runs carried out{others}")
    if note := note_guarded(carried_out):
        tell(note)


def ground(
    suite: options.SuiteFolder,
    out: options.Out = Path("ground.jsonl"),
    *,
    track: options.TrackFilter = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
    sample: options.Sample = None,
    seed: options.Seed = 0,
    time_limit: options.CpuSeconds = 60.0,
    memory_limit: options.MemoryGib = 4.0,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Number of repetitions; the fastest counts.")] = 1,
    core: options.Cores = None,
) -> None:
    """Ground tasks with ours and with Fast Downward's translator, alternating, and print the comparison."""
    from benchmarks.process import Limits
    from benchmarks.rates import OURS, THEIRS, ground_report
    from benchmarks.records import read_records
    from benchmarks.run import Settings, attempts_of, run_all

    tasks = options.select_tasks(suite, track=track, domains=domain, names=name, sample=sample, seed=seed)
    attempts = attempts_of(tasks, options.select_installed([OURS, THEIRS]), rounds)
    run_all(
        attempts, out, Settings(Limits(time_limit, memory_limit), (), cores=core.numbers if core else ()), _tell_record
    )
    give(ground_report(read_records(out)))


def validate(
    suite: options.SuiteFolder,
    results: options.ResultFile,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write the checked results to; by default RESULTS is replaced.")
    ] = None,
    *,
    check: options.Check = None,
) -> None:
    """Check the plans in a result file again, with validators that have not seen them yet."""
    from benchmarks.records import read_records, write_records
    from benchmarks.report import tabulate_checks
    from benchmarks.run import check_again
    from benchmarks.suite import load_suite

    tasks = {task.name: task for task in load_suite(suite)}
    records = [check_again(record, tasks[record.task], _select_validators(check)) for record in read_records(results)]
    write_records(out or results, records)
    give(tabulate_checks(records).markdown())


def _select_validators(names: list[str] | None) -> list[str]:
    from benchmarks.validators import FOREIGN, OURS, VALIDATORS
    from planner.errors import DocumentError, did_you_mean

    groups = {"foreign": FOREIGN, "none": (), **{name: (name,) for name in VALIDATORS}}
    for name in names or ():
        if name not in groups:
            raise DocumentError(f"there is no validator '{name}'", hint=did_you_mean(name, groups))
    return [one for name in names or (OURS,) for one in groups[name]]


def _tell_record(record: Record) -> None:
    words = [record.task, record.planner, record.outcome]
    words += [f"cost {record.cost}"] if record.cost is not None else []
    words += [f"{record.cpu_seconds:.2f} s", f"{record.peak_mib:.0f} MiB", record.detail]
    tell("  ".join(filter(None, words)))


def suites(
    folders: Annotated[list[Path], typer.Argument(metavar="SUITE…")],
    *,
    track: options.TrackFilter = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
) -> None:
    """Print the domains of suites: how many tasks, of which tracks, with which features."""
    for folder in folders:
        give(suite_table(options.select_tasks(folder, track=track, domains=domain, names=name)))


def planners() -> None:
    """Print the named planners and the validators, and which of them are not installed."""
    from benchmarks.planners import NAMED, find_missing, planner_of
    from benchmarks.report import format_table
    from benchmarks.validators import VALIDATORS

    rows = [(label, f"`{text}`", find_missing(planner_of(label)) or "") for label, text in NAMED.items()]
    give(format_table(["planner", "configuration", "not installed"], rows))
    checks = [(label, ", ".join(sorted(one.lacks)) or "nothing", one.missing) for label, one in VALIDATORS.items()]
    give(format_table(["validator", "does not cover", "not installed"], checks))


def suite_table(tasks: Sequence[BenchmarkTask]) -> str:
    """Return the domains of `tasks`: how many, of which tracks, with which features in any of them."""
    from benchmarks.pddltext import read_features
    from benchmarks.report import format_table

    domains: dict[str, list[BenchmarkTask]] = {}
    for task in tasks:
        domains.setdefault(task.domain, []).append(task)
    rows = []
    for domain, members in domains.items():
        tracks = sorted({track for task in members for track in task.tracks})
        found = {feature for task in members for feature in read_features(task.domain_path, task.problem_path)}
        rows.append((domain, len(members), " ".join(tracks), ", ".join(sorted(found)) or "STRIPS"))
    return format_table(["domain", "tasks", "tracks", "features"], [*rows, ("**total**", len(tasks), "", "")])
