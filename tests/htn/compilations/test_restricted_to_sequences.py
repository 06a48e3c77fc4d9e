"""Sequences of whole steps are a restriction of plans in time: that there is none proves nothing."""

from __future__ import annotations

import pytest

from planner import Status, partial_order, read_documents, solve, validate
from planner.reuse.plan_cache import PlanCache

THROUGHOUT = """
domain: forge
actions:
  heat: {duration: "3..30", at_start: {provides: [hot]}, provides: ["not hot"]}
  bend: {throughout: [hot], provides: [bent], duration: 4}
tasks: {shape: {}}
methods:
  together: {task: shape, subtasks: [heat, bend], ordered: false}
---
problem: p
tasks: [shape]
goal: [bent]
objective: makespan
"""
AS_LONG_AS_NEEDED = """
domain: forge
functions: {coal: {parameters: {}, low: 0, high: 90}}
actions:
  dig: {duration: "2..40", modifies: ["coal += 3 * ?duration"]}
  melt: {requires: ["coal >= 9"], provides: [melted], duration: 5}
tasks: {make: {}}
methods:
  so: {task: make, subtasks: [dig, melt]}
---
problem: p
initial: ["coal = 0"]
tasks: [make]
goal: [melted]
objective: makespan
"""
WITHOUT_WAY = """
domain: forge
actions:
  heat: {duration: 3, requires: [lit], provides: [hot]}
tasks: {warm: {}}
methods:
  so: {task: warm, subtasks: [heat], ordered: false}
---
problem: p
tasks: [warm]
goal: [hot]
objective: makespan
"""
DEADLINE = """
domain: forge
actions:
  cast: {provides: [formed], cost: 2, duration: 6}
  file: {requires: [formed], provides: [made], cost: 1, duration: 5}
  buy: {provides: [made], cost: 20, duration: 1}
tasks: {get: {}}
methods:
  making: {task: get, subtasks: [cast, file]}
  buying: {task: get, subtasks: [buy]}
---
problem: p
tasks: [get]
goal: [made]
deadline: SECONDS
"""


def read(text: str):
    return read_documents(text).problems[0]


@pytest.mark.parametrize("text", [THROUGHOUT, AS_LONG_AS_NEEDED])
def test_no_sequence_is_no_proof_that_there_is_no_plan(text: str) -> None:
    result = solve(read(text), time_limit=30)
    assert result.status is not Status.UNSOLVABLE
    assert result.plan is not None or "sequence" in result.reason


def test_what_nothing_brings_about_is_proved_in_time_too() -> None:
    assert solve(read(WITHOUT_WAY), time_limit=30).status is Status.UNSOLVABLE


@pytest.mark.parametrize(("seconds", "cost"), [(30, 3), (9, 20)])
def test_a_deadline_leaves_the_cost_what_it_is(seconds: int, cost: int) -> None:
    problem = read(DEADLINE.replace("SECONDS", str(seconds)))
    result = solve(problem, time_limit=30)
    assert result.cost == cost
    assert validate(problem, result.expect_plan()).valid
    assert result.plan.makespan <= seconds
    assert result.lower_bound is None or result.lower_bound <= cost


def test_services_take_hierarchies() -> None:
    problem = read(DEADLINE.replace("SECONDS", "30"))
    cached = PlanCache().solve(problem, time_limit=30)
    assert validate(problem, cached.expect_plan().steps).valid
    assert {number for number, _ in partial_order(problem, cached.expect_plan())} == {1, 2}
