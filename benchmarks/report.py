"""Tables of results: coverage and scores, outcomes, time and memory against a first planner, validators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from statistics import geometric_mean, median
from typing import Final

from benchmarks.planners import Outcome
from benchmarks.records import Counts, Record, TaskId, done, proved
from benchmarks.scores import agile_score, best_costs, satisficing_score
from benchmarks.tables import Table

LEAST_SECONDS: Final = 0.001
"""Shorter times count as this, so that ratios stay finite."""
LEAST_MIB: Final = 1.0

Measure = Callable[[Record], float]
Value = Callable[[Record], float]


def planners_in(records: Iterable[Record]) -> list[str]:
    """Return the labels of the planners in the order of their first records."""
    return list(dict.fromkeys(record.planner for record in records))


def by_task(records: Iterable[Record], planner: str | None = None) -> dict[TaskId, Record]:
    """Return one record for each task: of several rounds the fastest of those that did it."""
    best: dict[TaskId, Record] = {}
    for record in records:
        task = record.task_id
        if planner in (None, record.planner) and (task not in best or _rank(record) < _rank(best[task])):
            best[task] = record
    return best


def _rank(record: Record) -> tuple[bool, float]:
    return (not record.covered, record.cpu_seconds)


def seconds(record: Record) -> float:
    """Return the CPU time that is compared."""
    return max(record.cpu_seconds, LEAST_SECONDS)


def mebibytes(record: Record) -> float:
    """Return the memory that is compared."""
    return max(record.peak_mib, LEAST_MIB)


def columns_of(records: Sequence[Record]) -> dict[str, dict[TaskId, Record]]:
    """Return one record a task for each planner."""
    grouped: dict[str, list[Record]] = {}
    for record in records:
        grouped.setdefault(record.planner, []).append(record)
    return {label: by_task(members) for label, members in grouped.items()}


def domain_table(name: str, records: Sequence[Record], value: Value, digits: int = 0) -> Table:
    """Return the sum of `value` over the tasks of each domain for each planner, and the totals."""
    columns = columns_of(records)
    tasks = {task: record.domain for table in columns.values() for task, record in table.items()}
    sizes = Counter(tasks.values())
    sums = {(domain, label): 0.0 for domain in sizes for label in columns}
    for label, table in columns.items():
        for task, record in table.items():
            sums[tasks[task], label] += value(record)

    def cells(domains: Collection[str]) -> list[str]:
        return [f"{sum(sums[domain, label] for domain in domains):.{digits}f}" for label in columns]

    rows = [(domain, sizes[domain], *cells([domain])) for domain in sorted(sizes)]
    return Table([name, "tasks", *columns], rows, ("total", sizes.total(), *cells(sizes)))


def score_tables(records: Sequence[Record], counts: Counts, known: Mapping[str, float]) -> list[Table]:
    """Return coverage, agile score and, unless proofs are counted, satisficing score by domain."""
    tables = [
        domain_table("proved" if counts is proved else "done", records, counts),
        domain_table("agile score", records, partial(agile_score, counts=counts), 2),
    ]
    if counts is not proved and any(record.plan_length is not None or record.cost is not None for record in records):
        best = best_costs(records, known)
        tables.append(domain_table("satisficing score", records, partial(satisficing_score, best=best), 2))
    return tables


def totals_table(scores: Sequence[Table]) -> Table:
    """Return the totals of tables by domain, a row for each planner."""
    names = [table.head[0] for table in scores]
    rows = [
        (label, *(table.total[column] for table in scores)) for column, label in enumerate(scores[0].head) if column > 1
    ]
    return Table([f"planner, {scores[0].total[1]} tasks", *names], rows)


def outcomes(records: Sequence[Record]) -> Table:
    """Return how often each planner ended in which way, leaving out the ways in which none did."""
    columns = {label: Counter(r.outcome for r in table.values()) for label, table in columns_of(records).items()}
    seen = [outcome for outcome in Outcome if any(column[outcome] for column in columns.values())]
    return Table(["planner", *seen], [(label, *(c[outcome] for outcome in seen)) for label, c in columns.items()])


def outcome_table(records: Sequence[Record]) -> str:
    """Return `outcomes` as Markdown."""
    return outcomes(records).markdown()


def ratios(
    these: Mapping[TaskId, Record], others: Mapping[TaskId, Record], counts: Counts, measure: Measure = seconds
) -> list[tuple[float, Record, Record]]:
    """Return (`measure` of this / of the other, this, other) where both have done the task, the greatest first."""
    both = [(these[task], others[task]) for task in these if task in others]
    found = [(measure(this) / measure(other), this, other) for this, other in both if counts(this) and counts(other)]
    return sorted(found, key=lambda one: -one[0])


def ratio_summary(found: Sequence[tuple[float, Record, Record]]) -> tuple[int, str, str]:
    """Return the number of tasks, and the median and the geometric mean of the ratios as text."""
    return summary([ratio for ratio, _, _ in found])


def summary(values: Sequence[float]) -> tuple[int, str, str]:
    """Return how many `values` there are, and their median and geometric mean as text."""
    return (len(values), f"{median(values):.2f}", f"{geometric_mean(values):.2f}") if values else (0, "none", "none")


def ratio_table(records: Sequence[Record], counts: Counts) -> Table:
    """Return CPU time and memory of every planner after the first over the first's, on the tasks that both did."""
    (first, base), *others = columns_of(records).items()
    rows = []
    for label, table in others:
        memory = ratio_summary(ratios(table, base, counts, mebibytes))
        rows.append((label, *ratio_summary(ratios(table, base, counts)), *memory[1:]))
    head = [f"over that of {first}", "tasks of both", "CPU time: median", "geometric mean"]
    return Table([*head, "memory: median", "geometric mean"], rows)


def checks(records: Sequence[Record]) -> Table:
    """Return what each validator said of the plans that it was shown: the first word of its verdict."""
    said = Counter((r.planner, name, verdict.split(":")[0]) for r in records for name, verdict in r.checks.items())
    words = sorted({word for _, _, word in said}, key=lambda word: (word != "valid", word))
    pairs = dict.fromkeys((planner, name) for planner, name, _ in said)
    rows = [(planner, name, *(said[planner, name, word] for word in words)) for planner, name in pairs]
    return Table(["planner", "validator", *words], rows)


def full_report(
    records: Sequence[Record],
    counts: Counts = done,
    known: Mapping[str, float] | None = None,
    more: Sequence[Table] = (),
) -> str:
    """Return all tables as one Markdown text; `known` are costs of plans from elsewhere, by the names of tasks.

    `more` tables come at the end.
    """
    scores = score_tables(records, counts, known or {})
    tables = [*scores, totals_table(scores), outcomes(records)]
    if len(planners_in(records)) > 1:
        tables.append(ratio_table(records, counts))
    if any(record.checks for record in records):
        tables.append(checks(records))
    tables += more
    return "\n".join(table.markdown() for table in tables)
