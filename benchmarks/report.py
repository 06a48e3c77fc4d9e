"""Tables in Markdown: coverage, outcomes, and times against a first planner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import geometric_mean, median
from typing import Final

from benchmarks.pddltext import task_features
from benchmarks.planners import Outcome
from benchmarks.records import Record
from benchmarks.suite import BenchmarkTask

LEAST_SECONDS: Final = 0.001
"""Shorter times count as this, so that ratios stay finite."""

Counts = Callable[[Record], bool]
TaskId = tuple[str, str]


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is aligned left, the others right."""
    lines = [list(head), ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def planners_in(records: Iterable[Record]) -> list[str]:
    """Return the labels of the planners in the order of their first records."""
    return list(dict.fromkeys(record.planner for record in records))


def by_task(records: Iterable[Record], planner: str | None = None) -> dict[TaskId, Record]:
    """Return one record for each task: of several rounds the fastest of those that did it."""
    best: dict[TaskId, Record] = {}
    for record in records:
        task = (record.suite, record.task)
        if planner in (None, record.planner) and (task not in best or _rank(record) < _rank(best[task])):
            best[task] = record
    return best


def _rank(record: Record) -> tuple[bool, float]:
    return (not record.covered, record.cpu_seconds)


def coverage_table(records: Sequence[Record], counts: Counts) -> str:
    """Return how many tasks of each domain each planner has done, `counts` saying what that means, and the totals."""
    columns = {label: by_task(records, label) for label in planners_in(records)}
    tasks = {task: record.domain for table in columns.values() for task, record in table.items()}
    sizes = Counter(tasks.values())
    found = {
        label: Counter(record.domain for record in table.values() if counts(record)) for label, table in columns.items()
    }
    rows = [(domain, sizes[domain], *(found[label][domain] for label in columns)) for domain in sorted(sizes)]
    total = ("**total**", sizes.total(), *(f"**{found[label].total()}**" for label in columns))
    return markdown(["domain", "tasks", *columns], [*rows, total])


def outcome_table(records: Sequence[Record]) -> str:
    """Return how often each planner ended in which way, leaving out the ways in which none did."""
    columns = {label: Counter(r.outcome for r in by_task(records, label).values()) for label in planners_in(records)}
    seen = [outcome for outcome in Outcome if any(column[outcome] for column in columns.values())]
    return markdown(["planner", *seen], [(label, *(c[outcome] for outcome in seen)) for label, c in columns.items()])


def ratios(
    these: Mapping[TaskId, Record], others: Mapping[TaskId, Record], counts: Counts
) -> list[tuple[float, Record, Record]]:
    """Return (CPU seconds of this / of the other, this, other) where both have done the task, the greatest first."""
    both = [(these[task], others[task]) for task in these if task in others]
    found = [
        (max(this.cpu_seconds, LEAST_SECONDS) / max(other.cpu_seconds, LEAST_SECONDS), this, other)
        for this, other in both
        if counts(this) and counts(other)
    ]
    return sorted(found, key=lambda one: -one[0])


def ratio_summary(found: Sequence[tuple[float, Record, Record]]) -> tuple[int, str, str]:
    """Return the number of tasks, and the median and the geometric mean of the ratios as text."""
    values = [ratio for ratio, _, _ in found]
    return (len(values), f"{median(values):.2f}", f"{geometric_mean(values):.2f}") if values else (0, "none", "none")


def time_table(records: Sequence[Record], counts: Counts) -> str:
    """Return, for every planner after the first, its CPU time over the first's on the tasks that both have done."""
    first, *others = planners_in(records)
    base = by_task(records, first)
    rows = [(label, *ratio_summary(ratios(by_task(records, label), base, counts))) for label in others]
    return markdown([f"CPU time / that of {first}", "tasks of both", "median", "geometric mean"], rows)


def check_table(records: Sequence[Record]) -> str:
    """Return what each validator said of the plans that it was shown: the first word of its verdict."""
    said = Counter((r.planner, name, verdict.split(":")[0]) for r in records for name, verdict in r.checks.items())
    words = sorted({word for _, _, word in said}, key=lambda word: (word != "valid", word))
    pairs = dict.fromkeys((planner, name) for planner, name, _ in said)
    rows = [(planner, name, *(said[planner, name, word] for word in words)) for planner, name in pairs]
    return markdown(["planner", "validator", *words], rows)


def suite_table(tasks: Sequence[BenchmarkTask]) -> str:
    """Return the domains of `tasks`: how many, of which tracks, with which features in any of them."""
    domains: dict[str, list[BenchmarkTask]] = {}
    for task in tasks:
        domains.setdefault(task.domain, []).append(task)
    rows = []
    for domain, members in domains.items():
        tracks = sorted({track for task in members for track in task.tracks})
        found = {feature for task in members for feature in task_features(task.domain_path, task.problem_path)}
        rows.append((domain, len(members), " ".join(tracks), ", ".join(sorted(found)) or "STRIPS"))
    return markdown(["domain", "tasks", "tracks", "features"], [*rows, ("**total**", len(tasks), "", "")])


def full_report(records: Sequence[Record], *, proved_only: bool) -> str:
    """Return all tables as one Markdown text; `proved_only` counts proofs, else any plan or proof."""

    def counts(record: Record) -> bool:
        return record.proved if proved_only else record.covered

    parts = [coverage_table(records, counts), outcome_table(records)]
    if len(planners_in(records)) > 1:
        parts.append(time_table(records, counts))
    if any(record.checks for record in records):
        parts.append(check_table(records))
    return "\n".join(parts)
