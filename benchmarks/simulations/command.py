"""`forethought bench simulations`: Monte-Carlo tree search, with chances and without."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands.options import DomainFilter, NameFilter, Sample, Seed


def simulations(
    suite: Annotated[Path | None, typer.Argument(metavar="[SUITE]", help="Tasks without chances instead.")] = None,
    *,
    problem: Annotated[
        list[str] | None, typer.Option("--problem", help="A kind of problem with chances; may be repeated.")
    ] = None,
    size: Annotated[int | None, typer.Option("--size", min=1, help="Their size, for all kinds.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How often each is tried.")] = 5,
    domain: DomainFilter = None,
    name: NameFilter = None,
    sample: Sample = None,
    seed: Seed = 0,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each optimum, or each search.")] = 60.0,
) -> None:
    """Tell how soon simulations come near the best policy; with SUITE, what plans cost after some time."""
    from benchmarks.simulations.converging import converged, converged_table  # noqa: PLC0415 - planning is slow to load
    from benchmarks.simulations.improving import SEARCHES, improved, improved_table  # noqa: PLC0415 - as above
    from benchmarks.suite import Selection, load_suite  # noqa: PLC0415 - as above
    from benchmarks.uncertain.cases import CASES  # noqa: PLC0415 - as above

    if suite is None:
        for unknown in [each for each in problem or () if each not in CASES]:
            known = ", ".join(CASES)
            raise typer.BadParameter(f"there is no problem {unknown!r}; there are {known}", param_hint="--problem")
        rows = []
        for each in problem or CASES:
            typer.echo(each, err=True)
            rows.append(converged(each, CASES[each], size or CASES[each].size, seeds, time_limit))
        typer.echo(converged_table([row for row in rows if row is not None]), nl=False)
        return
    found = []
    for task in Selection(domains=domain or (), names=name or (), sample=sample, seed=seed).of(load_suite(suite)):
        typer.echo(task.name, err=True)
        found += [improved(task, search, time_limit) for search in SEARCHES]
    typer.echo(improved_table([row for row in found if row is not None], time_limit), nl=False)
