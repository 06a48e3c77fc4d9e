"""`forethought bench unsolvable`: tasks without a plan are written, and planners asked to prove it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.commands.options import Cores, CpuSeconds, MemoryGib, NameFilter, Out, SuiteFolder, present
from benchmarks.commands.tasks import tasks_of
from planner.cli.output import give, tell

if TYPE_CHECKING:
    from benchmarks.records import Record

WRONG = 10
PLANNERS = ("ours-optimal", "fd-astar-lmcut", "symk-bd")


def unsolvable(
    suite: SuiteFolder,
    folder: Annotated[Path, typer.Option("--folder", help="Where the tasks are written.")] = Path("unsolvable"),
    out: Out = Path("unsolvable.jsonl"),
    *,
    planner: Annotated[
        list[str] | None, typer.Option("--planner", help="A name or KIND:OPTIONS; see `bench planners`.")
    ] = None,
    name: NameFilter = None,
    time_limit: CpuSeconds = 30.0,
    memory_limit: MemoryGib = 4.0,
    core: Cores = None,
) -> None:
    """Write 40 tasks without a plan, some of them from those of a suite, and ask planners for the proof.

    The exit code is 10 where any has a plan. Start it again to continue where it stopped.
    """
    from benchmarks.process import Limits  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.records import read_records  # noqa: PLC0415 - as above
    from benchmarks.run import Settings, attempts_of, run_all  # noqa: PLC0415 - as above
    from benchmarks.unsolvable.made import made  # noqa: PLC0415 - as above
    from benchmarks.unsolvable.table import contradictions, proofs, ratios  # noqa: PLC0415 - as above
    from benchmarks.unsolvable.taken import taken  # noqa: PLC0415 - as above

    for task in (*taken(suite), *made()):
        task.write(folder)
    tasks = tasks_of(folder, track=None, domains=None, names=name)
    planners = present(list(planner or PLANNERS))
    settings = Settings(Limits(time_limit, memory_limit), cores=core.numbers if core else ())
    run_all(attempts_of(tasks, planners), out, settings, _tell)
    records = read_records(out)
    first = planners[0].label
    give("\n".join(table.markdown() for table in (proofs(records, first), ratios(records, first))).rstrip())
    wrong = contradictions(records)
    for each in wrong:
        tell(each)
    if wrong:
        raise typer.Exit(WRONG)


def _tell(record: Record) -> None:
    tell(f"{record.task}  {record.planner}  {record.outcome}  {record.cpu_seconds:.2f} s  {record.by} {record.detail}")
