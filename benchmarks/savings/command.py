"""`forethought bench savings`: the same errands with and without references and caches."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli.output import give, tell


def savings(
    *,
    runs: Annotated[int, typer.Option("--runs", min=1, help="How many errands.")] = 200,
    domain: Annotated[str, typer.Option("--domain", help="Only errands of this shipped domain.")] = "",
    seed: Annotated[int, typer.Option("--seed", help="Determines which come how often.")] = 0,
) -> None:
    """Have agents do errands that come again, and count calls, tokens and the time of planning a run."""
    from benchmarks.savings.errands import errands  # noqa: PLC0415 - the command line starts without the executor
    from benchmarks.savings.measure import WAYS, carried_out, savings_table  # noqa: PLC0415 - as above
    from benchmarks.sentences.recorded import recorded  # noqa: PLC0415 - as above

    known = {each.where.partition("/")[0] for each in recorded()}
    if domain and domain not in known:
        raise typer.BadParameter(f"there are {', '.join(sorted(known))}", param_hint="--domain")
    drawn = errands(runs, seed, domain)
    tell(f"{len({each.say for each in drawn})} sentences in {runs} runs")
    found = {
        name: carried_out(drawn, references=references, caches=caches) for name, (references, caches) in WAYS.items()
    }
    give(savings_table(found).rstrip())
