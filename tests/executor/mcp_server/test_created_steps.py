"""Steps that a tool returned are taken by the others, also where they name objects that actions create."""

from __future__ import annotations

import pytest

from executor.mcp_server import tool_data
from executor.mcp_server.planning_tools import PlanningTools
from planner import PlanError
from planner.language.loading.load import open_source
from planner.limits import Limits

TICKETS = """
domain: desk
types: {ticket: object}
actions:
  open: {provides: ["about(t)"], creates: {t: ticket}}
  close: {parameters: {t: ticket}, requires: ["about(t)"], provides: ["closed(t)"]}
---
problem: p
goal: "(exists (?t - ticket) (closed ?t))"
"""


def test_steps_with_created_objects_are_taken_again() -> None:
    tools, given = PlanningTools(open_source(TICKETS)), tool_data.Given()
    steps = [each.model_dump() for each in tools.plan(given, Limits(20)).steps]
    assert [each["action"] for each in steps] == ["open", "close"]
    verdict = tools.validate(given, Limits(20), steps)
    assert verdict.valid
    assert verdict.cost == 2
    assert "needed by" in tools.explain(given, Limits(20), steps).text
    assert tools.repair(given, Limits(20), steps).status in {"VALID", "MENDED", "OPTIMAL"}


def test_objects_that_no_step_before_creates_are_unknown() -> None:
    tools, given = PlanningTools(open_source(TICKETS)), tool_data.Given()
    with pytest.raises(PlanError, match="there is no object 'paper'"):
        tools.validate(given, Limits(20), ["close(paper)", "open(paper)"])
    assert tools.validate(given, Limits(20), ["open(paper)", "close(paper)"]).valid
