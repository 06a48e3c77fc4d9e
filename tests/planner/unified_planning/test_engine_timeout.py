"""The engine's timeout includes the conversion of the problem."""

from __future__ import annotations

from typing import Any

import pytest
from unified_planning.shortcuts import BoolType, Fluent, InstantaneousAction, Problem

from planner.limits import Limits
from planner.plan import Result, Status, StoppedBy
from planner.unified_planning import engine


def lamp() -> Any:
    """Return the problem of switching on a lamp."""
    lit, switch, problem = Fluent("lit", BoolType()), InstantaneousAction("switch"), Problem("lamp")
    switch.add_effect(lit, True)
    problem.add_fluent(lit, default_initial_value=False)
    problem.add_action(switch)
    problem.add_goal(lit)
    return problem


def test_the_timeout_includes_the_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def note(_: Any, **options: Any) -> Result:
        given.append(options["time_limit"])
        return Result(Status.UNKNOWN, StoppedBy.TIME)

    monkeypatch.setattr(engine, "solve", note)
    monkeypatch.setattr(Limits, "elapsed", property(lambda _: 7.0))
    found = engine.ForethoughtEngine()._solve(lamp(), timeout=10)
    assert given == [3.0]
    assert found.status.name == "TIMEOUT"
