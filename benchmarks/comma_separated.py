"""Results as comma-separated values (RFC 4180): a head, and a line for each run."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from benchmarks.records import Record


def _join(values: Mapping[str, object]) -> str:
    return "; ".join(f"{name} {value}" for name, value in values.items())


COLUMNS: Final[Mapping[str, Callable[[Record], object]]] = {
    "suite": lambda run: run.suite,
    "domain": lambda run: run.domain,
    "task": lambda run: run.task,
    "planner": lambda run: run.planner,
    "configuration": lambda run: run.configuration,
    "outcome": lambda run: run.outcome,
    "done": lambda run: int(run.covered),
    "proved": lambda run: int(run.proved),
    "cost": lambda run: run.cost,
    "lower_bound": lambda run: run.lower_bound,
    "plan_length": lambda run: run.plan_length,
    "makespan": lambda run: run.makespan,
    "cpu_seconds": lambda run: run.cpu_seconds,
    "wall_seconds": lambda run: run.wall_seconds,
    "start_seconds": lambda run: run.start_seconds,
    "translate_seconds": lambda run: run.translate_seconds,
    "search_seconds": lambda run: run.search_seconds,
    "first_plan_seconds": lambda run: run.first_plan_seconds,
    "effort_seconds": lambda run: run.effort_seconds,
    "evaluations": lambda run: run.evaluations,
    "expansions": lambda run: run.expansions,
    "generated": lambda run: run.generated,
    "stored_states": lambda run: run.stored_states,
    "search_bytes": lambda run: run.search_bytes,
    "peak_mib": lambda run: run.peak_mib,
    "facts": lambda run: run.sizes.get("facts"),
    "actions": lambda run: run.sizes.get("actions"),
    "variables": lambda run: run.sizes.get("variables"),
    "by": lambda run: run.by,
    "tier": lambda run: run.tier,
    "ended_by": lambda run: run.ended_by,
    "detail": lambda run: run.detail,
    "checks": lambda run: _join(run.checks),
    "features": lambda run: "; ".join(run.features),
    "tracks": lambda run: "; ".join(run.tracks),
    "shortest_known": lambda run: run.shortest_known,
    "time_limit": lambda run: run.limits.get("cpu_seconds"),
    "memory_limit": lambda run: run.limits.get("memory_gib"),
    "versions": lambda run: _join(run.versions),
    "date": lambda run: run.date,
    "round": lambda run: run.round,
}
"""The columns, and what stands in each; what is not known is empty. The reference page of benchmarks explains them."""


def write_comma_separated(records: Iterable[Record]) -> bytes:
    """Return the head and a line for each of `records`, in UTF-8, lines ending in CR LF as RFC 4180 wants them."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow([cell(record) for cell in COLUMNS.values()])
    return text.getvalue().encode("utf-8", "backslashreplace")
