"""Rates of search (states a second, memory for each stored state), and grounding against Fast Downward's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from benchmarks import report
from benchmarks.compare import ratio_report
from benchmarks.records import Record, TaskId

MIB: Final = 1024**2

Rate = Callable[[Record], float | None]


def _per_second(count: int | None, record: Record) -> float | None:
    return count / record.effort_seconds if count and record.effort_seconds else None


def _per_state(amount: float | None, record: Record) -> float | None:
    return amount / record.stored_states if amount and record.stored_states else None


RATES: Final[dict[str, Rate]] = {
    "evaluations/s": lambda record: _per_second(record.evaluations, record),
    "expansions/s": lambda record: _per_second(record.expansions, record),
    "bytes/state, search": lambda record: _per_state(record.search_bytes, record),
    "bytes/state, process": lambda record: _per_state(record.peak_mib * MIB, record),
}
"""By name; none where the planner does not tell what it takes."""


def rate_tables(records: Sequence[Record], least_seconds: float) -> list[report.Table]:
    """Return the ratios of each planner's rates to the first's, and each rate task by task; none where none is told."""
    columns = select_long_searches(records, least_seconds)
    tables = [rate_ratios(columns)] if len(columns) > 1 else []
    return tables + [table for rate in RATES if (table := _rate_table(rate, columns)).rows]


def select_long_searches(records: Sequence[Record], least_seconds: float) -> dict[str, dict[TaskId, Record]]:
    """Return, for each planner that tells of any, the searches of at least `least_seconds`.

    In shorter ones preparations are much of the time and of the memory.
    """
    columns = {
        label: {task: record for task, record in table.items() if (record.effort_seconds or 0) >= least_seconds}
        for label, table in report.columns_of(records).items()
    }
    return {
        label: table
        for label, table in columns.items()
        if any(rate(r) for r in table.values() for rate in RATES.values())
    }


def rate_ratios(columns: Mapping[str, Mapping[TaskId, Record]]) -> report.Table:
    """Return the ratios of each planner's rates to those of the first one, on the tasks where both tell."""
    (first, base), *others = columns.items()
    rows = []
    for label, table in others:
        for name, rate in RATES.items():
            pairs = [(rate(table[task]), rate(base[task])) for task in table if task in base]
            rows.append((label, name, *report.summarise([this / that for this, that in pairs if this and that])))
    return report.Table([f"over that of {first}", "rate", "tasks of both", "median", "geometric mean"], rows)


def _rate_table(name: str, columns: Mapping[str, Mapping[TaskId, Record]]) -> report.Table:
    rate = RATES[name]
    found = {
        label: {task: value for task, record in table.items() if (value := rate(record)) is not None}
        for label, table in columns.items()
    }
    tasks = sorted(
        {task for table in found.values() for task in table},
        key=lambda task: (task[0], report.numeric_sort_key(task[1])),
    )
    rows = [(task[1], *(f"{table[task]:,.0f}" if task in table else "" for table in found.values())) for task in tasks]
    return report.Table([name, *columns], rows)


OURS: Final = "ours-ground"
THEIRS: Final = "fd-translate"
LONG_SECONDS: Final = 1.0
"""Below this the start of the interpreter and the imports are much of the time."""
LEAST_SECONDS: Final = 0.01
"""The translator's clock is no finer; shorter times count as this on both sides."""


def ground_report(records: Sequence[Record]) -> str:
    """Return the share of tasks grounded, the ratios of CPU times, and what was not grounded, as Markdown."""
    sides = {label: report.select_by_task(records, label) for label in (OURS, THEIRS)}
    shares = []
    for label, side in sides.items():
        grounded = sum(record.covered for record in side.values())
        shares.append((label, len(side), grounded, f"{100 * grounded / len(side):.1f} %" if side else "none"))
    missed = [
        (record.task, label, record.outcome, record.detail)
        for label, side in sides.items()
        for record in side.values()
        if not record.covered
    ]
    found = report.compute_ratios(sides[OURS], sides[THEIRS], lambda record: record.covered)
    long = [one for one in found if max(one[1].cpu_seconds, one[2].cpu_seconds) >= LONG_SECONDS]
    parts = [
        report.format_table(["grounding", "tasks", "grounded", "share"], shares),
        report.tabulate_outcomes(records).markdown(),
        ratio_report(found, "ours", "theirs"),
        compare_own_clocks(found),
        f"Where either takes {LONG_SECONDS:g} s or more:\n",
        ratio_report(long, "ours", "theirs"),
    ]
    if missed:
        parts.append("Not grounded:\n")
        parts.append(report.format_table(["task", "by", "outcome", "detail"], missed))
    return "\n".join(parts)


def compare_own_clocks(pairs: Sequence[tuple[float, Record, Record]]) -> str:
    """Return the ratios by the clocks of the two programs, which start after the interpreter and the imports."""
    sides = [
        {(record.suite, record.task): _use_own_clock(record) for record in side if record.translate_seconds is not None}
        for side in ([one for _, one, _ in pairs], [other for _, _, other in pairs])
    ]
    count, middle, mean = report.summarise_ratios(
        report.compute_ratios(sides[0], sides[1], lambda record: record.covered)
    )
    return (
        f"By the clocks of the two programs, without interpreter and imports, {LEAST_SECONDS:g} s at least: "
        f"on {count} tasks median {middle}, geometric mean {mean}\n"
    )


def _use_own_clock(record: Record) -> Record:
    return replace(record, cpu_seconds=max(record.translate_seconds or 0, LEAST_SECONDS))
