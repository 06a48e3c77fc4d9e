"""Grounding side by side: ours against Fast Downward's translator, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from benchmarks.compare import ratio_report
from benchmarks.records import Record
from benchmarks.report import by_task, outcome_table, ratio_summary, ratios
from benchmarks.tables import markdown

OURS: Final = "ours-ground"
THEIRS: Final = "fd-translate"
LONG_SECONDS: Final = 1.0
"""Below this the start of the interpreter and the imports are much of the time."""
LEAST_SECONDS: Final = 0.01
"""The translator's clock is no finer; shorter times count as this on both sides."""


def ground_report(records: Sequence[Record]) -> str:
    """Return the share of tasks grounded, the ratios of CPU times, and what was not grounded, as Markdown."""
    sides = {label: by_task(records, label) for label in (OURS, THEIRS)}
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
    found = ratios(sides[OURS], sides[THEIRS], lambda record: record.covered)
    long = [one for one in found if max(one[1].cpu_seconds, one[2].cpu_seconds) >= LONG_SECONDS]
    parts = [
        markdown(["grounding", "tasks", "grounded", "share"], shares),
        outcome_table(records),
        ratio_report(found, "ours", "theirs"),
        own_clocks(found),
        f"Where either takes {LONG_SECONDS:g} s or more:\n",
        ratio_report(long, "ours", "theirs"),
    ]
    if missed:
        parts.append("Not grounded:\n")
        parts.append(markdown(["task", "by", "outcome", "detail"], missed))
    return "\n".join(parts)


def own_clocks(pairs: Sequence[tuple[float, Record, Record]]) -> str:
    """Return the ratios by the clocks of the two programs, which start after the interpreter and the imports."""
    sides = [
        {(record.suite, record.task): _by_own_clock(record) for record in side if record.translate_seconds is not None}
        for side in ([one for _, one, _ in pairs], [other for _, _, other in pairs])
    ]
    count, middle, mean = ratio_summary(ratios(sides[0], sides[1], lambda record: record.covered))
    return (
        f"By the clocks of the two programs, without interpreter and imports, {LEAST_SECONDS:g} s at least: "
        f"on {count} tasks median {middle}, geometric mean {mean}\n"
    )


def _by_own_clock(record: Record) -> Record:
    return replace(record, cpu_seconds=max(record.translate_seconds or 0, LEAST_SECONDS))
