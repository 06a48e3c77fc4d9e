"""What is written in HDDL has the optimum of the problem: with durations, windows, capacities, numbers, deadlines."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from htn.language.hddl import parse_domain, parse_problem, write
from htn.model import HtnProblem
from planner import Status, read_documents, solve
from planner.errors import UnsupportedError
from planner.model import Problem
from planner.semantics.durations import SEPARATION


def drawn(seed: int) -> HtnProblem:
    """Draw a small problem with tasks: two items are made, slowly or quickly."""
    random = Random(seed)
    is_timed = random.random() < 0.8
    item = {"parameters": {"x": "item"}}
    actions: dict[str, dict[str, Any]] = {
        "prep": {**item, "requires": ["raw(x)"], "provides": ["prepped(x)", "not raw(x)"]},
        "finish": {**item, "requires": ["prepped(x)"], "provides": ["made(x)"]},
        "rush": {**item, "requires": ["raw(x)"], "provides": ["made(x)", "not raw(x)"], "cost": random.choice([1, 3])},
    }
    lasting: dict[str, list[Any]] = {"prep": [2, 4, "size(x)", "1..3"], "finish": [1, 3], "rush": [3, 5, 8]}
    for name, durations in lasting.items():
        if is_timed or random.random() < 0.5:
            actions[name]["duration"] = random.choice(durations)
    methods: dict[str, dict[str, Any]] = {
        "slowly": {**item, "task": "make(x)", "subtasks": ["prep(x)", "finish(x)"]},
        "quickly": {**item, "task": "make(x)", "subtasks": ["rush(x)"]},
        "both": {"task": "all", "subtasks": ["make(a)", "make(b)"], "ordered": random.random() < 0.6},
    }
    functions: dict[str, Any] = {"size": item}
    values = {"size(a)": random.choice([1, 2]), "size(b)": random.choice([1, 3])}
    goal, problem = random.choice([[], ["made(a)"]]), dict[str, Any]()
    if is_timed and random.random() < 0.4:
        actions["finish"]["throughout"] = ["open"]
        problem["windows"] = {"open": random.choice([["0:00:02", "0:00:20"], ["0:00:03", "0:00:08"]])}
    if is_timed and random.random() < 0.4:
        actions["prep"]["holds"] = {"worker": 1}
        problem["capacity"] = {"worker": random.choice([1, 2])}
    if random.random() < 0.3:
        functions["level"] = {"parameters": {}, "low": 0, "high": random.choice([3, 6, 50])}
        values["level"] = random.choice([0, 2])
        change = random.choice(["level += ?duration", "level += 2 * ?duration"]) if is_timed else "level += 2"
        actions["charge"] = {"modifies": [change], **({"duration": random.choice(["1..4", 3])} if is_timed else {})}
        actions["finish"]["requires"].append("level >= 2")
        actions["finish"]["modifies"] = random.choice([["level -= 1"], []])
        methods["slowly"]["subtasks"] = ["charge", "prep(x)", "finish(x)"]
        methods["slowly"]["ordered"] = random.random() < 0.5
    if is_timed and random.random() < 0.4:
        problem["deadline"] = random.choice([5, 9, 14])
    if random.random() < 0.2:
        actions["prep"]["when"] = [{"requires": ["made(a)"], "provides": ["late(x)"]}]
        goal = [*goal, "not late(b)"]
    if is_timed and random.random() < 0.7:
        problem["objective"] = random.choice(["makespan", "makespan", "makespan + cost"])
    domain = {
        "domain": "lab",
        "types": {"item": "object"},
        "constants": {"a": "item", "b": "item"},
        "predicates": {"late": item},
        "functions": functions,
        "actions": actions,
        "tasks": {"make": item, "all": {}},
        "methods": methods,
    }
    stated = {"initial": ["raw(a)", "raw(b)"], "values": values, "goal": goal, "tasks": ["all"]}
    documents = [domain, {"problem": "p", "domain": "lab", **stated, **problem}]
    (found,) = read_documents(json.dumps(documents)).problems
    assert isinstance(found, HtnProblem)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_what_is_written_has_the_same_optimum(seed: int) -> None:
    problem = drawn(seed)
    files = write(problem)
    back = parse_problem(files["problem.hddl"], parse_domain(files["domain.hddl"]))
    own, other = (solve(each, time_limit=20) for each in (problem, back))
    assert own.has_plan == other.has_plan, (own.reason, other.reason)
    proved = {Status.OPTIMAL, Status.UNSOLVABLE}
    assert own.status is other.status or not {own.status, other.status} <= proved
    if own.plan is not None and other.plan is not None:
        later = other.plan.cost - own.plan.cost
        is_shared = any(amount > 1 for amount in problem.classical.capacity.values())
        assert later == 0 or (is_shared and 0 < later <= 3 * SEPARATION), (own.plan.cost, other.plan.cost)


SPAN = """\
domain: lab
types: {item: object}
actions:
  prep: {parameters: {x: item}, requires: ["raw(x)"], provides: ["prepped(x)", "not raw(x)"], duration: 4}
  finish: {parameters: {x: item}, requires: ["prepped(x)"], provides: ["made(x)"], duration: 3}
  rush: {parameters: {x: item}, requires: ["raw(x)"], provides: ["made(x)", "not raw(x)"], cost: 3, duration: 5}
---
problem: p
objects: {a: item, b: item}
initial: ["raw(a)", "raw(b)"]
goal: ["made(a)", "made(b)"]
"""


@pytest.mark.parametrize("asked", ["objective: makespan", "objective: makespan + cost", "deadline: 9"])
def test_a_classical_problem_in_time_is_refused_with_a_way_round(asked: str) -> None:
    """Tasks that follow from actions come one after another: of two rushes at once, 5 s, they made 10 s."""
    (problem,) = read_documents(SPAN + asked).problems
    assert isinstance(problem, Problem)
    with pytest.raises(UnsupportedError, match=r"'p' in time, in HDDL, with tasks that follow from.*--to pddl"):
        write(problem)


def test_durations_without_a_demand_on_time_are_no_reason_to_refuse() -> None:
    (problem,) = read_documents(SPAN).problems
    files = write(problem)
    back = parse_problem(files["problem.hddl"], parse_domain(files["domain.hddl"]))
    own, other = (solve(each, time_limit=20) for each in (problem, back))
    assert (own.status, own.cost) == (other.status, other.cost) == (Status.OPTIMAL, 4)


BUDGET = """\
domain: d
actions:
  slow: {provides: [made], duration: 6, uses: {gas: 1}}
  fast: {provides: [made], duration: 2, uses: {gas: 5}}
tasks: {make: {}}
methods:
  slowly: {task: make, subtasks: [slow]}
  quickly: {task: make, subtasks: [fast]}
---
problem: p
tasks: [make]
objective: makespan
budgets: {gas: LIMIT}
"""


@pytest.mark.parametrize(("limit", "expected"), [(0, None), (3, "slow"), (5, "fast")])
def test_budgets_of_tasks_in_time_are_kept(limit: int, expected: str | None) -> None:
    """They were dropped in silence, so that a plan of the text could use any amount."""
    (problem,) = read_documents(BUDGET.replace("LIMIT", str(limit))).problems
    assert isinstance(problem, HtnProblem)
    files = write(problem)
    plan = solve(parse_problem(files["problem.hddl"], parse_domain(files["domain.hddl"])), time_limit=20).plan
    assert [step.action for step in plan.steps] == [expected] if plan else expected is None
