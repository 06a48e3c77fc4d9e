"""Tables of proofs: by ours, by peers and by feature; gaps of lower bounds elsewhere; what each part contributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from benchmarks.compare import find_contradiction
from benchmarks.planners import Outcome
from benchmarks.records import Record, TaskId
from benchmarks.report import Table, columns_of, cpu_seconds_of, find_best_costs, summarise

Column = Mapping[TaskId, Record]


@dataclass(frozen=True, slots=True)
class Sides:
    """`ours` against `peers`, by label, and the tasks that all of them were run on."""

    label: str
    ours: Column
    peers: Mapping[str, Column]

    @property
    def tasks(self) -> list[TaskId]:
        """The tasks that all were run on."""
        return [task for task in self.ours if all(task in column for column in self.peers.values())]

    def faster(self, task: TaskId) -> float | None:
        """Return the seconds of the peer that proved `task` first; None where none did."""
        return min(
            (cpu_seconds_of(column[task]) for column in self.peers.values() if column[task].proved), default=None
        )

    def of(self, task: TaskId) -> list[Record]:
        """Return the records of `task`, ours first."""
        return [self.ours[task], *(column[task] for column in self.peers.values())]


def tabulate_coverage(sides: Sides) -> Table:
    """Return how many tasks each proves, of all tasks, of those that all support, and by feature."""
    tasks = sides.tasks
    features = sorted({feature for task in tasks for feature in sides.ours[task].features})
    groups: dict[str, list[TaskId]] = {
        "all": tasks,
        "supported by all": [
            task for task in tasks if all(each.outcome is not Outcome.UNSUPPORTED for each in sides.of(task))
        ],
    }
    for name in features:
        groups[f"with {name}"] = [task for task in tasks if name in sides.ours[task].features]
    groups["with none of these"] = [task for task in tasks if not sides.ours[task].features]
    head = ["tasks", "", sides.label, *sides.peers, "any peer", "of these ours", "time over the faster peer's", "on"]
    return Table(head, [(name, *_coverage_cells(sides, members)) for name, members in groups.items()])


def _coverage_cells(sides: Sides, tasks: Sequence[TaskId]) -> tuple[object, ...]:
    """Return the cells for some tasks."""
    ours = {task for task in tasks if sides.ours[task].proved}
    theirs = {task: faster for task in tasks if (faster := sides.faster(task)) is not None}
    common = ours & theirs.keys()
    part = f"{len(common) / len(theirs):.1%}" if theirs else "none"
    count, _, mean = summarise([cpu_seconds_of(sides.ours[task]) / theirs[task] for task in common])
    peers = [sum(column[task].proved for task in tasks) for column in sides.peers.values()]
    return (len(tasks), len(ours), *peers, len(theirs), part, mean, count)


def tabulate_agreement(sides: Sides) -> Table:
    """Return on how many tasks several have a proof, and which of these contradict each other."""
    several = [task for task in sides.tasks if sum(each.proved for each in sides.of(task)) > 1]
    found = [
        (f"contradiction: {task[1]}", words)
        for task in sides.tasks
        for one, other in combinations(sides.of(task), 2)
        if (words := find_contradiction(one, other)) is not None
    ]
    return Table(["proved by several", "tasks"], [("with the same cost", len(several) - len(found)), *found])


def tabulate_missed(sides: Sides) -> Table:
    """Tabulate the tasks that a peer proves and ours does not."""
    rows = [
        (task[1], sides.ours[task].outcome, *(_format_time(column[task]) for column in sides.peers.values()))
        for task in sides.tasks
        if not sides.ours[task].proved and sides.faster(task) is not None
    ]
    return Table([f"not proved by {sides.label}", "outcome", *sides.peers], rows)


def _format_time(record: Record) -> str:
    return f"{record.cpu_seconds:.1f} s" if record.proved else "-"


def tabulate_gaps(sides: Sides, bounds: Mapping[str, Column], records: Iterable[Record]) -> Table:
    """Return the mean gap of what ours does not prove: of its lower bound, and of those in `bounds`.

    A gap is the part of the cost of the best known plan, of anyone's in `records`, that no bound accounts for.
    """
    best = find_best_costs(records, {})
    columns = {sides.label: sides.ours, **bounds}
    tasks = [
        task
        for task, record in sides.ours.items()
        if not record.proved
        and best.get(task, 0) > 0
        and all(task in column and column[task].outcome is not Outcome.UNSUPPORTED for column in bounds.values())
    ]
    rows = []
    for label, column in columns.items():
        found = [1 - (column[task].lower_bound or 0) / best[task] for task in tasks]
        rows.append((label, len(found), f"{fmean(found):.1%}" if found else "none"))
    return Table(["lower bounds of", "unproved tasks with a plan", "mean gap"], rows)


def tabulate_parts(label: str, ours: Column, others: Mapping[str, Column]) -> Table:
    """Tabulate the proofs of our other configurations, on the tasks that they and `ours` were run on."""
    rows = []
    for name, column in others.items():
        both = [task for task in ours if task in column]
        lost = [task for task in both if ours[task].proved and not column[task].proved]
        gained = [task for task in both if column[task].proved and not ours[task].proved]
        common = [task for task in both if column[task].proved and ours[task].proved]
        ratios = summarise([cpu_seconds_of(column[task]) / cpu_seconds_of(ours[task]) for task in common])
        proved = sum(column[task].proved for task in both)
        rows.append((name, len(both), proved, len(lost), len(gained), ratios[2]))
    head = ["configuration", "tasks", "proved", f"less than {label}", "more", f"time over that of {label}"]
    return Table(head, rows)


def proof_report(records: Sequence[Record], ours: str, peers: Sequence[str], bounds: Sequence[str]) -> str:
    """Return all tables as Markdown; the labels that are named nowhere are configurations of ours."""
    columns = columns_of(records)
    sides = Sides(ours, columns[ours], {label: columns[label] for label in peers})
    others = {label: column for label, column in columns.items() if label not in {ours, *peers, *bounds}}
    tables = [tabulate_coverage(sides), tabulate_agreement(sides), tabulate_missed(sides)]
    tables.append(tabulate_gaps(sides, {label: columns[label] for label in bounds}, records))
    if others:
        tables.append(tabulate_parts(ours, columns[ours], others))
    return "\n".join(table.markdown() for table in tables if table.rows)
