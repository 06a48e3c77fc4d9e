"""Under tasks, plans choose the durations that effects depend on, as they do without tasks."""

from __future__ import annotations

import pytest

from planner import Problem, Status, mend, partial_order, read_documents, solve, validate
from planner.lightweight import replace

DOMAIN = """
domain: batteries
types: {battery: object}
functions: {level: {parameters: {b: battery}, low: 0, high: 50}}
actions:
  charge: {parameters: {b: battery}, duration: "1..20", modifies: ["level(b) += 2 * ?duration"]}
  work: {parameters: {b: battery}, requires: ["level(b) >= 4"], provides: ["made(b)"], duration: 3}
tasks: {do: {parameters: {b: battery}}}
methods:
  so: {task: do(b), parameters: {b: battery}, subtasks: [charge(b), work(b)]}
---
problem: p
objects: {one: battery, other: battery}
initial: ["level(one) = 0", "level(other) = 1"]
tasks: TASKS
objective: makespan
"""


def declare(text: str) -> Problem:
    return read_documents(text).problems[0]


@pytest.mark.parametrize(
    ("tasks", "makespan"),
    [("[do(one)]", "5.001"), ("[do(other)]", "4.501"), ("[do(one), do(other)]", "9.502"), ("[charge(one)]", "1")],
)
def test_durations_are_just_enough_for_the_tasks(tasks: str, makespan: str) -> None:
    problem = declare(DOMAIN.replace("TASKS", tasks))
    found = solve(problem, time_limit=20)
    assert found.status is Status.SOLVED, "other durations were not tried: nothing is proved"
    assert found.plan is not None
    assert validate(problem, found.plan).valid
    assert str(found.plan.makespan) == makespan
    assert {step.action for step in found.plan.steps} <= {"charge", "work"}


def test_that_no_useful_duration_is_enough_is_no_proof() -> None:
    problem = declare(DOMAIN.replace("TASKS", "[do(one)]").replace(">= 4", ">= 60"))
    assert solve(problem, time_limit=20).status is not Status.OPTIMAL


@pytest.mark.parametrize("requires", ["level(b) >= 0", "not made(b)"])
def test_plans_are_verified_where_methods_have_conditions(requires: str) -> None:
    text = DOMAIN.replace("TASKS", "[do(one), do(other)]").replace(
        "subtasks: [", f"requires: ['{requires}'], subtasks: ["
    )
    problem = declare(text)
    plan = solve(problem, time_limit=20).expect_plan()
    verdict = validate(problem, plan)
    assert verdict.valid, verdict.reason
    assert str(plan.makespan) == "9.502"
    short = replace(plan, times=(replace(plan.times[0], duration=1), *plan.times[1:]))
    assert not validate(problem, short).valid
    assert len(partial_order(problem, plan).nodes) == 8
    assert mend(problem, plan, time_limit=20).plan is not None
