"""Commands that write results for other tools: CSV, LaTeX, properties of downward-lab."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands import options
from benchmarks.commands.reading import read_best_known, select_counts, select_records
from planner.cli.output import tell


def csv(
    results: options.ResultFiles,
    out: Annotated[Path, typer.Option("--out", help="File to write the values to.")] = Path("runs.csv"),
    *,
    planner: options.Only = None,
    without: options.Without = None,
    supported_by: options.SupportedBy = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
) -> None:
    """Write results as comma-separated values (RFC 4180), a line for each run."""
    from benchmarks.comma_separated import write_comma_separated
    from benchmarks.records import write_whole

    options.check_output(out, results)
    records = select_records(
        results, planners=planner, without=without, supported_by=supported_by, domains=domain, names=name
    )
    write_whole(out, write_comma_separated(records))
    tell(f"{len(records)} results written to {out}")


def latex(
    results: options.ResultFiles,
    out: Annotated[Path, typer.Option("--out", help="File to write the tables to.")] = Path("tables.tex"),
    *,
    document: Annotated[
        bool, typer.Option("--document", help="Write a whole document instead of tables to take in by \\input.")
    ] = False,
    proved: options.Proved = False,
    planner: options.Only = None,
    without: options.Without = None,
    supported_by: options.SupportedBy = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
    best_known: options.BestKnown = None,
) -> None:
    """Write coverage and scores by domain and planner, and outcomes, as LaTeX tables."""
    from benchmarks.latex_report import write_latex
    from benchmarks.records import write_whole

    options.check_output(out, results)
    records = select_records(
        results, planners=planner, without=without, supported_by=supported_by, domains=domain, names=name
    )
    known = read_best_known(best_known)
    text = write_latex(records, select_counts(proved=proved), known, whole_document=document)
    write_whole(out, text.encode("utf-8", "replace"))
    tell(f"tables of {len(records)} results written to {out}")


def properties(
    results: options.ResultFiles,
    out: Annotated[
        Path, typer.Option("--out", help="File to write the properties to; packed where its name ends in .xz.")
    ] = Path("properties"),
    *,
    planner: options.Only = None,
    without: options.Without = None,
    supported_by: options.SupportedBy = None,
    domain: options.DomainFilter = None,
    name: options.NameFilter = None,
) -> None:
    """Write results as a properties file, which the reports of downward-lab read."""
    from benchmarks.lab_properties import write_properties
    from benchmarks.records import write_whole

    options.check_output(out, results)
    records = select_records(
        results, planners=planner, without=without, supported_by=supported_by, domains=domain, names=name
    )
    content, repeated = write_properties(records, packed=out.suffix == ".xz")
    write_whole(out, content)
    tell(f"{len(records)} results written to {out}")
    if repeated:
        tell(
            f"{repeated} of them have algorithm, domain and problem in common with another one: "
            "Lab's reports show one of each"
        )
