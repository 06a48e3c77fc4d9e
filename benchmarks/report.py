"""Tables of results, as Markdown for terminals and as data for pages.

They show coverage and the scores of the planning competitions (agile, satisficing and length score, each at most 1 a
task), outcomes, time and memory against a first planner, the verdicts of validators, each task by itself, and
hierarchical tasks by track.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Final

from benchmarks.planners import Outcome
from benchmarks.records import Counts, Record, TaskId, is_done, is_proved
from planner.errors import DocumentError, Location


def format_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is aligned left, the others right."""
    lines = [list(head), ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(map(_format_cell, line)) + " |" for line in lines) + "\n"


def _format_cell(value: object) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


@dataclass(frozen=True, slots=True)
class Table:
    """A head, rows of cells under it, and a row of totals where there is one."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    total: Sequence[object] = ()

    def markdown(self) -> str:
        """Return the table as Markdown, the totals in bold."""
        bold = [[f"**{cell}**" for cell in self.total]] if self.total else []
        return format_table(self.head, [*self.rows, *bold])


PLANS: Final = frozenset({Outcome.OPTIMAL, Outcome.SOLVED})
COMPETITION_SECONDS: Final = 300.0
"""The limit of the agile tracks, for records that do not state theirs."""


def agile_score(record: Record, counts: Counts) -> float:
    """Return the agile score (competitions of 2018 and 2023), on CPU time of the whole process.

    1 for what is done within a second, then 1 - log(seconds) / log(limit), and 0 for what is not done.
    """
    limit = record.limits.get("cpu_seconds", COMPETITION_SECONDS)
    if not counts(record):
        return 0.0
    if record.cpu_seconds <= 1:
        return 1.0
    return 0.0 if record.cpu_seconds >= limit else 1 - math.log(record.cpu_seconds) / math.log(limit)


def satisficing_score(record: Record, best: Mapping[TaskId, float]) -> float:
    """Return the best known cost over the plan's; 1 for a proof that there is no plan, 0 without plan or known cost."""
    if record.outcome is Outcome.UNSOLVABLE:
        return 1.0
    if record.outcome not in PLANS or record.cost is None:
        return 0.0
    least = best.get(record.task_id, record.cost)
    return 1.0 if record.cost <= least else least / record.cost


def length_score(record: Record, shortest: Mapping[TaskId, int]) -> float:
    """Return the number of steps of the shortest known plan over that of this one, at most 1.

    1 for a proof that there is no plan, and 0 for no plan.
    """
    if record.outcome is Outcome.UNSOLVABLE:
        return 1.0
    if record.outcome not in PLANS or record.plan_length is None:
        return 0.0
    least = shortest.get(record.task_id, record.plan_length)
    return 1.0 if record.plan_length <= least else least / record.plan_length


def find_shortest_plans(records: Sequence[Record]) -> dict[TaskId, int]:
    """Return how many steps the shortest plan of each task has: that which its suite knows, or else of `records`."""
    known = {one.task_id: one.shortest_known for one in records if one.shortest_known is not None}
    found: dict[TaskId, int] = {}
    for record in records:
        if record.outcome in PLANS and record.plan_length is not None:
            found[record.task_id] = min(record.plan_length, found.get(record.task_id, record.plan_length))
    return found | known


def find_best_costs(records: Iterable[Record], known: Mapping[str, float]) -> dict[TaskId, float]:
    """Return the least cost of each task: of the plans in `records`, and of what is `known` by the task's name."""
    best: dict[TaskId, float] = {}
    for record in records:
        if record.outcome in PLANS and record.cost is not None:
            least = min(record.cost, known.get(record.task, record.cost))
            best[record.task_id] = min(least, best.get(record.task_id, least))
    return best


def read_costs(path: Path) -> dict[str, float]:
    """Read best known costs: lines with a task's name and a cost, a tab between; a head `task`, `cost` may come first.

    Raises `DocumentError` where a line is something else.
    """
    costs: dict[str, float] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        task, tab, cost = line.rpartition("\t")
        if (number == 1 and (task, cost) == ("task", "cost")) or not line.strip():
            continue
        try:
            costs[task] = float(cost)
        except ValueError:
            costs[task] = math.nan
        if not tab or not 0 <= costs[task] < math.inf:
            message = f"found {line[:60]!r}, expected a task's name, a tab, and a cost"
            raise DocumentError(message, Location(str(path), number))
    return costs


LEAST_SECONDS: Final = 0.001
"""Shorter times count as this, so that ratios stay finite."""
LEAST_MIB: Final = 1.0

Measure = Callable[[Record], float]
Value = Callable[[Record], float]


def planners_in(records: Iterable[Record]) -> list[str]:
    """Return the labels of the planners in the order of their first records."""
    return list(dict.fromkeys(record.planner for record in records))


def select_by_task(records: Iterable[Record], planner: str | None = None) -> dict[TaskId, Record]:
    """Return one record for each task: of several rounds the fastest of those that did it."""
    best: dict[TaskId, Record] = {}
    for record in records:
        task = record.task_id
        if planner in (None, record.planner) and (task not in best or _rank(record) < _rank(best[task])):
            best[task] = record
    return best


def _rank(record: Record) -> tuple[bool, float]:
    return (not record.covered, record.cpu_seconds)


def cpu_seconds_of(record: Record) -> float:
    """Return the CPU time that is compared."""
    return max(record.cpu_seconds, LEAST_SECONDS)


def mebibytes_of(record: Record) -> float:
    """Return the memory that is compared."""
    return max(record.peak_mib, LEAST_MIB)


def columns_of(records: Sequence[Record]) -> dict[str, dict[TaskId, Record]]:
    """Return one record a task for each planner."""
    grouped: dict[str, list[Record]] = {}
    for record in records:
        grouped.setdefault(record.planner, []).append(record)
    return {label: select_by_task(members) for label, members in grouped.items()}


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
        domain_table("proved" if counts is is_proved else "done", records, counts),
        domain_table("agile score", records, partial(agile_score, counts=counts), 2),
    ]
    if counts is not is_proved and any(record.plan_length is not None or record.cost is not None for record in records):
        best = find_best_costs(records, known)
        tables.append(domain_table("satisficing score", records, partial(satisficing_score, best=best), 2))
    return tables


def totals_table(scores: Sequence[Table]) -> Table:
    """Return the totals of tables by domain, a row for each planner."""
    names = [table.head[0] for table in scores]
    rows = [
        (label, *(table.total[column] for table in scores)) for column, label in enumerate(scores[0].head) if column > 1
    ]
    return Table([f"planner, {scores[0].total[1]} tasks", *names], rows)


def tabulate_outcomes(records: Sequence[Record]) -> Table:
    """Return how often each planner ended in which way, leaving out the ways in which none did."""
    columns = {label: Counter(r.outcome for r in table.values()) for label, table in columns_of(records).items()}
    seen = [outcome for outcome in Outcome if any(column[outcome] for column in columns.values())]
    return Table(["planner", *seen], [(label, *(c[outcome] for outcome in seen)) for label, c in columns.items()])


def note_guarded(records: Iterable[Record]) -> str:
    """Return a sentence that counts the runs which the wall-clock guard ended; nothing where there are none."""
    found = Counter(record.planner for record in records if record.guarded)
    if not found:
        return ""
    runs = "1 run" if found.total() == 1 else f"{found.total()} runs"
    by_planner = ", ".join(f"{label} {count}" for label, count in found.items())
    return (
        f"The wall-clock guard ended {runs} ({by_planner}): the processes slept or waited, and had CPU time left. "
        "That is no time-out of the planner.\n"
    )


def compute_ratios(
    these: Mapping[TaskId, Record], others: Mapping[TaskId, Record], counts: Counts, measure: Measure = cpu_seconds_of
) -> list[tuple[float, Record, Record]]:
    """Return (`measure` of this / of the other, this, other) where both have done the task, the greatest first."""
    both = [(these[task], others[task]) for task in these if task in others]
    found = [(measure(this) / measure(other), this, other) for this, other in both if counts(this) and counts(other)]
    return sorted(found, key=lambda one: -one[0])


def summarise_ratios(found: Sequence[tuple[float, Record, Record]]) -> tuple[int, str, str]:
    """Return the number of tasks, and the median and the geometric mean of the ratios as text."""
    return summarise([ratio for ratio, _, _ in found])


def summarise(values: Sequence[float]) -> tuple[int, str, str]:
    """Return how many `values` there are, and their median and geometric mean as text."""
    return (len(values), f"{median(values):.2f}", f"{geometric_mean(values):.2f}") if values else (0, "none", "none")


def ratio_table(records: Sequence[Record], counts: Counts) -> Table:
    """Return CPU time and memory of every planner after the first over the first's, on the tasks that both did."""
    (first, base), *others = columns_of(records).items()
    rows = []
    for label, table in others:
        memory = summarise_ratios(compute_ratios(table, base, counts, mebibytes_of))
        rows.append((label, *summarise_ratios(compute_ratios(table, base, counts)), *memory[1:]))
    head = [f"over that of {first}", "tasks of both", "CPU time: median", "geometric mean"]
    return Table([*head, "memory: median", "geometric mean"], rows)


def tabulate_checks(records: Sequence[Record]) -> Table:
    """Count the verdicts of each validator by their first word."""
    said = Counter((r.planner, name, verdict.split(":")[0]) for r in records for name, verdict in r.checks.items())
    words = sorted({word for _, _, word in said}, key=lambda word: (word != "valid", word))
    pairs = dict.fromkeys((planner, name) for planner, name, _ in said)
    rows = [(planner, name, *(said[planner, name, word] for word in words)) for planner, name in pairs]
    return Table(["planner", "validator", *words], rows)


def full_report(
    records: Sequence[Record],
    counts: Counts = is_done,
    known: Mapping[str, float] | None = None,
    more: Sequence[Table] = (),
) -> str:
    """Return all tables as one Markdown text; `known` are costs of plans from elsewhere, by the names of tasks.

    `more` tables come at the end.
    """
    scores = score_tables(records, counts, known or {})
    tables = [*scores, totals_table(scores), tabulate_outcomes(records)]
    if len(planners_in(records)) > 1:
        tables.append(ratio_table(records, counts))
    if any(record.checks for record in records):
        tables.append(tabulate_checks(records))
    tables += more
    notes = filter(None, [note_guarded(records)])
    return "\n".join([*(table.markdown() for table in tables), *notes])


MEASURES: Final = ("outcome", "cost", "CPU s", "MiB")


def task_table(records: Sequence[Record]) -> Table:
    """Return outcome, cost, CPU seconds and peak memory of each planner on each task, numbers in names as numbers."""
    columns = columns_of(records)
    tasks = sorted(
        {task for table in columns.values() for task in table}, key=lambda task: (task[0], numeric_sort_key(task[1]))
    )
    several = len({suite for suite, _ in tasks}) > 1
    rows = []
    for task in tasks:
        name = f"{task[0]}: {task[1]}" if several else task[1]
        rows.append((name, *(cell for table in columns.values() for cell in format_cells(table.get(task)))))
    alone = len(columns) == 1
    head = [measure if alone else f"{label}: {measure}" for label in columns for measure in MEASURES]
    return Table(["task", *head], rows)


def format_cells(record: Record | None) -> tuple[object, ...]:
    """Format the cells of one planner."""
    if record is None:
        return ("",) * len(MEASURES)
    cost = "" if record.cost is None else f"{record.cost:g}"
    return (record.outcome, cost, f"{record.cpu_seconds:.2f}", f"{record.peak_mib:.0f}")


def numeric_sort_key(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names by the numbers in them: `p2` comes before `p10`."""
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"([0-9]+)", name)]


SOON: Final = (0.5, 0.1)
"""Within how many seconds of CPU time of the whole process a task is done soon."""
HEAD: Final = ("planner", "track", "tasks", "done", "%", *(f"in {seconds:g} s" for seconds in SOON))
LENGTHS: Final = ("length score", "mean of plans", "shorter than known")


def is_hierarchical(record: Record) -> bool:
    """Return whether the record is of a hierarchical task."""
    return "hierarchy" in record.features


def track_tables(records: Sequence[Record], counts: Counts = is_done) -> list[Table]:
    """Tabulate tasks done by track, and length scores by domain; no tables for classical tasks."""
    mine = [record for record in records if is_hierarchical(record)]
    if not mine:
        return []
    score = partial(length_score, shortest=find_shortest_plans(mine))
    soon = domain_table(f"done in {SOON[0]:g} s", mine, lambda record: counts(record) and record.cpu_seconds < SOON[0])
    return [tabulate_tracks(mine, counts), soon, domain_table("length score", mine, score, 2)]


def tabulate_tracks(records: Sequence[Record], counts: Counts) -> Table:
    """Return, for each planner and track: tasks done, how many of them soon, and how long their plans are.

    The length score is summed over all tasks, the mean is over plans; "shorter than known" are plans that beat the
    shortest which the suite knows.
    """
    shortest = find_shortest_plans(records)
    rows = [
        (label, track, *_track_cells([record for record in table.values() if track in record.tracks], counts, shortest))
        for label, table in columns_of(records).items()
        for track in sorted({name for record in table.values() for name in record.tracks}, reverse=True)
    ]
    return Table([*HEAD, *LENGTHS], rows)


def _track_cells(records: Sequence[Record], counts: Counts, shortest: Mapping[TaskId, int]) -> tuple[object, ...]:
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
