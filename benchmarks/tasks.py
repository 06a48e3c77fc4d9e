"""Each task a row, each planner some columns: what came of it, and what it took. For series of growing instances."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from benchmarks.records import Record
from benchmarks.report import columns_of
from benchmarks.tables import Table

MEASURES: Final = ("outcome", "cost", "CPU s", "MiB")


def task_table(records: Sequence[Record]) -> Table:
    """Return outcome, cost, CPU seconds and peak memory of each planner on each task, numbers in names as numbers."""
    columns = columns_of(records)
    tasks = sorted(
        {task for table in columns.values() for task in table}, key=lambda task: (task[0], in_order(task[1]))
    )
    several = len({suite for suite, _ in tasks}) > 1
    rows = []
    for task in tasks:
        name = f"{task[0]}: {task[1]}" if several else task[1]
        rows.append((name, *(cell for table in columns.values() for cell in cells(table.get(task)))))
    alone = len(columns) == 1
    head = [measure if alone else f"{label}: {measure}" for label in columns for measure in MEASURES]
    return Table(["task", *head], rows)


def cells(record: Record | None) -> tuple[object, ...]:
    """Return what stands in the columns of one planner."""
    if record is None:
        return ("",) * len(MEASURES)
    cost = "" if record.cost is None else f"{record.cost:g}"
    return (record.outcome, cost, f"{record.cpu_seconds:.2f}", f"{record.peak_mib:.0f}")


def in_order(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names by the numbers in them: `p2` comes before `p10`."""
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"([0-9]+)", name)]
