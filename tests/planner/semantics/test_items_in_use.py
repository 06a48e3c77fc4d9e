"""Items that steps change, of which one pattern binds more arguments than another."""

from __future__ import annotations

import pytest

from planner import read_documents, solve, validate

TEXT = """
domain: shop
types: {car: object, bay: object}
actions:
  drive:
    parameters: {c: car, a: bay, b: bay}
    requires: ["at(c, a)"]
    provides: ["at(c, b)"]
    modifies: ["at(c, _)"]
    duration: 4
  paint:
    parameters: {c: car, a: bay}
    requires: ["at(c, a)"]
    provides: ["painted(c)"]
    modifies: [ITEM]
    duration: 7
---
problem: p
objects: {front: bay, back: bay, red: car}
initial: ["at(red, front)"]
goal: ["painted(red)", "at(red, back)"]
objective: makespan
"""


@pytest.mark.parametrize("item", ["at(c, a)", "at(_, a)", "at(_, _)", "at(c, _)"])
def test_no_step_changes_what_another_one_changes_meanwhile(item: str) -> None:
    provides = '["painted(c)"]' if item == "at(c, a)" else '["painted(c)", "at(c, a)"]'
    text = TEXT.replace('["painted(c)"]', provides).replace("ITEM", f'"{item}"')
    (problem,) = read_documents(text).problems
    result = solve(problem, mode="first", time_limit=30)
    plan = result.expect_plan()
    assert validate(problem, plan).valid
    first, second = sorted(plan.times, key=lambda each: each.start)
    assert first.end <= second.start
