"""Two planners, or two runs of one, side by side: coverage, contradicting claims, times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from benchmarks.planners import Outcome
from benchmarks.records import Counts, Record, TaskId, done, proved
from benchmarks.report import mebibytes, ratio_summary, ratios
from benchmarks.scores import PLANS, agile_score, best_costs, satisficing_score
from benchmarks.tables import markdown

WORST: Final = 10


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


def compare(left: Mapping[TaskId, Record], right: Mapping[TaskId, Record], counts: Counts = done) -> str:
    """Return the comparison as Markdown; only tasks that both were tried on count."""
    pairs = [(left[task], right[task]) for task in left if task in right]
    only_left = [(one, other) for one, other in pairs if counts(one) and not counts(other)]
    only_right = [(one, other) for one, other in pairs if counts(other) and not counts(one)]
    clashes = [(one, other, clash) for one, other in pairs if (clash := contradiction(one, other)) is not None]
    word = "proved" if counts is proved else "done"
    memory = ratio_summary(ratios(left, right, counts, mebibytes))
    return "\n".join(
        [
            _scores(pairs, (len(only_left), len(only_right)), counts, word),
            *_listed(f"Only left has {word}:", ["task", "left", "right"], map(_outcomes, only_left)),
            *_listed(f"Only right has {word}:", ["task", "left", "right"], map(_outcomes, only_right)),
            f"Contradictions: {len(clashes)}\n",
            *_listed("", ["task", "left", "right", "how"], [(*_costs((a, b)), how) for a, b, how in clashes]),
            ratio_report(ratios(left, right, counts), "left", "right"),
            f"Memory, left / right, on the same tasks: median {memory[1]}, geometric mean {memory[2]}\n",
        ]
    )


def _scores(pairs: Sequence[tuple[Record, Record]], alone: tuple[int, int], counts: Counts, word: str) -> str:
    sides = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    best = best_costs((record for pair in pairs for record in pair), {})
    rows = [
        (
            f"{name}: {_name(side)}",
            sum(map(counts, side)),
            only,
            f"{sum(agile_score(record, counts) for record in side):.2f}",
            f"{sum(satisficing_score(record, best) for record in side):.2f}",
        )
        for name, only, side in zip(("left", "right"), alone, sides, strict=True)
    ]
    head = [f"{len(pairs)} tasks", word, "only by this one", "agile score", "satisficing score"]
    return markdown(head, rows)


def ratio_report(found: Sequence[tuple[float, Record, Record]], left: str, right: str) -> str:
    """Return the median and geometric mean of CPU time ratios, and the tasks where left did worst."""
    count, middle, mean = ratio_summary(found)
    summary = f"CPU time, {left} / {right}, on {count} tasks of both: median {middle}, geometric mean {mean}\n"
    rows = [
        (one.task, f"{one.cpu_seconds:.2f}", f"{other.cpu_seconds:.2f}", f"{ratio:.2f}")
        for ratio, one, other in found[:WORST]
    ]
    return "\n".join([summary, *_listed(f"The worst {len(rows)}:", ["task", f"{left} s", f"{right} s", "ratio"], rows)])


def _name(side: Sequence[Record]) -> str:
    return ", ".join(sorted({f"{record.planner} ({_version(record)})" for record in side}))


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
