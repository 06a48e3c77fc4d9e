"""Commands that read results: tables, comparisons, rates, pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.commands import options
from planner.cli.output import give, tell

if TYPE_CHECKING:
    from benchmarks.records import Counts, Record


def table(
    results: options.ResultFiles,
    *,
    proved: options.Proved = False,
    tasks: Annotated[bool, typer.Option("--tasks", help="Print outcome, cost, time and memory of each task.")] = False,
    planner: options.Only = None,
    without: options.Without = None,
    supported_by: options.SupportedBy = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
    best_known: options.BestKnown = None,
) -> None:
    """Print coverage and scores by domain, outcomes, times, memory and validation of results as Markdown."""
    from benchmarks.numeric_report import numeric_tables
    from benchmarks.report import full_report, task_table, track_tables
    from benchmarks.temporal_report import temporal_tables

    records = select_records(
        results, planners=planner, without=without, supported_by=supported_by, domains=domain, names=name
    )
    if tasks:
        give(task_table(records).markdown())
    else:
        counts = select_counts(proved=proved)
        known = read_best_known(best_known)
        more = [*track_tables(records, counts), *numeric_tables(records, counts, known)]
        more += temporal_tables(records, counts)
        give(full_report(records, counts, known, more))


def html(
    results: options.ResultFiles,
    out: Annotated[Path, typer.Option("--out", help="File to write the page to.")] = Path("report.html"),
    *,
    title: Annotated[str, typer.Option("--title", help="Title of the page.")] = "Benchmark results",
    proved: options.Proved = False,
    planner: options.Only = None,
    without: options.Without = None,
    supported_by: options.SupportedBy = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
    best_known: options.BestKnown = None,
) -> None:
    """Write tables, cactus and scatter plots of results as one HTML page that needs nothing else."""
    from benchmarks.html_report import report_page
    from benchmarks.records import write_whole

    options.check_output(out, results)
    records = select_records(
        results, planners=planner, without=without, supported_by=supported_by, domains=domain, names=name
    )
    page = report_page(records, select_counts(proved=proved), read_best_known(best_known), title)
    write_whole(out, page.encode())
    tell(f"{len(records)} results shown in {out}")


def compare(
    left_file: options.Results,
    right_file: Annotated[
        Path | None, typer.Argument(metavar="[RESULTS]", help="Second file of results; by default the first.")
    ] = None,
    *,
    left: Annotated[str | None, typer.Option("--left", help="Label of the planner in the first file.")] = None,
    right: Annotated[str | None, typer.Option("--right", help="Label of the planner in the second file.")] = None,
    proved: options.Proved = False,
    without: options.Without = None,
    supported_by: options.SupportedBy = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
) -> None:
    """Compare two planners, or two runs of one: coverage, scores, contradicting claims, times, memory."""
    from benchmarks.compare import RecordFilter
    from benchmarks.compare import compare as comparison
    from benchmarks.lab_properties import adopt_suites, read_results
    from benchmarks.report import select_by_task

    ours = read_results(left_file)
    theirs = ours if right_file is None else read_results(right_file)
    both = adopt_suites([*ours, *theirs])
    ours, theirs = both[: len(ours)], both[len(ours) :]
    choice = RecordFilter(
        without=without or (), supported_by=supported_by or (), domains=domain or (), names=name or ()
    )
    default = -1 if right_file is None else 0
    sides = (
        select_by_task(choice.of(ours, theirs), _find_label(ours, left, 0)),
        select_by_task(choice.of(theirs, ours), _find_label(theirs, right, default)),
    )
    give(comparison(*sides, select_counts(proved=proved)))


def rates(
    results: options.ResultFiles,
    *,
    least_seconds: Annotated[
        float, typer.Option("--least-seconds", min=0, help="Leave out searches that are shorter, in seconds.")
    ] = 0.1,
    planner: options.Only = None,
    without: options.Without = None,
    supported_by: options.SupportedBy = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
) -> None:
    """Print evaluations and expansions a second of search, and memory for each stored state, side by side."""
    from benchmarks.rates import rate_tables

    records = select_records(
        results, planners=planner, without=without, supported_by=supported_by, domains=domain, names=name
    )
    tables = rate_tables(records, least_seconds)
    if not tables:
        tell(f"no planner tells of a search of {least_seconds:g} s or more")
    give("\n".join(one.markdown() for one in tables))


def proofs(
    results: options.ResultFiles,
    *,
    ours: Annotated[str | None, typer.Option("--ours", help="Label of our planner; by default the first one.")] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option("--peer", help="Planner to compare with; may be repeated. By default all that are not ours."),
    ] = None,
    bound: Annotated[
        list[str] | None,
        typer.Option("--bound", help="Planner whose lower bounds are compared by gap; may be repeated."),
    ] = None,
    without: options.Without = None,
    supported_by: options.SupportedBy = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
) -> None:
    """Print tables of proofs: ours against those of peers, by feature, and the gaps of what is not proved."""
    from benchmarks.proofs import proof_report

    records = select_records(
        results, planners=None, without=without, supported_by=supported_by, domains=domain, names=name
    )
    first = _find_label(records, ours, 0)
    others = dict.fromkeys(record.planner for record in records if not record.configuration.startswith("ours"))
    peers, bounds = ([_find_label(records, label, 0) for label in labels] for labels in (peer or others, bound or []))
    give(proof_report(records, first, peers, bounds))


def select_records(
    results: list[Path],
    *,
    planners: list[str] | None,
    without: list[str] | None,
    supported_by: list[str] | None,
    domains: list[str] | None,
    names: list[str] | None,
) -> list[Record]:
    """Return the records in `results` that the options choose; raises `DocumentError` where there are none."""
    from benchmarks.compare import RecordFilter
    from benchmarks.lab_properties import adopt_suites, read_results
    from planner.errors import DocumentError, Location

    files = ", ".join(map(str, results))
    records = adopt_suites([record for path in results for record in read_results(path)])
    if not records:
        raise DocumentError("there are no results", Location(files), "`bench run` makes them")
    found = RecordFilter(planners or (), without or (), supported_by or (), domains or (), names or ()).of(records)
    if not found:
        raise DocumentError("none of the results is chosen by the options", Location(files))
    return found


def select_counts(*, proved: bool) -> Counts:
    """Return what counts as done: proofs alone, or any plan, proof or ground task."""
    from benchmarks import records

    return records.is_proved if proved else records.is_done


def read_best_known(best_known: Path | None) -> dict[str, float]:
    """Return the costs in a file of best known costs, by the names of tasks; none without a file."""
    from benchmarks.report import read_costs

    return {} if best_known is None else read_costs(best_known)


def _find_label(records: list[Record], wanted: str | None, default: int) -> str:
    from benchmarks.report import planners_in
    from planner.errors import DocumentError, did_you_mean

    known = planners_in(records)
    if not known:
        raise DocumentError("there are no results", hint="`bench run` makes them")
    label = wanted or known[default]
    if label not in known:
        raise DocumentError(f"there are no results of '{label}'", hint=did_you_mean(label, known))
    return label
