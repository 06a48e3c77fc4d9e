"""Limits count wall-clock time, or processor time within a multiple of wall-clock time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

from planner import Domain, Outcome, decide, solve
from planner.limits import (
    GENEROUS,
    Finishing,
    LimitReached,
    Limits,
    Stop,
    count_processor_time,
    enforce,
    look,
    read_clock,
)
from planner.plan import Result, Status, StoppedBy
from planner.portfolio.portfolio import run_portfolio
from planner.reuse.plan_cache import PlanCache
from planner.topk.diverse import select_diverse


@dataclass
class Clocks:
    """The times of the processor and of the wall."""

    at_work: float = 100.0
    wall: float = 1000.0

    def let_pass(self, wall: float, at_work: float) -> None:
        self.wall += wall
        self.at_work += at_work


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(time, "thread_time", lambda: made.at_work)
    monkeypatch.setattr(time, "monotonic", lambda: made.wall)
    return made


def test_limits_in_force_do_not_interrupt_the_check_of_a_plan() -> None:
    cancelled = threading.Event()
    cancelled.set()
    with enforce(Limits(cancel=cancelled)):
        with Finishing():
            look()
        with pytest.raises(LimitReached):
            look()


@pytest.mark.parametrize("ending", ["itself", "the outer event", "the condition"])
def test_a_stop_is_set_by_itself_by_an_outer_event_and_by_a_condition(ending: str) -> None:
    outer, over = threading.Event(), list[bool]()
    stop = Stop(outer, lambda: bool(over))
    assert not stop.is_set()
    {"itself": stop.set, "the outer event": outer.set, "the condition": lambda: over.append(True)}[ending]()
    assert stop.is_set()
    assert stop.is_reached == (ending == "itself")


def test_limits_count_wall_clock_time(clocks: Clocks) -> None:
    limits = Limits(10.0)
    clocks.let_pass(wall=10, at_work=1)
    with pytest.raises(LimitReached):
        limits.check()


def test_processor_time_is_counted_while_others_keep_the_processor_busy(clocks: Clocks) -> None:
    with count_processor_time():
        limits = Limits(10.0)
        clocks.let_pass(wall=30, at_work=9)
        limits.check()
        assert limits.remaining == pytest.approx(1)
        clocks.let_pass(wall=2, at_work=1)
        with pytest.raises(LimitReached):
            limits.check()


def test_work_that_only_waits_ends_after_a_multiple_of_its_time(clocks: Clocks) -> None:
    with count_processor_time():
        limits = Limits(10.0)
        clocks.let_pass(wall=10 * GENEROUS - 1, at_work=0)
        limits.check()
        clocks.let_pass(wall=1, at_work=0)
        with pytest.raises(LimitReached):
            limits.check()


def test_limits_count_wall_clock_time_again_afterwards(clocks: Clocks) -> None:
    with count_processor_time():
        clocks.let_pass(wall=5, at_work=1)
    limits = Limits(10.0)
    clocks.let_pass(wall=10, at_work=0)
    assert limits.remaining == 0


COIN = Domain("coin")
COIN.action("toss", outcomes=[Outcome("0.5", ["up"]), Outcome("0.5", [])])


def test_searches_for_policies_by_plans_count_processor_time(clocks: Clocks, monkeypatch: pytest.MonkeyPatch) -> None:
    def search_beside_others(*given: Any) -> Any:
        clocks.let_pass(wall=30, at_work=1)
        return run_portfolio(*given)

    monkeypatch.setattr("planner.policies.replanning.run_portfolio", search_beside_others)
    with count_processor_time():
        found = decide(COIN.problem(goal=["up"]), search="plans", time_limit=60)
    assert found.has_policy


def test_the_choice_of_diverse_plans_counts_processor_time(clocks: Clocks) -> None:
    with count_processor_time():
        until = read_clock() + 10
        clocks.let_pass(wall=30, at_work=1)
        taken, is_late = select_diverse([Counter(["a"]), Counter(["b"]), Counter(["c"])], 3, Fraction(0), until)
    assert (len(taken), is_late) == (3, False)


def test_a_cached_plan_remembers_the_processor_time_of_its_search(
    clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search_beside_others(problem: Any, **_: Any) -> Result:
        clocks.let_pass(wall=30, at_work=6)
        found = solve(problem)
        return replace(found, status=Status.SOLVED, stopped_by=StoppedBy.TIME)

    monkeypatch.setattr("planner.reuse.plan_cache.solve", search_beside_others)
    road, cache = Domain("road"), PlanCache()
    road.action("walk", provides=["there"])
    with count_processor_time():
        cache.solve(road.problem(goal=["there"]), time_limit=30)
        cache.solve(road.problem(goal=["there"]), time_limit=30)
    assert cache.savings.misses == 2
