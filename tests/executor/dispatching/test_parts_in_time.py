"""Runs in time bind created objects, and refuse constraints: a step that is late would break them unseen."""

from __future__ import annotations

import pytest

from executor import ActionResult, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain, UnsupportedError, before, done


def test_a_created_object_gets_its_name_in_a_run_in_time() -> None:
    domain, closed = Domain("desk", types=["order", "ticket"]), list[str]()
    domain.action(
        "open_it",
        {"o": "order"},
        requires="pending(o)",
        provides=["about(k, o)", "not pending(o)"],
        creates={"k": "ticket"},
        duration=5,
        tags=["trusted"],
    )
    about = "(exists (?o - order) (about ?k ?o))"
    domain.action("close_it", {"k": "ticket"}, requires=about, provides="over", duration=3, tags=["trusted"])
    world = World(domain)
    world.handler("open_it")(lambda o: ActionResult(created={"k": f"T-{o}"}))

    @world.handler("close_it")
    def close_it(k: str) -> None:
        closed.append(k)

    problem = domain.problem(
        objects={"a": "order"}, initial=["pending(a)"], goal="over", due={"over": 60}, objective="makespan"
    )
    run = run_virtual(Executor(world).run(problem))
    assert (run.status, closed) == (RunStatus.SUCCEEDED, ["T-a"])


def test_constraints_are_refused_in_a_run_in_time() -> None:
    domain, log = Domain("desk"), list[str]()
    domain.action("approve", provides="approved", duration=5, tags=["trusted"])
    domain.action("pay", provides="paid", duration=1, tags=["trusted"])
    world = World(domain)
    world.handler("approve")(lambda: log.append("approve"))
    world.handler("pay")(lambda: log.append("pay"))
    problem = domain.problem(
        goal=["approved", "paid"], constraints=[before(done("approve"), done("pay"))], objective="makespan"
    )
    with pytest.raises(UnsupportedError, match="the constraint 'done approve before done pay' in a run in time"):
        run_virtual(Executor(world).run(problem))
    assert not log
