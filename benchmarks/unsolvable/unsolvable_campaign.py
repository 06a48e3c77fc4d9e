"""`forethought bench unsolvable`: write tasks without a plan, and compare proofs: whose, how soon, by which part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated, Final

import typer

from benchmarks.commands import options
from benchmarks.planners import Outcome
from benchmarks.records import Record, TaskId, read_records
from benchmarks.report import Table, columns_of, numeric_sort_key
from planner.cli.output import give, tell

WRONG = 10
PLANNERS = ("ours-optimal", "fd-astar-lmcut", "symk-bd")


def unsolvable(
    suite: options.SuiteFolder,
    folder: Annotated[Path, typer.Option("--folder", help="Folder to write the tasks to.")] = Path("unsolvable"),
    out: options.Out = Path("unsolvable.jsonl"),
    *,
    planner: Annotated[
        list[str] | None,
        typer.Option("--planner", help="Planner to run: a name or KIND:OPTIONS; see `bench planners`."),
    ] = None,
    name: options.NameFilter = None,
    time_limit: options.CpuSeconds = 30.0,
    memory_limit: options.MemoryGib = 4.0,
    core: options.Cores = None,
) -> None:
    """Write 40 tasks without a plan, some of them from those of a suite, and ask planners for the proof.

    The exit code is 10 where any has a plan. Start it again to continue where it stopped.
    """
    from benchmarks.process import Limits
    from benchmarks.run import Settings, attempts_of, run_all
    from benchmarks.unsolvable.unsolvable_tasks import make_tasks, take_tasks

    for task in (*take_tasks(suite), *make_tasks()):
        task.write(folder)
    tasks = options.select_tasks(folder, track=None, domains=None, names=name)
    planners = options.select_installed(list(planner or PLANNERS))
    settings = Settings(Limits(time_limit, memory_limit), cores=core.numbers if core else ())
    run_all(attempts_of(tasks, planners), out, settings, _tell_record)
    records = read_records(out)
    first = planners[0].label
    give("\n".join(table.markdown() for table in (proof_table(records, first), ratio_table(records, first))).rstrip())
    wrong = find_contradictions(records)
    for each in wrong:
        tell(each)
    if wrong:
        raise typer.Exit(WRONG)


def _tell_record(record: Record) -> None:
    tell(f"{record.task}  {record.planner}  {record.outcome}  {record.cpu_seconds:.2f} s  {record.by} {record.detail}")


Column = Mapping[TaskId, Record]
PARTS: Final = {"": "reachability", "h2": "h²"}
"""Parts of ours that are no searches, by what is recorded: the first one finds out while grounding."""
INITIAL: Final = "relaxation"
"""What shows that the initial state is a dead end: searches of ours whose estimates ignore deletes."""


def part_of(record: Record) -> str:
    """Return by which part a planner has proved that there is no plan: reachability, relaxation, h² or a search."""
    if record.by not in PARTS and record.expansions == 0 and record.by != "symbolic":
        return INITIAL
    return "search" if not record.by and record.expansions else PARTS.get(record.by, record.by)


def find_contradictions(records: Iterable[Record]) -> list[str]:
    """Return, in words, the records that have a plan: no task here has one."""
    return [f"{each.planner} has a plan for {each.task}" for each in records if each.plan is not None]


def proof_table(records: Sequence[Record], first: str) -> Table:
    """Return CPU seconds of each proof task by task, with the part by which planner `first` has it, and sums."""
    columns = columns_of(records)
    tasks = sorted({task for column in columns.values() for task in column}, key=lambda task: numeric_sort_key(task[1]))
    rows = [
        (
            _task_name(task),
            _proof_part(columns[first].get(task)),
            *(_format_cell(column.get(task)) for column in columns.values()),
        )
        for task in tasks
    ]
    proved = [sum(each.outcome is Outcome.UNSOLVABLE for each in column.values()) for column in columns.values()]
    return Table(["task", f"{first}, by", *columns], rows, ["proved", _count_parts(columns[first]), *proved])


def ratio_table(records: Sequence[Record], first: str) -> Table:
    """Return how `first` compares with each other planner, and with the faster of them, where both have a proof."""
    columns = {label: _proof_seconds(column) for label, column in columns_of(records).items()}
    own = columns.pop(first)
    rows = []
    best: dict[TaskId, float] = {}
    for label, times in columns.items():
        rows.append(_ratio_row(label, own, times))
        for task, seconds in times.items():
            best[task] = min(best.get(task, seconds), seconds)
    rows.append(_ratio_row("the faster of them", own, best))
    return Table([f"{first} over", "both", "only ours", "only theirs", "time, geometric mean", "worst"], rows)


def _ratio_row(
    label: str, own: Mapping[TaskId, float], times: Mapping[TaskId, float]
) -> tuple[str, int, int, int, str, str]:
    both = [own[task] / times[task] for task in own if task in times]
    mean, worst = (f"{geometric_mean(both):.2f}", f"{max(both):.2f}") if both else ("", "")
    return label, len(both), len(own.keys() - times), len(times.keys() - own), mean, worst


def _proof_seconds(column: Column) -> dict[TaskId, float]:
    return {task: each.cpu_seconds for task, each in column.items() if each.outcome is Outcome.UNSOLVABLE}


def _task_name(task: TaskId) -> str:
    return task[1].removesuffix("/problem.pddl")


def _proof_part(record: Record | None) -> str:
    return part_of(record) if record is not None and record.outcome is Outcome.UNSOLVABLE else ""


def _count_parts(column: Column) -> str:
    """Return how often each part had the proof."""
    counts = Counter(filter(None, map(_proof_part, column.values())))
    return ", ".join(f"{part} {count}" for part, count in counts.most_common())


def _format_cell(record: Record | None) -> str:
    if record is None:
        return ""
    return f"{record.cpu_seconds:.2f}" if record.outcome is Outcome.UNSOLVABLE else str(record.outcome)
