"""`forethought bench candidates`: the k best plans, ours against others'."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from benchmarks.commands.options import CpuSeconds, DomainFilter, MemoryGib, NameFilter, SuiteFolder, above_zero
from benchmarks.commands.tasks import tasks_of
from planner.cli.output import tell


def candidates(
    suite: SuiteFolder,
    *,
    domain: DomainFilter = None,
    name: NameFilter = None,
    k: Annotated[str, typer.Option("-k", help="How many plans; commas between.")] = "10,100",
    lister: Annotated[list[str] | None, typer.Option("--planner", help="Only this one; may be repeated.")] = None,
    time_limit: CpuSeconds = 60.0,
    memory_limit: MemoryGib = 4.0,
) -> None:
    """List the k cheapest plans of tasks with each planner; say whether costs are the same, and what it took."""
    from benchmarks.candidates.listers import LISTERS  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.candidates.measure import measured, table  # noqa: PLC0415 - as above
    from benchmarks.process import Limits  # noqa: PLC0415 - as above

    known = [each.label for each in LISTERS]
    for label in lister or ():
        if label not in known:
            raise typer.BadParameter(f"there is no {label!r}; there are {', '.join(known)}", param_hint="--planner")
    numbers = [int(above_zero(word)) for word in k.split(",")]
    chosen = [each for each in LISTERS if not lister or each.label in lister]
    for each in chosen:
        if each.package and find_spec(each.package) is None:
            tell(f"{each.label} is left out: {each.package} is not installed")
    chosen = [each for each in chosen if not each.package or find_spec(each.package) is not None]
    tasks = tasks_of(suite, track=None, domains=domain, names=name)
    found = []
    for listed in measured(tasks, chosen, numbers, Limits(time_limit, memory_limit)):
        found.append(listed)
        tell(f"{listed.task} k={listed.k} {listed.lister}: {len(listed.costs)} plans, {listed.seconds:.2f} s")
    typer.echo(table(found), nl=False)
