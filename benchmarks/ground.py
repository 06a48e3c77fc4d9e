"""Grounding side by side: ours against Fast Downward's translator, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.compare import ratio_report
from benchmarks.records import Record
from benchmarks.report import by_task, outcome_table, ratios
from benchmarks.tables import markdown

OURS: Final = "ours-ground"
THEIRS: Final = "fd-translate"
LONG_SECONDS: Final = 1.0
"""Below this the start of the interpreter and the imports are much of the time."""


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
        f"Where either takes {LONG_SECONDS:g} s or more:\n",
        ratio_report(long, "ours", "theirs"),
    ]
    if missed:
        parts.append("Not grounded:\n")
        parts.append(markdown(["task", "by", "outcome", "detail"], missed))
    return "\n".join(parts)
