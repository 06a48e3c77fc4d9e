"""Limits of hierarchical searches: every stage looks at them, and a plan that was found is not lost to them."""

from __future__ import annotations

import pytest

import htn.lifted.depth_first
import htn.search.htn_incumbent
import htn.search.task_networks
from htn.grounding.ground_htn import ground
from htn.htn_portfolio import _continue_descent
from htn.language.hddl import parse_domain, parse_problem
from htn.lifted.compiled_problem import compile_problem
from htn.lifted.depth_first import LimitsWithDescent
from htn.model import HtnProblem
from htn.search.packed_hierarchy import PackedHierarchy
from htn.search.task_networks import NetworkProgression
from planner.cli.interrupt import GRACE, Watchman, interruptible
from planner.jit import library
from planner.limits import LimitReached, Limits
from planner.plan import Status, StoppedBy
from planner.search import Ending, Run
from planner.solve import solve


class Counting(Limits):
    """A budget without limits that counts how often it is asked."""

    asked = 0

    def check(self) -> None:
        self.asked += 1


def workshop(tasks: int) -> HtnProblem:
    """Return a problem with so many initial tasks, each with a name and a method of its own, in any order."""
    numbers = range(tasks)
    domain = " ".join(
        f"(:task make{n} :parameters ()) (:method by{n} :parameters () :task (make{n}) :subtasks (cut{n}))"
        f"(:action cut{n} :parameters () :effect (done{n}))"
        for n in numbers
    )
    predicates = " ".join(f"(done{n})" for n in numbers)
    made = parse_domain(f"(define (domain workshop) (:predicates {predicates}) {domain})")
    wanted = " ".join(f"(make{n})" for n in numbers)
    return parse_problem(f"(define (problem day) (:domain workshop) (:htn :subtasks (and {wanted})) (:init))", made)


def test_grounding_asks_for_every_schema() -> None:
    few, many = Counting(), Counting()
    ground(workshop(2), few)
    ground(workshop(42), many)
    assert many.asked - few.asked >= 2 * 40


def test_writing_functions_asks_for_every_task() -> None:
    few, many = Counting(), Counting()
    compile_problem(workshop(2), check=few.check)
    compile_problem(workshop(42), check=many.check)
    assert many.asked - few.asked == 40


def test_what_a_search_makes_of_actions_and_methods_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(htn.search.task_networks, "BATCH", 10)
    board = PackedHierarchy(ground(workshop(50), Limits()), library.ENTRIES, (counting := Counting()).check)
    asked = counting.asked
    NetworkProgression(board, 0, 1, 1)
    assert counting.asked - asked >= 2 * 50 // 10


@pytest.mark.parametrize(
    ("place", "name", "search"),
    [
        (htn.search.htn_incumbent, "validate", None),
        (htn.search.htn_incumbent, "validate", "greedy"),
        (htn.search.htn_incumbent, "plan_of", "greedy"),
        (htn.lifted.depth_first, "plan_by", "depth-first"),
    ],
)
def test_a_plan_that_was_found_is_not_lost_to_the_clock(
    monkeypatch: pytest.MonkeyPatch, place: object, name: str, search: str | None
) -> None:
    watchman, work = Watchman(), getattr(place, name)

    def late(*given: object) -> object:
        for _ in range(5):
            watchman.alarm(0, None)
        return work(*given)

    monkeypatch.setattr(place, name, late)
    with watchman.searching():
        result = solve(workshop(3), mode="first", search=search)
    assert result.plan is not None
    assert result.status in (Status.SOLVED, Status.OPTIMAL)


def test_what_takes_far_too_long_is_broken_off_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with interruptible() as watchman:

        def endless(*_: object) -> None:
            for _ in range(GRACE):
                watchman.alarm(0, None)
            watchman.alarm(0, None)
            watchman.alarm(0, None)
            raise AssertionError("the clock raises")

        monkeypatch.setattr(htn.search.htn_incumbent, "validate", endless)
        with watchman.searching(), pytest.raises(LimitReached) as ended:
            solve(workshop(3), mode="first")
    assert ended.value.stopped_by is StoppedBy.TIME


class Short:
    """A descent that ends at its third step."""

    is_straight = False

    def steps(self):
        yield
        yield
        return Ending.FIRST_PLAN


def ending_of(steps):
    try:
        while True:
            next(steps)
    except StopIteration as stop:
        return stop.value


@pytest.mark.parametrize("asked", [0, 1])
def test_a_descent_may_end_while_somebody_asks_the_budget(asked, monkeypatch):
    monkeypatch.setattr(htn.lifted.depth_first, "ALONE_SECONDS", 0.0)
    limits = LimitsWithDescent(Limits(), Short(), Run(), enough=False)
    steps = _continue_descent(limits)
    next(steps)
    for _ in range(asked):
        limits.check()
    assert ending_of(steps) is (Ending.INCOMPLETE if asked else Ending.FIRST_PLAN)
