"""Two planners, or two runs of one, side by side: coverage, contradicting claims, times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from benchmarks.planners import Outcome
from benchmarks.records import Record
from benchmarks.report import TaskId, markdown, ratio_summary, ratios

WORST: Final = 10
PLANS: Final = frozenset({Outcome.OPTIMAL, Outcome.SOLVED})


def contradiction(one: Record, other: Record) -> str | None:
    """Return how the claims of two records of a task contradict each other, or None."""
    outcomes = {one.outcome, other.outcome}
    if outcomes == {Outcome.OPTIMAL} and one.cost != other.cost:
        return "both proved, costs differ"
    if Outcome.UNSOLVABLE in outcomes and outcomes & PLANS:
        return "a plan, and a proof that there is none"
    for proof, plan in ((one, other), (other, one)):
        bounded = proof.lower_bound is not None and plan.cost is not None and plan.outcome in PLANS
        if bounded and (plan.cost or 0) < (proof.lower_bound or 0):
            return f"{plan.planner}'s plan is cheaper than {proof.planner}'s lower bound"
    return None


def compare(left: Mapping[TaskId, Record], right: Mapping[TaskId, Record], *, proved_only: bool) -> str:
    """Return the comparison as Markdown; only tasks that both were tried on count."""

    def counts(record: Record) -> bool:
        return record.proved if proved_only else record.covered

    tasks = [task for task in left if task in right]
    pairs = [(left[task], right[task]) for task in tasks]
    only_left = [(one, other) for one, other in pairs if counts(one) and not counts(other)]
    only_right = [(one, other) for one, other in pairs if counts(other) and not counts(one)]
    clashes = [(one, other, clash) for one, other in pairs if (clash := contradiction(one, other)) is not None]
    word = "proved" if proved_only else "done"
    found = ratios(left, right, counts)
    return "\n".join(
        [
            markdown(
                [f"{len(tasks)} tasks", word, "only by this one"],
                [
                    (f"left: {_name(left)}", sum(counts(one) for one, _ in pairs), len(only_left)),
                    (f"right: {_name(right)}", sum(counts(other) for _, other in pairs), len(only_right)),
                ],
            ),
            *_listed(f"Only left has {word}:", ["task", "left", "right"], map(_outcomes, only_left)),
            *_listed(f"Only right has {word}:", ["task", "left", "right"], map(_outcomes, only_right)),
            f"Contradictions: {len(clashes)}\n",
            *_listed("", ["task", "left", "right", "how"], [(*_costs((a, b)), how) for a, b, how in clashes]),
            ratio_report(found, "left", "right"),
        ]
    )


def ratio_report(found: Sequence[tuple[float, Record, Record]], left: str, right: str) -> str:
    """Return the median and geometric mean of CPU time ratios, and the tasks where left did worst."""
    count, middle, mean = ratio_summary(found)
    summary = f"CPU time, {left} / {right}, on {count} tasks of both: median {middle}, geometric mean {mean}\n"
    rows = [
        (one.task, f"{one.cpu_seconds:.2f}", f"{other.cpu_seconds:.2f}", f"{ratio:.2f}")
        for ratio, one, other in found[:WORST]
    ]
    return "\n".join([summary, *_listed(f"The worst {len(rows)}:", ["task", f"{left} s", f"{right} s", "ratio"], rows)])


def _name(side: Mapping[TaskId, Record]) -> str:
    return ", ".join(sorted({f"{record.planner} ({_version(record)})" for record in side.values()}))


def _version(record: Record) -> str:
    own = {name: version for name, version in record.versions.items() if name != "python"}
    return ", ".join(f"{name} {version}" for name, version in own.items())


def _outcomes(pair: tuple[Record, Record]) -> tuple[str, ...]:
    return (pair[0].task, pair[0].outcome, pair[1].outcome)


def _costs(pair: tuple[Record, Record]) -> tuple[str, ...]:
    return (pair[0].task, *(f"{record.outcome} {record.cost}, bound {record.lower_bound}" for record in pair))


def _listed(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    rows = list(rows)
    if not rows:
        return []
    return [f"{title}\n", markdown(head, rows)] if title else [markdown(head, rows)]
