"""`forethought bench faults`: random runs in which something goes wrong, and whether they end honestly."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planner.cli.output import give, is_terminal, tell

if TYPE_CHECKING:
    from benchmarks.faults.table import Judged


def faults(
    *,
    runs: Annotated[int, typer.Option("--runs", min=1, help="How many runs.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="Determines the campaign.")] = 0,
    only: Annotated[
        int | None, typer.Option("--only", help="Replay one run of the campaign, and print its events.")
    ] = None,
) -> None:
    """Run plans in simulated worlds in which something goes wrong, and judge how each run ends.

    The exit code is 1 where a run ended as none may: success that is none, effects that came twice, a goal given up
    that could have been reached, an irreversible step that came too early, again, in an undo or despite an open
    question, an error.
    """
    from benchmarks.faults.table import report  # noqa: PLC0415 - the command line starts without the executor
    from benchmarks.faults.verdict import Ending  # noqa: PLC0415 - as above

    if only is not None:
        replay(only, seed)
        return
    started, judged = time.monotonic(), []
    for each in campaign(range(runs), seed):
        judged.append(each)
        if each.verdict.violation:
            tell(f"{each.setting}: {each.verdict.violation.value}: {_first_and_last(each.verdict.detail)}")
        elif is_terminal(typer.get_text_stream("stderr")) and len(judged) % 100 == 0:
            tell(f"{len(judged)} runs")
    give(report(judged))
    crashes = sum(each.crashes for each in judged)
    tell(f"{runs} runs, {crashes} taken up after their process died, in {time.monotonic() - started:.0f} s")
    if any(each.verdict.ending is Ending.VIOLATION for each in judged):
        raise typer.Exit(1)


def campaign(seeds: Iterable[int], seed: int = 0) -> Iterator[Judged]:
    """Yield the runs of the campaign `seed` that `seeds` number, carried out and judged."""
    from benchmarks.faults.carry import carry_out  # noqa: PLC0415 - as above
    from benchmarks.faults.setting import setting  # noqa: PLC0415 - as above
    from benchmarks.faults.table import Judged  # noqa: PLC0415 - as above
    from benchmarks.faults.verdict import verdict  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder:
        for number in seeds:
            drawn = setting(number, seed)
            carried = carry_out(drawn, Path(folder))
            yield Judged(drawn, verdict(drawn, carried), carried.seconds, carried.crashes, carried.strikes)


def replay(number: int, seed: int) -> None:
    """Carry out one run, and print what happens in it, and what was really done."""
    from benchmarks.faults.carry import carry_out  # noqa: PLC0415 - as above
    from benchmarks.faults.setting import setting  # noqa: PLC0415 - as above
    from benchmarks.faults.verdict import verdict  # noqa: PLC0415 - as above
    from executor.testing.virtual import now  # noqa: PLC0415 - as above

    drawn = setting(number, seed)
    give(f"{drawn}\n{drawn.plan}\n{drawn.observe}\n{drawn.policy}")
    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder:
        carried = carry_out(drawn, Path(folder), lambda event: give(f"{now():10.2f} {event}"))
    for act in carried.simulated.acts:
        changes = [*(f"+{fact}" for fact in act.added), *(f"-{fact}" for fact in act.removed)]
        give(f"{act.at:10.2f} {act.step} by {act.by or 'somebody else'}: {' '.join(changes) or 'nothing changed'}")
    judged = verdict(drawn, carried)
    give(judged.ending.value if judged.violation is None else f"{judged.violation.value}: {judged.detail}")


def _first_and_last(text: str) -> str:
    first, *others = text.strip().splitlines()
    return f"{first} … {others[-1]}" if others else first
