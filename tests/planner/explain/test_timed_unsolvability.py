"""Which promises in time clash, which least relaxation gives a plan, and what would help one."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest
from timed_domains import letters

from planner import Domain, Limits, Problem, Status, StoppedBy, load, solve, validate
from planner.explain.temporal_promises import Kind, find_promises
from planner.explain.timed_explanation import explain_times
from planner.explain.timed_gains import find_gains
from planner.explain.timed_unsolvability import TimedDiagnosis, explain_no_plan_in_time
from planner.language.pddl import parse_domain, parse_problem


def counter(customers: int = 3, clerks: int = 1, **rest: Any) -> Problem:
    """Return a task whose customers are served for 3 s each by so many clerks."""
    domain = Domain("counter", types=["customer"])
    domain.action("serve", {"c": "customer"}, throughout="open", provides="served(c)", duration=3, holds={"clerk": 1})
    names = [f"c{number}" for number in range(customers)]
    given: dict[str, Any] = {"windows": {"open": "10..18"}, "objective": "makespan", **rest}
    return domain.problem(
        objects=dict.fromkeys(names, "customer"),
        capacity={"clerk": clerks},
        goal=[f"served({name})" for name in names],
        **given,
    )


PRINTING = """
(define (domain printing) (:requirements :typing :durative-actions :numeric-fluents)
  (:types job press)
  (:predicates (printed ?j - job) (staffed) (wet ?p - press) (dry ?p - press))
  (:functions (slots ?p - press) (length ?j - job))
  (:durative-action print :parameters (?j - job ?p - press) :duration (= ?duration (length ?j))
    :condition (and (over all (staffed)) (at start (>= (slots ?p) 1)))
    :effect (and (at start (decrease (slots ?p) 1)) (at end (increase (slots ?p) 1)) (at end (printed ?j)))))
"""


def printing(closes: float = 9, slots: int = 1, lengths: tuple[int, ...] = (4, 5, 2)) -> Problem:
    names = [f"j{number}" for number in range(len(lengths))]
    values = " ".join(f"(= (length {name}) {length})" for name, length in zip(names, lengths, strict=True))
    return parse_problem(
        f"""
        (define (problem day) (:domain printing)
          (:objects {" ".join(names)} - job p - press)
          (:init (staffed) (at {closes} (not (staffed))) (= (slots p) {slots}) {values})
          (:goal (and {" ".join(f"(printed {name})" for name in names)}))
          (:metric minimize (total-time)))
        """,
        parse_domain(PRINTING),
    )


def explain(problem: Problem, seconds: float = 10) -> TimedDiagnosis:
    """Explain `problem`, and check that nothing contradicts `solve`, and that each plan replays."""
    found = explain_no_plan_in_time(problem, Limits(seconds))
    result = solve(problem, time_limit=5)
    assert (found.solvable is True) <= (result.status is not Status.UNSOLVABLE)
    assert (found.solvable is False) <= (result.plan is None)
    for each in found.relaxations:
        if each.plan is not None:
            assert validate(each.plan.problem, each.plan).valid
    return found


def as_amounts(found: TimedDiagnosis) -> dict[Kind, tuple[str, bool]]:
    return {each.promise.kind: (str(each.amount), each.is_proved) for each in found.relaxations}


def test_a_window_and_a_capacity_clash() -> None:
    found = explain(counter())
    (conflict,) = found.conflicts
    assert [str(each) for each in conflict.promises] == ["open holds until 18 s", "capacity clerk is 1"]
    assert conflict.is_proved
    assert conflict.is_smallest
    assert as_amounts(found) == {Kind.WINDOW: ("1.002", True), Kind.CAPACITY: ("1", True)}
    text = str(found)
    assert "open holds until 19.002 s: 1.002 s later (no less does); then a plan ends at 19.002 s:" in text
    assert "capacity clerk is 2: 1 more, instead of 1 (no less does)" in text
    assert found.to_dict()["relaxations"][0]["makespan"] == 19.002


def test_a_deadline_is_later_by_what_the_least_makespan_needs() -> None:
    found = explain(counter(windows={}, initial=["open"], deadline=8))
    assert as_amounts(found) == {Kind.DEADLINE: ("1.002", True), Kind.CAPACITY: ("1", True)}
    assert "the plan ends by 9.002 s: 1.002 s later" in str(found)


def test_what_is_due_needs_more_than_the_rest() -> None:
    due = {"served(c0)": 3, "served(c1)": "4.5", "served(c2)": 12}
    found = explain(counter(windows={}, initial=["open"], due=due))
    (conflict,) = found.conflicts
    assert [str(each) for each in conflict.promises] == [
        "served(c0) is due by 3 s",
        "served(c1) is due by 4.5 s",
        "capacity clerk is 1",
    ]
    amounts = [str(each.amount) for each in found.relaxations]
    assert amounts == ["3.001", "1.501", "1"]
    assert all(each.is_proved for each in found.relaxations)


def test_times_of_day_are_told() -> None:
    problem = counter(
        windows={"open": "9:00..9:00:05"}, starts_at="2026-11-27T08:00 Europe/Berlin", objective="makespan"
    )
    assert "open holds until 3605 s (09:00:05)" in str(explain(problem))
    assert "(09:00:09.002000)" in str(explain(problem))


def test_pools_and_windows_of_pddl_are_promises() -> None:
    problem = printing()
    assert [str(each) for each in find_promises(problem)] == ["staffed holds until 9 s", "capacity slots(p) is 1"]
    assert as_amounts(explain(problem)) == {Kind.WINDOW: ("2.002", True), Kind.CAPACITY: ("1", True)}


def test_a_number_that_is_spent_is_no_capacity() -> None:
    assert [each.kind for each in find_promises(letters(timed="(at 4 (post-open))"))] == []


def test_conflicts_that_share_nothing_need_two_changes() -> None:
    domain = Domain("two")
    domain.action("sow", throughout="spring", provides="sown", duration=5)
    domain.action("reap", throughout="autumn", provides="reaped", duration=7)
    problem = domain.problem(
        windows={"spring": "0..4", "autumn": "20..25"}, goal=["sown", "reaped"], objective="makespan"
    )
    found = explain(problem)
    assert [[str(each) for each in conflict.promises] for conflict in found.conflicts] == [
        ["spring holds until 4 s"],
        ["autumn holds until 25 s"],
    ]
    assert "Something of each of these conflicts has to change." in str(found)
    one = explain(domain.problem(windows={"spring": "0..4"}, initial=["autumn"], goal=["sown"], objective="makespan"))
    assert as_amounts(one) == {Kind.WINDOW: ("1", True)}
    assert "Without it, there is a plan." in str(one)


def test_a_window_that_meets_the_next_one_is_joined_with_it() -> None:
    domain = Domain("shop")
    domain.action("fetch", throughout="open", provides="fetched", duration=12)
    problem = domain.problem(windows={"open": ["0..5", "10..14"]}, goal="fetched", objective="makespan")
    found = explain(problem)
    assert found.solvable is False
    (conflict,) = found.conflicts
    helping = [each for each in found.relaxations if each.plan is not None]
    assert [str(each.promise) for each in helping] == [str(each) for each in conflict.promises if each.what is not None]
    assert all(validate(each.plan.problem, each.plan).valid for each in helping if each.plan is not None)


def test_times_are_not_blamed_for_what_lacks_anyway() -> None:
    domain = Domain("counter")
    domain.action("serve", requires="paid", throughout="open", provides="served", duration=3)
    found = explain(domain.problem(windows={"open": "0..9"}, goal="served", objective="makespan"))
    assert found.blames_time is False
    assert not found.conflicts
    assert "No deadline, window or capacity is to blame" in str(found)
    assert "paid" in str(found)


def test_a_problem_with_a_plan_is_told_so() -> None:
    found = explain(counter(2))
    assert found.solvable
    assert found.plan is not None
    assert str(found).startswith("counter has a plan that ends at 16.001 s:")


def test_limits_are_kept_and_reported() -> None:
    found = explain_no_plan_in_time(counter(), Limits(0.0))
    assert found.solvable is None
    assert found.stopped_by is StoppedBy.TIME
    assert not found.relaxations
    cancel = threading.Event()
    cancel.set()
    assert explain_no_plan_in_time(counter(), Limits(5, cancel=cancel)).stopped_by is StoppedBy.CANCELLED


def test_what_would_help_comes_in_the_order_of_its_gain() -> None:
    domain = Domain("bakery", types=["loaf"])
    domain.action("knead", {"l": "loaf"}, provides="kneaded(l)", duration=1, holds={"bowl": 1})
    domain.action("bake", {"l": "loaf"}, requires="kneaded(l)", provides="baked(l)", duration=5, holds={"oven": 1})
    problem = domain.problem(
        objects={"l1": "loaf", "l2": "loaf"},
        capacity={"bowl": 1, "oven": 1},
        goal=["baked(l1)", "baked(l2)"],
        objective="makespan",
    )
    plan = solve(problem, time_limit=5).expect_plan()
    assert plan.makespan == Decimal("11.002")
    found = find_gains(problem, plan, Limits(10))
    assert [(each.capacity.what, str(each.gain), each.is_proved) for each in found.gains] == [
        ("oven", "4.000", True),
        ("bowl", "0.000", True),
    ]
    for each in found.gains:
        assert validate(each.plan.problem, each.plan).valid
    explained = explain_times(problem, plan, Limits(10))
    assert "what would help:\n  one more of oven (2 instead of 1): the plan ends at 7.002, 4.000 s sooner" in str(
        explained
    )
    assert explained.to_dict()["what_would_help"] is not None
    assert "what would help" not in str(explain_times(problem, plan))


def test_a_worse_plan_is_improved_before_gains_count() -> None:
    problem = counter(2, windows={}, initial=["open"])
    from planner.language.pddl.plan_files import read_plan

    plan = read_plan("0: (serve c0) [3]\n9: (serve c1) [3]", problem)
    found = find_gains(problem, plan, Limits(10))
    assert found.is_better
    assert [str(each.gain) for each in found.gains] == ["3.001"]
    assert "another plan, which ends at 6.001" in str(found)


@pytest.mark.parametrize("seconds", [0.3, 1.0])
def test_short_limits_give_bounds_that_hold(seconds: float) -> None:
    problem = counter(7, 2, windows={"open": "10..20"})
    found = explain_no_plan_in_time(problem, Limits(seconds))
    assert found.solvable is not True
    for each in found.relaxations:
        if each.promise.kind is Kind.CAPACITY and each.amount is not None:
            assert each.amount >= 1
        elif each.amount is not None:
            assert each.amount >= Decimal("2.003")


def test_steps_that_must_overlap_are_not_explained_by_sequences() -> None:
    problem = load(
        """(define (domain lamp)
          (:predicates (dark) (lit) (written))
          (:durative-action light :parameters () :duration (= ?duration 3) :condition (at start (dark))
            :effect (and (at start (not (dark))) (at start (lit)) (at end (not (lit))) (at end (dark))))
          (:durative-action write :parameters () :duration (= ?duration 4)
            :condition (over all (lit)) :effect (at end (written))))""",
        "(define (problem p) (:domain lamp) (:init (dark)) (:goal (written)) (:metric minimize (total-time)))",
    )
    assert explain_no_plan_in_time(problem, Limits(1)).cause is None
