"""Tables and comparisons of records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.compare import compare, find_contradiction
from benchmarks.planners import Outcome
from benchmarks.rates import OURS, THEIRS, ground_report
from benchmarks.records import Record, is_done, is_proved
from benchmarks.report import (
    Table,
    compute_ratios,
    domain_table,
    format_table,
    full_report,
    ratio_table,
    select_by_task,
    tabulate_checks,
    tabulate_outcomes,
)

O, S, T, U = Outcome.OPTIMAL, Outcome.SOLVED, Outcome.TIME, Outcome.UNSOLVABLE  # noqa: E741 - they make a table


def record(task: str, planner: str, outcome: Outcome, seconds: float = 1.0, **more: object) -> Record:
    domain = task.partition("/")[0]
    return Record("s", domain, task, planner, planner, outcome, cpu_seconds=seconds, **more)  # type: ignore[arg-type]


RECORDS = [
    record("blocks/1", "a", O, 1.0, cost=4, lower_bound=4, checks={"v": "valid"}),
    record("blocks/1", "b", S, 2.0, cost=6, checks={"v": "valid"}),
    record("blocks/2", "a", T, 30.0),
    record("blocks/2", "b", S, 8.0, cost=9, checks={"v": "invalid: step 3"}),
    record("rooms/1", "a", U, 2.0, lower_bound=None),
    record("rooms/1", "b", U, 1.0),
    record("rooms/2", "a", O, 0.0, cost=1, lower_bound=1),
    record("rooms/2", "b", O, 0.004, cost=1, lower_bound=1),
]


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_markdown() -> None:
    assert format_table(["a", "b"], [("x|y", 1)]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n"


def test_a_table_has_its_totals_in_bold() -> None:
    assert Table(["a", "b"], [("x\ny", 1)], ("sum", 1)).markdown().splitlines()[2:] == [
        "| x y | 1 |",
        "| **sum** | **1** |",
    ]


def test_coverage_by_domain_and_in_total() -> None:
    covered = domain_table("done", RECORDS, is_done)
    assert list(covered.rows) == [("blocks", 2, "1", "2"), ("rooms", 2, "2", "2")]
    assert covered.total == ("total", 4, "3", "4")
    assert domain_table("proved", RECORDS, is_proved).total == ("total", 4, "3", "2")


def test_outcomes_that_occur() -> None:
    table = tabulate_outcomes(RECORDS)
    assert table.head == ["planner", "optimal", "solved", "unsolvable", "time"]
    assert table.rows == [("a", 2, 0, 1, 1), ("b", 1, 2, 1, 0)]


def test_time_and_memory_on_the_tasks_that_both_did() -> None:
    assert ratio_table(RECORDS, is_done).rows == [("b", 3, "2.00", "1.59", "1.00", "1.00")]
    found = compute_ratios(select_by_task(RECORDS, "b"), select_by_task(RECORDS, "a"), is_done)
    assert [(one.task, ratio) for ratio, one, _ in found] == [("rooms/2", 4.0), ("blocks/1", 2.0), ("rooms/1", 0.5)]
    memory = [record("x/1", "a", S, peak_mib=50.0), record("x/1", "b", S, peak_mib=100.0)]
    assert ratio_table(memory, is_done).rows == [("b", 1, "1.00", "1.00", "2.00", "2.00")]


def test_of_several_rounds_the_fastest_that_did_it_counts() -> None:
    rounds = [record("x/1", "a", T, 1.0), record("x/1", "a", S, 3.0), record("x/1", "a", S, 2.0)]
    assert select_by_task(rounds)["s", "x/1"] == rounds[2]


def test_a_report_has_all_tables() -> None:
    report = full_report(RECORDS)
    assert "| **total** | **4** | **3** | **4** |" in report
    assert "| b | v | 1 | 1 |" in report
    assert tabulate_checks(RECORDS).rows == [("a", "v", 1, 0), ("b", "v", 1, 1)]
    assert "over that of a" in report
    assert "CPU time" not in full_report(RECORDS[:1], is_proved)
    assert "satisficing score" not in full_report(RECORDS, is_proved)


def test_a_report_sums_up_by_planner() -> None:
    lines = cells(full_report(RECORDS))
    assert ["planner, 4 tasks", "done", "agile score", "satisficing score"] in lines
    assert ["a", "3", "2.88", "3.00"] in lines
    assert ["b", "4", "3.51", "3.67"] in lines


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (record("x", "a", O, cost=4, lower_bound=4), record("x", "b", O, cost=4, lower_bound=4), None),
        (record("x", "a", O, cost=4, lower_bound=4), record("x", "b", S, cost=5), None),
        (record("x", "a", O, cost=4, lower_bound=4), record("x", "b", T), None),
        (record("x", "a", U), record("x", "b", U), None),
        (record("x", "a", U), record("x", "b", Outcome.INVALID, cost=3), None),
        (
            record("x", "a", O, cost=4, lower_bound=4),
            record("x", "b", O, cost=5, lower_bound=5),
            "both proved, costs differ",
        ),
        (record("x", "a", U), record("x", "b", S, cost=5), "a plan, and a proof that there is none"),
        (
            record("x", "a", O, cost=4, lower_bound=4),
            record("x", "b", S, cost=3),
            "b's plan is cheaper than a's lower bound",
        ),
        (record("x", "a", T, lower_bound=4), record("x", "b", S, cost=0), "b's plan is cheaper than a's lower bound"),
    ],
)
def test_contradicting_claims(one: Record, other: Record, found: str | None) -> None:
    assert find_contradiction(one, other) == find_contradiction(other, one) == found


def test_comparison() -> None:
    clash = record("rooms/3", "b", S, cost=1), record("rooms/3", "a", O, cost=2, lower_bound=2)
    left, right = select_by_task([*RECORDS, *clash], "a"), select_by_task([*RECORDS, *clash], "b")
    text = compare(left, right)
    assert "| left: a () | 4 | 0 |" in text
    assert "| right: b () | 5 | 1 |" in text
    assert "Memory, left / right, on the same tasks: median 1.00" in text
    assert "| blocks/2 | time | solved |" in text
    assert "Contradictions: 1" in text
    assert "| rooms/3 | optimal 2, bound 2 | solved 1, bound None | b's plan is cheaper" in text
    assert "on 4 tasks of both: median 0.75, geometric mean 0.71" in text
    assert "| rooms/1 | 2.00 | 1.00 | 2.00 |" in text


def test_comparison_of_nothing() -> None:
    assert "on 0 tasks of both: median none" in compare({}, {}, is_proved)


def test_grounding_report() -> None:
    records = [
        record("x/1", OURS, Outcome.GROUNDED, 1.0),
        record("x/1", THEIRS, Outcome.GROUNDED, 2.0),
        record("x/2", OURS, Outcome.MEMORY, 9.0, detail="too many"),
        record("x/2", THEIRS, Outcome.GROUNDED, 3.0),
        record("x/3", OURS, Outcome.GROUNDED, 0.2),
        record("x/3", THEIRS, Outcome.GROUNDED, 0.1),
    ]
    times = [0.4, 1.6, 8.0, 2.0, 0.001, 0.02]
    records = [replace(one, translate_seconds=seconds) for one, seconds in zip(records, times, strict=True)]
    report = ground_report(records)
    assert "without interpreter and imports, 0.01 s at least: on 2 tasks median 0.38, geometric mean 0.35" in report
    assert f"| {OURS} | 3 | 2 | 66.7 % |" in report
    assert f"| {THEIRS} | 3 | 3 | 100.0 % |" in report
    assert "CPU time, ours / theirs, on 2 tasks of both: median 1.25" in report
    assert "1 s or more:\n\nCPU time, ours / theirs, on 1 tasks of both: median 0.50" in report
    assert f"| x/2 | {OURS} | memory | too many |" in report
