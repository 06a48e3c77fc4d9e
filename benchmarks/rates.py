"""How fast searches are by themselves, side by side: states a second, and memory for each state that is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from benchmarks.records import Record, TaskId
from benchmarks.report import columns_of, summary
from benchmarks.tables import Table
from benchmarks.tasks import in_order

MIB: Final = 1024**2

Rate = Callable[[Record], float | None]


def _a_second(count: int | None, record: Record) -> float | None:
    return count / record.effort_seconds if count and record.effort_seconds else None


def _for_each_state(amount: float | None, record: Record) -> float | None:
    return amount / record.stored_states if amount and record.stored_states else None


RATES: Final[dict[str, Rate]] = {
    "evaluations/s": lambda record: _a_second(record.evaluations, record),
    "expansions/s": lambda record: _a_second(record.expansions, record),
    "bytes/state, search": lambda record: _for_each_state(record.search_bytes, record),
    "bytes/state, process": lambda record: _for_each_state(record.peak_mib * MIB, record),
}
"""By name; none where the planner does not tell what it takes."""


def rate_tables(records: Sequence[Record], least_seconds: float) -> list[Table]:
    """Return the ratios of each planner's rates to the first's, and each rate task by task; none where none is told."""
    columns = long_searches(records, least_seconds)
    tables = [rate_ratios(columns)] if len(columns) > 1 else []
    return tables + [table for rate in RATES if (table := _each(rate, columns)).rows]


def long_searches(records: Sequence[Record], least_seconds: float) -> dict[str, dict[TaskId, Record]]:
    """Return, for each planner that tells of any, the searches of at least `least_seconds`.

    In shorter ones preparations are much of the time and of the memory.
    """
    columns = {
        label: {task: record for task, record in table.items() if (record.effort_seconds or 0) >= least_seconds}
        for label, table in columns_of(records).items()
    }
    return {
        label: table
        for label, table in columns.items()
        if any(rate(r) for r in table.values() for rate in RATES.values())
    }


def rate_ratios(columns: Mapping[str, Mapping[TaskId, Record]]) -> Table:
    """Return the ratios of each planner's rates to those of the first one, on the tasks where both tell."""
    (first, base), *others = columns.items()
    rows = []
    for label, table in others:
        for name, rate in RATES.items():
            pairs = [(rate(table[task]), rate(base[task])) for task in table if task in base]
            rows.append((label, name, *summary([this / that for this, that in pairs if this and that])))
    return Table([f"over that of {first}", "rate", "tasks of both", "median", "geometric mean"], rows)


def _each(name: str, columns: Mapping[str, Mapping[TaskId, Record]]) -> Table:
    rate = RATES[name]
    found = {
        label: {task: value for task, record in table.items() if (value := rate(record)) is not None}
        for label, table in columns.items()
    }
    tasks = sorted({task for table in found.values() for task in table}, key=lambda task: (task[0], in_order(task[1])))
    rows = [(task[1], *(f"{table[task]:,.0f}" if task in table else "" for table in found.values())) for task in tasks]
    return Table([name, *columns], rows)
