"""Limits count wall-clock time, or processor time within a multiple of wall-clock time."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from planner.limits import GENEROUS, LimitReached, Limits, count_processor_time


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
