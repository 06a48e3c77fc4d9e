"""`forethought bench uncertain`: policies against the optimum, and against replanning."""

from __future__ import annotations

from typing import Annotated

import typer


def uncertain(
    *,
    problem: Annotated[
        list[str] | None, typer.Option("--problem", help="A kind of problem; may be repeated. All, if none.")
    ] = None,
    size: Annotated[int | None, typer.Option("--size", min=1, help="Their size, for all kinds.")] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Executions of each way of acting.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the executions.")] = 0,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each exact solution or plan.")] = 60.0,
) -> None:
    """Solve problems with uncertain outcomes exactly, and carry out policies and replanning by chance."""
    from benchmarks.uncertain.cases import CASES  # noqa: PLC0415 - the command line starts without planning
    from benchmarks.uncertain.measure import (  # noqa: PLC0415 - as above
        carried_out,
        executions_table,
        optima_table,
        solved_exactly,
    )

    for name in problem or ():
        if name not in CASES:
            known = ", ".join(CASES)
            raise typer.BadParameter(f"there is no problem {name!r}; there are {known}", param_hint="--problem")
    exact, carried = [], []
    for name in problem or CASES:
        exact.append(solved_exactly(name, CASES[name], size or CASES[name].size, time_limit))
        typer.echo(f"{name}  {exact[-1].best.describe()}", err=True)
        carried += carried_out(exact[-1], runs, seed, time_limit)
    typer.echo(optima_table(exact))
    typer.echo(executions_table(carried), nl=False)
