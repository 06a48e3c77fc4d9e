"""Tables of tasks in time: what was read, plans, proofs, first plans, makespans, the union of all, required overlaps.

The score of makespans is that of the competitions: the shortest known makespan over that of the plan, 0 without a plan.
The first plan's time is what the planner tells of it, or the CPU time of the run where it ends with that plan.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from statistics import geometric_mean, median
from typing import Final

from benchmarks.planners import Outcome
from benchmarks.records import Counts, Record, TaskId, is_done
from benchmarks.report import LEAST_SECONDS, PLANS, Table, columns_of, find_best_costs, satisficing_score

TIME: Final = "durations"
OVERLAPS: Final = "required concurrency"
READ: Final = frozenset(Outcome) - {Outcome.UNSUPPORTED, Outcome.ERROR}
HEAD: Final = (
    "tasks",
    "read",
    "plans",
    "proved",
    "first plan, s: median",
    "geometric mean",
    "makespan score",
    "score by the metric",
    "shortest",
    "only one with a plan",
    "share of the union",
    "of those that must overlap",
)


def temporal_tables(records: Sequence[Record], counts: Counts = is_done) -> list[Table]:
    """Tabulate the tasks with durations by planner and by domain; no tables where there are none."""
    mine = [record for record in records if TIME in record.features]
    if not mine:
        return []
    least = find_least_makespans(mine)
    return [
        tabulate_planners(mine, counts, least),
        tabulate_domains(mine, counts, least),
        *tabulate_pairs(mine, counts),
    ]


def find_least_makespans(records: Sequence[Record]) -> dict[TaskId, float]:
    """Return the shortest makespan of a plan for each task."""
    found: dict[TaskId, float] = {}
    for record in records:
        if record.outcome in PLANS and record.makespan is not None:
            found[record.task_id] = min(record.makespan, found.get(record.task_id, record.makespan))
    return found


def makespan_score(record: Record, least: Mapping[TaskId, float]) -> float:
    """Return the shortest known makespan over that of this plan; 1 for a proof that there is no plan, 0 for none."""
    if record.outcome is Outcome.UNSOLVABLE:
        return 1.0
    if record.outcome not in PLANS or record.makespan is None:
        return 0.0
    return least[record.task_id] / record.makespan if record.makespan > 0 else 1.0


def seconds_to_plan(record: Record) -> float:
    """Return the CPU seconds until the first plan."""
    return record.cpu_seconds if record.first_plan_seconds is None else record.first_plan_seconds


def tabulate_planners(records: Sequence[Record], counts: Counts, least: Mapping[TaskId, float]) -> Table:
    """Return what each planner read, solved and proved, how fast and how well, and its share of what any solved."""
    columns = columns_of(records)
    solved = {label: {task for task, each in column.items() if counts(each)} for label, column in columns.items()}
    union = set().union(*solved.values())
    overlapping = {record.task_id for record in records if OVERLAPS in record.features}
    best = find_best_costs(records, {})
    rows = []
    for label, column in columns.items():
        members, mine = list(column.values()), solved[label]
        others = set().union(*[tasks for other, tasks in solved.items() if other != label])
        times = [seconds_to_plan(column[task]) for task in mine]
        rows.append(
            (
                label,
                len(members),
                sum(record.outcome in READ for record in members),
                len(mine),
                sum(record.proved for record in members),
                _format(median(times) if times else None),
                _format(geometric_mean([max(each, LEAST_SECONDS) for each in times]) if times else None),
                f"{sum(makespan_score(record, least) for record in members):.2f}",
                f"{sum(satisficing_score(record, best) for record in members):.2f}",
                sum(_is_shortest(record, least) for record in members),
                len(mine - others),
                _share(mine, union),
                f"{len(mine & overlapping)} of {len(union & overlapping)}",
            )
        )
    return Table(["tasks in time", *HEAD], rows)


def _is_shortest(record: Record, least: Mapping[TaskId, float]) -> bool:
    return makespan_score(record, least) > 1 - 1e-4


def _share(mine: Collection[TaskId], union: Collection[TaskId]) -> str:
    return f"{len(mine) / len(union):.0%}" if union else ""


def _format(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.2f}"


def tabulate_domains(records: Sequence[Record], counts: Counts, least: Mapping[TaskId, float]) -> Table:
    """Return plans, proofs and the makespan score of each planner for each domain."""
    columns = {label: list(column.values()) for label, column in columns_of(records).items()}

    def cells(domain: str | None) -> list[object]:
        found: list[object] = []
        for members in columns.values():
            chosen = [record for record in members if domain in (None, record.domain)]
            score = sum(makespan_score(record, least) for record in chosen)
            found += [sum(map(counts, chosen)), sum(record.proved for record in chosen), f"{score:.2f}"]
        return found

    head = [f"{label}: {name}" for label in columns for name in ("plans", "proved", "makespan score")]
    domains = sorted({record.domain for record in records})
    return Table(["domain", *head], [(domain, *cells(domain)) for domain in domains], ("total", *cells(None)))


def tabulate_pairs(records: Sequence[Record], counts: Counts) -> list[Table]:
    """Compare makespans with those of the first planner, on the tasks that both solve."""
    (_, base), *others = columns_of(records).items()
    rows = []
    for label, column in others:
        both = [task for task in base if counts(base[task]) and task in column and counts(column[task])]
        spans = [(base[task].makespan, column[task].makespan) for task in both]
        known = [(one, other) for one, other in spans if one and other]
        if known:
            rows.append(
                (
                    label,
                    len(known),
                    sum(one < other * (1 - 1e-4) for one, other in known),
                    sum(abs(one - other) <= other * 1e-4 for one, other in known),
                    sum(one > other * (1 + 1e-4) for one, other in known),
                    f"{geometric_mean([other / one for one, other in known]):.3f}",
                )
            )
    head = [
        "beside the first planner",
        "tasks of both",
        "first is shorter",
        "equal",
        "longer",
        "makespan over the first's",
    ]
    return [Table(head, rows)] if rows else []
