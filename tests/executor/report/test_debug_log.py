"""The log at DEBUG tells what was resolved, looked at and begun, and never what belongs to a run alone."""

from __future__ import annotations

import logging

import pytest

from executor import ActionResult, Executor, World
from executor.testing import run_virtual
from planner import Domain


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_the_log_tells_what_a_run_does(level, caplog):
    domain = Domain("bank", types=["order"])
    domain.action("read", {"o": "order"}, provides=["read(o)"])
    domain.action("pay", {"o": "order", "amount": int}, requires=["read(o)"], provides=["paid(o)"])
    world, done = World(domain), set()
    world.handler("read")(lambda context, **_: ActionResult(values={"amount": len(context.deps)}))
    world.handler("pay")(lambda o, amount: done.add((o, amount)))
    world.observer("paid(_)", conclusive=True)(lambda: [o for o, _ in done])
    world.observer("read(_)")(lambda: ["o7"])
    problem = domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
    with caplog.at_level(level, "executor"):
        outcome = run_virtual(Executor(world).run(problem, deps="secret"))
    assert outcome.succeeded
    told = [each.getMessage() for each in caplog.records]
    wanted = [
        f"run {outcome.run}: bank: 2 steps, sequential",
        "s2 pay(o7): running, handler main",
        "(amount=6 (memory))",
        "looked at paid(_): paid(o7), no other paid(_)",
        "s2 pay(o7): succeeded",
    ]
    assert [any(each in line for line in told) for each in wanted] == [level == logging.DEBUG] * len(wanted), told
    assert not any("secret" in line for line in told)
