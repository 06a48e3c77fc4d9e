"""Tasks that Python declares in time are the same as those of a document."""

from __future__ import annotations

import pytest

from htn.language.declare import Methods
from planner import Domain, load, solve, validate
from planner.errors import InputError

DOCUMENT = """
domain: bakery
types: {order: object}
actions:
  bake: {parameters: {o: order}, requires: ["warm"], provides: ["baked(o)"], duration: 30, holds: {oven: 1}}
  send: {parameters: {o: order}, requires: ["baked(o)", "open"], provides: ["sent(o)"], duration: 10}
tasks: {serve: {parameters: {o: order}}}
methods: {bake-it: {task: "serve(o)", parameters: {o: order}, subtasks: ["bake(o)", "send(o)"]}}
---
problem: today
domain: bakery
objects: {o7: order, o8: order}
tasks: {subtasks: ["serve(o7)", "serve(o8)"], ordered: false}
timed: {"8:05": ["warm"]}
windows: {open: "8:10..12:00"}
due: {"sent(o7)": {by: "8:06", weight: 2}}
capacity: {oven: 1}
starts_at: "2026-12-01T08:00+01:00"
objective: 4 * makespan + cost
deadline: "11:00"
"""


def declare(**changes):
    domain = Domain("bakery", types=["order"])
    domain.action("bake", {"o": "order"}, requires=["warm"], provides=["baked(o)"], duration=30, holds={"oven": 1})
    domain.action("send", {"o": "order"}, requires=["baked(o)", "open"], provides=["sent(o)"], duration=10)
    how = Methods(domain)
    how.task("serve", o="order")
    how.method("bake-it", {"o": "order"}, task="serve(o)", subtasks=["bake(o)", "send(o)"])
    given = {
        "timed": {"8:05": ["warm"]},
        "windows": {"open": "8:10..12:00"},
        "due": {"sent(o7)": {"by": "8:06", "weight": 2}},
        "capacity": {"oven": 1},
        "starts_at": "2026-12-01T08:00+01:00",
        "objective": "4 * makespan + cost",
        "deadline": "11:00",
        **changes,
    }
    orders = {"o7": "order", "o8": "order"}
    return how.problem("today", objects=orders, tasks=["serve(o7)", "serve(o8)"], ordered=False, **given)


def test_python_says_what_documents_say() -> None:
    (read, made) = load(DOCUMENT), declare()
    assert made.network == read.network
    for name in ("timed", "due", "capacity", "starts_at", "metric", "deadline", "initial", "values"):
        assert getattr(made.classical, name) == getattr(read.classical, name), name
    plan = solve(made, time_limit=10).expect_plan()
    assert validate(read, plan).valid
    assert min(time.start for time in plan.times) > 300


def test_mistakes_in_time_are_told_where_they_are() -> None:
    with pytest.raises(InputError, match="capacity"):
        declare(capacity={"oven": "many"})
    with pytest.raises(InputError, match="ends before it begins"):
        declare(windows={"open": "12:00..8:00"})
