"""`forethought bench learning`: consecutive runs that learn how reliable their tools are."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

SHOWN = (1, 10, 100)
"""The runs whose costs are told."""


def learning(
    *,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many sets of tools.")] = 50,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Consecutive runs with each set.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the first set.")] = 0,
) -> None:
    """Let runs choose among tools whose reliability is hidden, and tell what they pay.

    Runs that learn share a journal with those before them; others know what is declared, or the truth.
    """
    from benchmarks.learning.carry import WAYS, paid  # noqa: PLC0415 - the command line starts without the executor
    from benchmarks.learning.setting import setting  # noqa: PLC0415 - as above
    from benchmarks.learning.table import learning_table  # noqa: PLC0415 - as above

    costs: dict[str, list[list[int]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="forethought-learning-") as folder:
        for number in range(seed, seed + seeds):
            drawn = setting(number)
            for way, found in costs.items():
                found.append(paid(drawn, way, runs, number, Path(folder)))
            typer.echo(f"{number - seed + 1} of {seeds}", err=True)
    typer.echo(learning_table(costs, SHOWN), nl=False)
