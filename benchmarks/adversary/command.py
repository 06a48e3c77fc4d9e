"""`forethought bench adversary`: seeded runs with a language model that says anything."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.output import give, is_terminal, tell

if TYPE_CHECKING:
    from benchmarks.adversary.verdict import Judged

WRONG = 10


def adversary(
    *,
    runs: Annotated[int, typer.Option("--runs", min=1, help="How many runs.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Determines the campaign.")] = 0,
    only: Annotated[
        int | None, typer.Option("--only", help="One run of the campaign, with what is wrong with it.")
    ] = None,
) -> None:
    """Let agents work with a model that says anything: malformed, huge, late, unknown, cyclic, false.

    The exit code is 10 where one crashed, did what was never declared or confirmed, claimed success that is none, or
    spent more than it was allowed.
    """
    from benchmarks.adversary.table import adversary_table  # noqa: PLC0415 - the command line starts without the executor

    began, found = time.monotonic(), []
    for each in campaign(range(runs) if only is None else [only], seed):
        found.append(each)
        if each.violations:
            tell(f"{each.setting}: {'; '.join(each.violations)}\n{each.detail}".rstrip())
        elif only is None and is_terminal(typer.get_text_stream("stderr")) and len(found) % 100 == 0:
            tell(f"{len(found)} runs")
    give(adversary_table(found).rstrip())
    tell(f"{len(found)} runs in {time.monotonic() - began:.0f} s")
    if any(each.violations for each in found):
        raise typer.Exit(WRONG)


def campaign(seeds: Iterable[int], seed: int = 0) -> Iterator[Judged]:
    """Yield the runs of the campaign `seed` that `seeds` number, carried out and judged."""
    from benchmarks.adversary.carry import carry_out  # noqa: PLC0415 - as above
    from benchmarks.adversary.setting import setting  # noqa: PLC0415 - as above
    from benchmarks.adversary.verdict import judged  # noqa: PLC0415 - as above

    for number in seeds:
        drawn = setting(number, seed)
        yield judged(drawn, carry_out(drawn))
