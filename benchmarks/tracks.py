"""Results on hierarchical tasks: by track and domain, how many are done, how soon, and how long the plans are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from benchmarks.records import Counts, Record, TaskId, done
from benchmarks.report import columns_of, domain_table
from benchmarks.scores import PLANS, length_score, shortest_plans
from benchmarks.tables import Table

SOON: Final = (0.5, 0.1)
"""Within how many seconds of CPU time of the whole process a task is done soon."""
HEAD: Final = ("planner", "track", "tasks", "done", "%", *(f"in {seconds:g} s" for seconds in SOON))
LENGTHS: Final = ("length score", "mean of plans", "shorter than known")


def is_hierarchical(record: Record) -> bool:
    """Return whether the record is of a hierarchical task."""
    return "hierarchy" in record.features


def track_tables(records: Sequence[Record], counts: Counts = done) -> list[Table]:
    """Return what each planner has done of each track, and the length scores by domain; none for classical tasks."""
    mine = [record for record in records if is_hierarchical(record)]
    if not mine:
        return []
    score = partial(length_score, shortest=shortest_plans(mine))
    soon = domain_table(f"done in {SOON[0]:g} s", mine, lambda record: counts(record) and record.cpu_seconds < SOON[0])
    return [by_track(mine, counts), soon, domain_table("length score", mine, score, 2)]


def by_track(records: Sequence[Record], counts: Counts) -> Table:
    """Return, for each planner and track: tasks done, how many of them soon, and how long their plans are.

    The length score is summed over all tasks, the mean is over plans; "shorter than known" are plans that beat the
    shortest which the suite knows.
    """
    shortest = shortest_plans(records)
    rows = [
        (label, track, *_cells([record for record in table.values() if track in record.tracks], counts, shortest))
        for label, table in columns_of(records).items()
        for track in sorted({name for record in table.values() for name in record.tracks}, reverse=True)
    ]
    return Table([*HEAD, *LENGTHS], rows)


def _cells(records: Sequence[Record], counts: Counts, shortest: Mapping[TaskId, int]) -> tuple[object, ...]:
    found = [record for record in records if counts(record)]
    scores = [length_score(record, shortest) for record in found]
    mean = f"{sum(scores) / len(scores):.3f}" if scores else ""
    shorter = [
        record
        for record in found
        if record.outcome in PLANS and (record.plan_length or 0) < (record.shortest_known or 0)
    ]
    soon = (sum(record.cpu_seconds < seconds for record in found) for seconds in SOON)
    share = f"{100 * len(found) / len(records):.0f}" if records else ""
    return (len(records), len(found), share, *soon, f"{sum(scores):.2f}", mean, len(shorter))
