"""Tables of tasks with numbers: plans, proofs, times and quality by class and by domain, start-ups apart.

The time of a run is that of its first plan where the planner ends with that, as `ours-first`, `enhsp-sat` and Aries do.
A start-up is the CPU time of the same planner on a trivial task (`bench run --starts`): that of a Java virtual machine,
or of an interpreter and its imports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import geometric_mean, median
from typing import Final

from benchmarks.pddltext import NUMERIC_CLASSES, classify_numeric
from benchmarks.records import Counts, Record, TaskId, is_done
from benchmarks.report import (
    LEAST_SECONDS,
    Table,
    agile_score,
    columns_of,
    compute_ratios,
    find_best_costs,
    satisficing_score,
    summarise_ratios,
)

HEAD: Final = ("tasks", "done", "proved", "CPU s: median", "geometric mean", "start-up", "geometric mean without")
SCORES: Final = ("agile score", "satisficing score")
START_NOISE_SECONDS: Final = 0.05
"""By how much start-ups differ from run to run: ENHSP's between 0.30 and 0.35 s."""
DOMAIN_HEAD: Final = ("done", "proved", "median s", "quality")


def class_of(record: Record) -> str:
    """Return "simple", "linear" or "nonlinear", by the suite or else by the task's features.

    "" without numbers, and for tasks with durations, which have tables of their own.
    """
    if "durations" in record.features:
        return ""
    return next((name for name in NUMERIC_CLASSES if name in record.tracks), classify_numeric(record.features))


def numeric_tables(
    records: Sequence[Record], counts: Counts = is_done, known: Mapping[str, float] | None = None
) -> list[Table]:
    """Tabulate the tasks with numbers by class and by domain; no tables where there are none.

    `known` are costs of plans from elsewhere, by the names of tasks.
    """
    mine = [record for record in records if class_of(record)]
    if not mine:
        return []
    best = find_best_costs(mine, known or {})
    tables = [tabulate_classes(mine, counts, best), tabulate_domains(mine, counts, best)]
    return [*tables, *tabulate_ratios(mine, counts)]


def tabulate_classes(records: Sequence[Record], counts: Counts, best: Mapping[TaskId, float]) -> Table:
    """Return tasks, plans, proofs, times of those that are done, and scores, for each planner and class."""
    rows = []
    for label, column in columns_of(records).items():
        members = list(column.values())
        for name in NUMERIC_CLASSES:
            chosen = [record for record in members if class_of(record) == name]
            if chosen:
                rows.append((label, name, *_class_cells(chosen, counts, best)))
        rows.append((label, "all", *_class_cells(members, counts, best)))
    return Table(["tasks with numbers", "class", *HEAD, *SCORES], rows)


def _class_cells(records: Sequence[Record], counts: Counts, best: Mapping[TaskId, float]) -> tuple[object, ...]:
    done = [record for record in records if counts(record)]
    starts = [record.start_seconds for record in records if record.start_seconds is not None]
    return (
        len(records),
        len(done),
        sum(record.proved for record in records),
        format_seconds(median([record.cpu_seconds for record in done]) if done else None),
        format_seconds(geometric_mean([record.cpu_seconds or LEAST_SECONDS for record in done]) if done else None),
        format_seconds(median(starts) if starts else None),
        format_seconds(geometric_mean(list(map(seconds_without_start, done))) if done and starts else None),
        f"{sum(agile_score(record, counts) for record in records):.2f}",
        f"{sum(satisficing_score(record, best) for record in records):.2f}",
    )


def format_seconds(seconds: float | None) -> str:
    """Return a time with two digits after the point; nothing where there is none."""
    return "" if seconds is None else f"{seconds:.2f}"


def seconds_without_start(record: Record) -> float:
    """Return the CPU time less the start-up, where that is known, and not less than the noise of start-ups."""
    return max(record.cpu_seconds - (record.start_seconds or 0.0), START_NOISE_SECONDS)


def tabulate_domains(records: Sequence[Record], counts: Counts, best: Mapping[TaskId, float]) -> Table:
    """Return for each domain and planner: tasks done and proved, the median time of these, the satisficing score."""
    columns = {label: list(column.values()) for label, column in columns_of(records).items()}
    domains = dict.fromkeys(sorted(record.domain for record in records))
    score = partial(satisficing_score, best=best)

    def cells(domain: str | None) -> list[object]:
        found: list[object] = []
        for members in columns.values():
            chosen = [record for record in members if domain in (None, record.domain)]
            done = [record for record in chosen if counts(record)]
            time = format_seconds(median([record.cpu_seconds for record in done]) if done else None)
            found += [len(done), sum(record.proved for record in chosen), time, f"{sum(map(score, chosen)):.2f}"]
        return found

    head = [f"{label}: {name}" for label in columns for name in DOMAIN_HEAD]
    return Table(["domain", *head], [(domain, *cells(domain)) for domain in domains], ("total", *cells(None)))


def tabulate_ratios(records: Sequence[Record], counts: Counts) -> list[Table]:
    """Compare CPU times less start-ups with those of the first planner; nothing where there is nothing to compare."""
    (first, base), *others = columns_of(records).items()
    if not others or all(record.start_seconds is None for record in records):
        return []
    rows = [
        (label, *summarise_ratios(compute_ratios(column, base, counts, seconds_without_start)))
        for label, column in others
    ]
    return [
        Table([f"over that of {first}, without start-ups", "tasks of both", "CPU time: median", "geometric mean"], rows)
    ]
