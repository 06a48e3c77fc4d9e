"""`forethought bench patch`: patches of broken plans against planning from scratch."""

from __future__ import annotations

from typing import Annotated

import typer


def patch(
    *,
    domain: Annotated[
        list[str] | None, typer.Option("--domain", help="A domain; may be repeated. All, if none.")
    ] = None,
    cases: Annotated[int, typer.Option("--cases", min=1, help="Broken plans of each domain.")] = 20,
    size: Annotated[int | None, typer.Option("--size", min=1, help="The size of problems, for all domains.")] = None,
    weights: Annotated[str, typer.Option("--weights", help="What a dropped step costs; commas between.")] = "0,1,5",
    seed: Annotated[int, typer.Option("--seed", help="The seed of the first problem.")] = 0,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each way of going on.")] = 10.0,
) -> None:
    """Break plans, patch them, and plan from scratch: cost, steps kept and time of each."""
    from benchmarks.patching.cases import SIZES, broken_plans  # noqa: PLC0415 - the command line starts without planning
    from benchmarks.patching.measure import measure, patching_table  # noqa: PLC0415 - as above

    for name in domain or ():
        if name not in SIZES:
            known = ", ".join(SIZES)
            raise typer.BadParameter(f"there is no domain {name!r}; there are {known}", param_hint="--domain")
    measured = []
    for name in domain or SIZES:
        for case in broken_plans(name, size or SIZES[name], cases, seed, time_limit):
            measured += measure(case, _weights(weights), time_limit)
            typer.echo(f"{name}  {len(case.remaining)} steps left  {measured[-1].milliseconds:.0f} ms", err=True)
    typer.echo(patching_table(measured), nl=False)


def _weights(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise typer.BadParameter("write numbers with commas between, such as 0,1,5", param_hint="--weights") from None
