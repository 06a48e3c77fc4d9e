"""Plans in time are checked by replaying their happenings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from timed_domains import letters

from planner import Domain, Problem, load, solve, validate
from planner.errors import PlanError
from planner.language.pddl.plan_files import read_plan, write_plan
from planner.plan import Status
from planner.semantics.snap_actions import name_as_declared
from planner.validation.timed_replay import in_turn

GOOD = """
0.000: (light desk0) [10.000]
0.000: (write letter0 desk0) [3.000]
3.001: (write letter1 desk0) [4.000]
"""
POSTED = "0.000: (light desk0) [10.000]\n0.000: (write letter0 desk0) [3.000]\n{start}: (post letter0) [{lasts}]\n"
WINDOW = "(at 5 (post-open)) (at 8 (not (post-open)))"


def test_a_valid_plan_in_time_costs_its_makespan() -> None:
    problem = letters()
    plan = read_plan(GOOD, problem)
    verdict = validate(problem, plan)
    assert verdict.valid, verdict.reason
    assert (verdict.cost, plan.makespan) == (10, 10)
    assert read_plan(write_plan(plan), problem) == plan


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("3.001", "3.000", "are less than 0.001 s apart, and both touch awake"),
        ("3.001", "2.000", "step 3 write(letter1, desk0) starts at 2: requires awake, which was retracted by step 2"),
        ("3.001", "7.000", "step 3 write(letter1, desk0) lasts after 10: requires lit(desk0) throughout"),
        ("[10.000]", "[9.000]", "it lasts 9 s in the plan, and its duration is 10 s"),
        ("(write letter1 desk0) [4.000]", "(write letter1 desk0) [3.000]", "its duration is 4 s"),
        ("3.001: (write letter1 desk0) [4.000]", "", "at the end, the goal requires written(letter1)"),
    ],
)
def test_faults_are_named(old: str, new: str, reason: str) -> None:
    problem = letters()
    verdict = validate(problem, read_plan(GOOD.replace(old, new), problem))
    assert not verdict.valid
    assert reason in verdict.reason


def test_a_step_before_the_beginning_is_no_step() -> None:
    with pytest.raises(PlanError, match="a step starts at -1, before the plan begins"):
        read_plan("-1: (light desk0) [10]", letters())


@pytest.mark.parametrize(
    ("start", "lasts", "reason"),
    [
        ("5.001", "1.000", ""),
        ("5.001", "2.900", ""),
        ("5.000", "1.000", ""),
        ("6.500", "2.000", "lasts after 8"),
        ("5.001", "0.500", "its duration is 1 to 4 s"),
    ],
)
def test_windows_and_ranges_of_durations(start: str, lasts: str, reason: str) -> None:
    problem = letters((9,), goal="posted", timed=WINDOW)
    verdict = validate(problem, read_plan(POSTED.format(start=start, lasts=lasts), problem))
    assert (verdict.valid, reason in verdict.reason) == (not reason, True), verdict.reason


def test_a_sequence_is_taken_step_by_step() -> None:
    problem = letters((3,), goal="blank")
    plan = in_turn(problem, read_plan("(light desk0)\n(light desk0)", problem).steps)
    assert validate(problem, plan).valid
    assert [each.start for each in plan.times] == [0, plan.times[0].end + plan.times[1].start - plan.times[0].end]
    assert plan.times[1].start > plan.times[0].end


def test_ink_that_two_steps_compare_keeps_them_apart() -> None:
    problem = letters((9, 12), desks=2)
    text = "0.000: (light desk0) [10.000]\n0.000: (light desk1) [10.000]\n0.000: (write letter0 desk0) [3.000]\n"
    verdict = validate(problem, read_plan(text + "3.000: (write letter1 desk1) [4.000]\n", problem))
    assert not verdict.valid


def test_what_solve_finds_replays() -> None:
    for problem in (letters(), letters((9,), goal="posted", timed=WINDOW), letters((30, 24, 9), ink=3)):
        result = solve(problem, time_limit=2)
        assert result.status in (Status.OPTIMAL, Status.SOLVED)
        plan = result.expect_plan()
        assert validate(problem, plan).valid
        assert result.lower_bound is not None
        assert result.lower_bound <= plan.cost == plan.makespan


def painting() -> Problem:
    """Return a task in which a robot moves and rooms are painted with one of two brushes."""
    domain = Domain("painting", types=["robot", "room"])
    parameters = {"r": "robot", "a": "room", "b": "room"}
    at_a, at_b = "at(r, a)", "at(r, b)"
    domain.action("move", parameters, requires=[at_a], modifies=["at(r, _)"], provides=[at_b], duration=3)
    domain.action("look", {"r": "robot", "a": "room"}, requires=[at_a], provides=["seen(a)"], duration=1)
    domain.action("paint", {"a": "room"}, modifies=["wall(a)"], provides=["painted(a)"], duration=2, holds={"brush": 1})
    return domain.problem(
        objects={"r": "robot", "x": "room", "y": "room"},
        initial=["at(r, x)"],
        capacity={"brush": 1},
        goal=["seen(y)", "painted(x)"],
        objective="makespan",
    )


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("0: (paint x) [2]\n1: (paint y) [2]", "holds 1 of brush, but 0 of brush is free since step 1 paint(x)"),
        ("0: (paint x) [2]\n2: (paint y) [2]\n3: (move r x y) [3]\n7: (look r y) [1]", "both touch 1 of brush"),
    ],
)
def test_messages_name_what_is_declared(steps: str, reason: str) -> None:
    problem = painting()
    verdict = validate(problem, read_plan(steps, problem))
    assert reason in verdict.reason
    for inner in ("left", "busy", "starts(", "ends("):
        assert inner not in f"{verdict.reason} {verdict.to_dict()['condition']}"


def test_a_step_that_writes_what_another_one_has_in_use_is_told_so() -> None:
    problem = replace(painting(), capacity={"brush": 2})
    verdict = validate(problem, read_plan("0: (paint x) [2]\n1: (paint x) [2]", problem))
    assert "step 2 paint(x) starts at 1: requires that no other step modifies wall(x)" in verdict.reason
    assert "when step 1 paint(x) began to modify wall(x)" in verdict.reason
    assert name_as_declared("not busy at(r)", problem) == "that no other step modifies at(r, _)"
    assert name_as_declared("paint starts(x) takes 1 arguments", problem) == "paint(x) takes 1 arguments"


@pytest.mark.parametrize(("moment", "cost"), [("at start", 34), ("at end", 0)])
def test_a_price_counts_at_the_moment_of_its_increase(moment: str, cost: int) -> None:
    """The shop is empty once the purchase has begun, and the price depends on what it had."""
    problem = load(
        f"""
        (define (domain market) (:requirements :durative-actions :numeric-fluents)
          (:predicates (has) (open))
          (:functions (stock) (price) (total-cost))
          (:durative-action buy :parameters () :duration (= ?duration 1)
            :condition (and (at start (> (stock) 0)) (over all (open)))
            :effect (and (at start (assign (stock) 0)) ({moment} (increase (total-cost) (* (stock) (price))))
                         (at end (has)))))
        """,
        """
        (define (problem p) (:domain market)
          (:init (open) (= (stock) 17) (= (price) 2) (= (total-cost) 0))
          (:goal (has)) (:metric minimize (+ (total-cost) (total-time))))
        """,
    )
    plan = solve(problem, mode="first").expect_plan()
    assert plan.cost == cost + 1
    assert validate(problem, plan).cost == cost + 1
