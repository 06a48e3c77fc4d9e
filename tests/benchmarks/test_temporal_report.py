"""Tables of tasks in time: shares of the union, scores of makespans, required overlaps."""

from __future__ import annotations

import pytest

from benchmarks.planners import Outcome
from benchmarks.records import Record
from benchmarks.temporal_report import find_least_makespans, makespan_score, temporal_tables


def record(planner: str, task: str, outcome: Outcome, makespan: float | None = None, **more: float | None) -> Record:
    features = ("durations", "required concurrency") if task.startswith("lamp") else ("durations",)
    first = more.get("first")
    cost = more.get("cost", makespan)
    return Record(
        "s",
        task.partition("/")[0],
        task,
        planner,
        f"{planner}:",
        outcome,
        cost=cost,
        makespan=makespan,
        cpu_seconds=30.0,
        first_plan_seconds=first,
        features=features,
    )


RECORDS = [
    record("ours", "lamp/1", Outcome.OPTIMAL, 10, first=0.5),
    record("ours", "lamp/2", Outcome.SOLVED, 30, first=2.0),
    record("ours", "shop/1", Outcome.TIME),
    record("theirs", "lamp/1", Outcome.UNSUPPORTED),
    record("theirs", "lamp/2", Outcome.SOLVED, 24, first=8.0),
    record("theirs", "shop/1", Outcome.SOLVED, 5),
]


def test_scores_and_shares() -> None:
    planners, domains, pairs = temporal_tables(RECORDS)
    ours, theirs = [dict(zip(planners.head, row, strict=True)) for row in planners.rows]
    assert (ours["tasks"], ours["read"], ours["plans"], ours["proved"]) == (3, 3, 2, 1)
    assert ours["makespan score"] == "1.80"  # 1 and 24 over 30
    assert ours["share of the union"] == "67%"
    assert ours["of those that must overlap"] == "2 of 2"
    assert (theirs["read"], theirs["makespan score"], theirs["shortest"]) == (2, "2.00", 2)
    assert (ours["only one with a plan"], theirs["only one with a plan"]) == (1, 1)
    assert (ours["first plan, s: median"], theirs["first plan, s: median"]) == ("1.25", "19.00")
    assert domains.total == ("total", 2, 1, "1.80", 2, 0, "2.00")
    assert pairs.rows == [("theirs", 1, 0, 0, 1, "0.800")]


def test_without_durations_there_are_no_tables() -> None:
    plain = Record("s", "d", "d/1", "ours", "ours:", Outcome.SOLVED, cost=3.0)
    assert temporal_tables([plain]) == []


@pytest.mark.parametrize(
    ("outcome", "makespan", "score"),
    [
        (Outcome.UNSOLVABLE, None, 1.0),
        (Outcome.TIME, None, 0.0),
        (Outcome.SOLVED, 0.0, 1.0),
        (Outcome.INVALID, 3.0, 0.0),
    ],
)
def test_score_of_one(outcome: Outcome, makespan: float | None, score: float) -> None:
    one = record("ours", "shop/1", outcome, makespan)
    assert makespan_score(one, find_least_makespans([one])) == score
