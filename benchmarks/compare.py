"""Compare two planners, or two runs of one: coverage, contradicting claims, times.

`RecordFilter` selects the records to compare: by planner and task, and without what some planners do not support.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks import report
from benchmarks.planners import Outcome
from benchmarks.records import Counts, Record, TaskId, is_done, is_proved
from benchmarks.suite import domain_matches, matches
from planner.errors import DocumentError, did_you_mean

WORST: Final = 10
SEPARATION: Final = 0.001
"""The time between happenings in the competitions, in seconds; some planners keep less."""


def find_contradiction(one: Record, other: Record) -> str | None:
    """Return how the claims of two records of a task contradict each other, or None."""
    outcomes = {one.outcome, other.outcome}
    if outcomes == {Outcome.OPTIMAL} and abs((one.cost or 0) - (other.cost or 0)) > separations(one, other):
        return "both proved, costs differ"
    if Outcome.UNSOLVABLE in outcomes and outcomes & report.PLANS:
        return "a plan, and a proof that there is none"
    for proof, plan in ((one, other), (other, one)):
        bounded = proof.lower_bound is not None and plan.cost is not None and plan.outcome in report.PLANS
        if bounded and (plan.cost or 0) + separations(plan) < (proof.lower_bound or 0):
            return f"{plan.planner}'s plan is cheaper than {proof.planner}'s lower bound"
    return None


def separations(*records: Record) -> float:
    """Return by how much the costs of plans in time may differ for the times that planners keep between happenings.

    0 for sequences.
    """
    return max(2 * SEPARATION * (each.plan_length or 0) if each.makespan is not None else 0.0 for each in records)


def compare(left: Mapping[TaskId, Record], right: Mapping[TaskId, Record], counts: Counts = is_done) -> str:
    """Return the comparison as Markdown; only tasks that both were tried on count."""
    pairs = [(left[task], right[task]) for task in left if task in right]
    only_left = [(one, other) for one, other in pairs if counts(one) and not counts(other)]
    only_right = [(one, other) for one, other in pairs if counts(other) and not counts(one)]
    clashes = [(one, other, clash) for one, other in pairs if (clash := find_contradiction(one, other)) is not None]
    word = "proved" if counts is is_proved else "done"
    memory = report.summarise_ratios(report.compute_ratios(left, right, counts, report.mebibytes_of))
    return "\n".join(
        [
            _score_table(pairs, (len(only_left), len(only_right)), counts, word),
            *_format_rows(f"Only left has {word}:", ["task", "left", "right"], map(_outcome_cells, only_left)),
            *_format_rows(f"Only right has {word}:", ["task", "left", "right"], map(_outcome_cells, only_right)),
            f"Contradictions: {len(clashes)}\n",
            *_format_rows("", ["task", "left", "right", "how"], [(*_cost_cells((a, b)), how) for a, b, how in clashes]),
            ratio_report(report.compute_ratios(left, right, counts), "left", "right"),
            f"Memory, left / right, on the same tasks: median {memory[1]}, geometric mean {memory[2]}\n",
            *filter(None, [report.note_guarded(record for pair in pairs for record in pair)]),
        ]
    )


def _score_table(pairs: Sequence[tuple[Record, Record]], alone: tuple[int, int], counts: Counts, word: str) -> str:
    sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    best = report.find_best_costs((record for pair in pairs for record in pair), {})
    rows = [
        (
            f"{name}: {_planner_names(side)}",
            sum(map(counts, side)),
            only,
            f"{sum(report.agile_score(record, counts) for record in side):.2f}",
            f"{sum(report.satisficing_score(record, best) for record in side):.2f}",
        )
        for name, only, side in zip(("left", "right"), alone, sides, strict=True)
    ]
    head = [f"{len(pairs)} tasks", word, "only by this one", "agile score", "satisficing score"]
    return report.format_table(head, rows)


def ratio_report(found: Sequence[tuple[float, Record, Record]], left: str, right: str) -> str:
    """Return the median and geometric mean of CPU time ratios, and the tasks where left did worst."""
    count, middle, mean = report.summarise_ratios(found)
    summary = f"CPU time, {left} / {right}, on {count} tasks of both: median {middle}, geometric mean {mean}\n"
    rows = [
        (one.task, f"{one.cpu_seconds:.2f}", f"{other.cpu_seconds:.2f}", f"{ratio:.2f}")
        for ratio, one, other in found[:WORST]
    ]
    return "\n".join(
        [summary, *_format_rows(f"The worst {len(rows)}:", ["task", f"{left} s", f"{right} s", "ratio"], rows)]
    )


def _planner_names(side: Sequence[Record]) -> str:
    return ", ".join(sorted({f"{record.planner} ({_version_text(record)})" for record in side}))


def _version_text(record: Record) -> str:
    own = {name: version for name, version in record.versions.items() if name != "python"}
    return ", ".join(f"{name} {version}" for name, version in own.items())


def _outcome_cells(pair: tuple[Record, Record]) -> tuple[str, ...]:
    return (pair[0].task, pair[0].outcome, pair[1].outcome)


def _cost_cells(pair: tuple[Record, Record]) -> tuple[str, ...]:
    return (pair[0].task, *(f"{record.outcome} {record.cost}, bound {record.lower_bound}" for record in pair))


def _format_rows(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    rows = list(rows)
    if not rows:
        return []
    return [f"{title}\n", report.format_table(head, rows)] if title else [report.format_table(head, rows)]


FEATURES: Final = (
    "axioms",
    "conditional effects",
    "constants",
    "costs",
    "disjunctive conditions",
    "equality",
    "hierarchy",
    "method constraints",
    "method preconditions",
    "negative conditions",
    "quantified conditions",
    "universal effects",
)
"""What `benchmarks.pddltext.features` tells apart."""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """The records to look at; empty fields choose all.

    `planners` are labels, `domains` and `names` patterns. Left out are tasks with any of the features `without`, and
    those of which one of the planners `supported_by` has said that it does not support them.
    """

    planners: Sequence[str] = ()
    without: Sequence[str] = ()
    supported_by: Sequence[str] = ()
    domains: Sequence[str] = ()
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        for feature in self.without:
            if feature not in FEATURES:
                hint = f"{did_you_mean(feature, FEATURES) or 'there are'} {', '.join(FEATURES)}"
                raise DocumentError(f"there is no feature '{feature}'", hint=hint)

    def of(self, records: Sequence[Record], others: Iterable[Record] = ()) -> list[Record]:
        """Return the chosen `records`; what is unsupported is looked up in `others` too.

        Raises `DocumentError` where there are no results of a planner that is named.
        """
        everything = [*records, *others]
        known = list(dict.fromkeys(record.planner for record in everything))
        for label in (*self.planners, *self.supported_by):
            if label not in known:
                raise DocumentError(f"there are no results of '{label}'", hint=did_you_mean(label, known))
        barred = self._barred(everything)
        return [record for record in records if record.task_id not in barred and self._takes(record)]

    def _barred(self, records: Iterable[Record]) -> set[TaskId]:
        """Return the tasks that are left out for what they use, by anybody's record of them."""
        return {
            record.task_id
            for record in records
            if (record.outcome is Outcome.UNSUPPORTED and record.planner in self.supported_by)
            or not set(self.without).isdisjoint(record.features)
        }

    def _takes(self, record: Record) -> bool:
        return (
            (not self.planners or record.planner in self.planners)
            and domain_matches(record.domain, self.domains)
            and matches(record.task, self.names)
        )
