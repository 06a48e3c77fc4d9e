"""`forethought bench`: run suites, tabulate and compare results, check plans again."""

from __future__ import annotations

import math
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.tools.command import tools
from planner.cli.output import give, tell

if TYPE_CHECKING:
    from benchmarks.planners import Planner
    from benchmarks.records import Record
    from benchmarks.suite import BenchmarkTask

app = typer.Typer(no_args_is_help=True, help="Benchmark suites, peers and reports.")


class Track(StrEnum):
    """The tracks of the planning competition that a task belongs to."""

    OPT = "opt"
    SAT = "sat"


def above_zero(text: str | float) -> float:
    """Read a limit: a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise typer.BadParameter(f"{text!r} is not a finite number above 0")
    return value


def processor(text: str | int) -> int:
    """Read the number of a processor that this process may run on."""
    try:
        known = sorted(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        known = list(range(os.cpu_count() or 1))
    if str(text) not in map(str, known):
        raise typer.BadParameter(f"{text!r} is not a processor here; there are {', '.join(map(str, known))}")
    return int(text)


SuiteFolder = Annotated[Path, typer.Argument(metavar="SUITE", help="A folder with tasks.tsv or with PDDL files.")]
ResultFile = Annotated[Path, typer.Argument(metavar="RESULTS", help="A file of results, JSON lines.", exists=True)]
TrackFilter = Annotated[Track | None, typer.Option("--track", help="Only tasks of this track.")]
DomainFilter = Annotated[list[str] | None, typer.Option("--domain", help="Only domains like this, e.g. 'blocks*'.")]
NameFilter = Annotated[list[str] | None, typer.Option("--name", help="Only tasks like this, e.g. '*/p01.pddl'.")]
Sample = Annotated[int | None, typer.Option("--sample", min=1, help="That many of the tasks, at random.")]
Seed = Annotated[int, typer.Option("--seed", help="Determines the sample.")]
Out = Annotated[Path, typer.Option("--out", help="Where results go; what is already there is not run again.")]
CpuSeconds = Annotated[
    float, typer.Option("--time-limit", parser=above_zero, metavar="SECONDS", help="Seconds of CPU time a task.")
]
MemoryGib = Annotated[
    float, typer.Option("--memory-limit", parser=above_zero, metavar="GiB", help="GiB of memory a task.")
]
Core = Annotated[
    int | None, typer.Option("--core", parser=processor, metavar="NUMBER", help="Run on this processor only.")
]
Proved = Annotated[bool, typer.Option("--proved", help="Count proofs only: optimal plans and unsolvability.")]
Check = Annotated[
    list[str] | None,
    typer.Option("--check", help="A validator, 'foreign' for all but ours, 'none'; see `bench planners`."),
]


@app.command()
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
    core: Core = None,
) -> None:
    """Run planners on the tasks of a suite; start it again to continue where it stopped."""
    from benchmarks.process import Limits  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.run import Settings, attempts_of, run_all  # noqa: PLC0415 - as above

    tasks = _tasks(suite, track=track, domains=domain, names=name, sample=sample, seed=seed)
    attempts = attempts_of(tasks, _present(planner))
    settings = Settings(Limits(time_limit, memory_limit), _validators(check), jobs, core)
    count = run_all(attempts, out, settings, _tell)
    others = f", the others were in {out} already" if count < len(attempts) else ""
    tell(f"{count} of {len(attempts)} runs carried out{others}")


@app.command()
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
    core: Core = None,
) -> None:
    """Ground tasks with ours and with Fast Downward's translator, alternating, and print the comparison."""
    from benchmarks.ground import OURS, THEIRS, ground_report  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.process import Limits  # noqa: PLC0415 - as above
    from benchmarks.records import read_records  # noqa: PLC0415 - as above
    from benchmarks.run import Settings, attempts_of, run_all  # noqa: PLC0415 - as above

    tasks = _tasks(suite, track=track, domains=domain, names=name, sample=sample, seed=seed)
    attempts = attempts_of(tasks, _present([OURS, THEIRS]), rounds)
    run_all(attempts, out, Settings(Limits(time_limit, memory_limit), (), core=core), _tell)
    give(ground_report(read_records(out)))


@app.command()
def table(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS…", exists=True)], *, proved: Proved = False
) -> None:
    """Print coverage by domain, outcomes, times and validation of one or more result files as Markdown."""
    from benchmarks.records import read_records  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.report import full_report  # noqa: PLC0415 - as above
    from planner.errors import DocumentError, Location  # noqa: PLC0415 - as above

    records = [record for path in results for record in read_records(path)]
    if not records:
        raise DocumentError("there are no results", Location(", ".join(map(str, results))), "`bench run` makes them")
    give(full_report(records, proved_only=proved))


@app.command()
def compare(
    left_file: ResultFile,
    right_file: Annotated[Path | None, typer.Argument(metavar="[RESULTS]", help="Another file; else the same.")] = None,
    *,
    left: Annotated[str | None, typer.Option("--left", help="The planner's label in the first file.")] = None,
    right: Annotated[str | None, typer.Option("--right", help="The planner's label in the second file.")] = None,
    proved: Proved = False,
) -> None:
    """Compare two planners, or two runs of one: coverage, contradicting claims, times."""
    from benchmarks.compare import compare as comparison  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.records import read_records  # noqa: PLC0415 - as above
    from benchmarks.report import by_task  # noqa: PLC0415 - as above

    ours = read_records(left_file)
    theirs = ours if right_file is None else read_records(right_file)
    default = -1 if right_file is None else 0
    sides = by_task(ours, _label(ours, left, 0)), by_task(theirs, _label(theirs, right, default))
    give(comparison(*sides, proved_only=proved))


@app.command()
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
    from benchmarks.report import check_table  # noqa: PLC0415 - as above
    from benchmarks.run import check_again  # noqa: PLC0415 - as above
    from benchmarks.suite import load_suite  # noqa: PLC0415 - as above

    tasks = {task.name: task for task in load_suite(suite)}
    records = [check_again(record, tasks[record.task], _validators(check)) for record in read_records(results)]
    write_records(out or results, records)
    give(check_table(records))


@app.command()
def suites(
    folders: Annotated[list[Path], typer.Argument(metavar="SUITE…")],
    *,
    track: TrackFilter = None,
    domain: DomainFilter = None,
    name: NameFilter = None,
) -> None:
    """Print the domains of suites: how many tasks, of which tracks, with which features."""
    from benchmarks.report import suite_table  # noqa: PLC0415 - each command loads only what it runs

    for folder in folders:
        give(suite_table(_tasks(folder, track=track, domains=domain, names=name)))


@app.command()
def planners() -> None:
    """Print the named planners and the validators, and which of them are not installed."""
    from benchmarks.planners import NAMED, missing, planner_of  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.report import markdown  # noqa: PLC0415 - as above
    from benchmarks.validators import VALIDATORS  # noqa: PLC0415 - as above

    rows = [(label, f"`{text}`", missing(planner_of(label)) or "") for label, text in NAMED.items()]
    give(markdown(["planner", "configuration", "not installed"], rows))
    checks = [
        (label, ", ".join(sorted(one.lacks)) or "nothing", "" if one.available else one.package)
        for label, one in VALIDATORS.items()
    ]
    give(markdown(["validator", "does not cover", "not installed"], checks))


app.command()(tools)


def _tasks(
    suite: Path,
    *,
    track: Track | None,
    domains: list[str] | None,
    names: list[str] | None,
    sample: int | None = None,
    seed: int = 0,
) -> list[BenchmarkTask]:
    from benchmarks.suite import Selection, load_suite  # noqa: PLC0415 - each command loads only what it runs
    from planner.errors import DocumentError, Location  # noqa: PLC0415 - as above

    chosen = Selection(track.value if track else None, domains or (), names or (), sample, seed)
    found = chosen.of(load_suite(suite))
    if not found:
        asked: dict[str, list[str]] = {
            "--track": [track.value] if track else [],
            "--domain": domains or [],
            "--name": names or [],
        }
        options = " ".join(f"{option} '{pattern}'" for option, patterns in asked.items() for pattern in patterns)
        raise DocumentError(f"no task fits {options}", Location(str(suite)), "`bench suites` lists the domains")
    return found


def _present(names: list[str]) -> list[Planner]:
    from benchmarks.planners import missing, planner_of  # noqa: PLC0415 - each command loads only what it runs

    found = []
    for one in map(planner_of, names):
        lacking = missing(one)
        if lacking is None:
            found.append(one)
        else:
            tell(f"{one.label} is left out: {lacking} is not installed")
    return found


def _validators(names: list[str] | None) -> list[str]:
    from benchmarks.validators import FOREIGN, OURS, VALIDATORS  # noqa: PLC0415 - each command loads only what it runs
    from planner.errors import DocumentError, did_you_mean  # noqa: PLC0415 - as above

    groups = {"foreign": FOREIGN, "none": (), **{name: (name,) for name in VALIDATORS}}
    for name in names or ():
        if name not in groups:
            raise DocumentError(f"there is no validator '{name}'", hint=did_you_mean(name, groups))
    return [one for name in names or (OURS,) for one in groups[name]]


def _label(records: list[Record], wanted: str | None, default: int) -> str:
    from benchmarks.report import planners_in  # noqa: PLC0415 - each command loads only what it runs
    from planner.errors import DocumentError, did_you_mean  # noqa: PLC0415 - as above

    known = planners_in(records)
    label = wanted or (known[default] if known else "")
    if label not in known:
        raise DocumentError(f"there are no results of '{label}'", hint=did_you_mean(label, known))
    return label


def _tell(record: Record) -> None:
    words = [record.task, record.planner, record.outcome]
    words += [f"cost {record.cost}"] if record.cost is not None else []
    words += [f"{record.cpu_seconds:.2f} s", f"{record.peak_mib:.0f} MiB", record.detail]
    tell("  ".join(filter(None, words)))
