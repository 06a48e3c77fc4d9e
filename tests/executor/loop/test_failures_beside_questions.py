"""A run in which one step waits for a person, and another one has failed for good, waits: it does not search on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from executor import Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain

MODELS = ("sequential", "parallel", "dag", "reactive", "timed")


class Desk:
    """A desk that pays two orders, and packs none; `bank` has the payments, which nobody can see."""

    def __init__(self, model: str) -> None:
        times: dict[str, Any] = {"duration": 1} if model == "timed" else {}
        ends: dict[str, Any] = {"deadline": 100, "objective": "makespan"} if model == "timed" else {}
        domain = Domain("desk", types=["order"])
        domain.action("pay", {"o": "order"}, provides=["paid(o)"], tags=["irreversible"], **times)
        domain.action("pack", {"o": "order"}, requires=["paid(o)"], provides=["packed(o)"], **times)
        world, self.bank = World(domain), list[str]()
        world.handler("pay")(self.pay)
        world.handler("pack")(lambda **_: False)
        goal = ["packed(o7)", "packed(o8)"]
        self.problem = domain.problem(objects={"o7": "order", "o8": "order"}, goal=goal, **ends)
        self.executor = Executor(world, **({} if model == "timed" else {"model": model}))

    def pay(self, o: str) -> None:
        self.bank.append(o)


@pytest.mark.parametrize("answer", ["no", "yes"])
@pytest.mark.parametrize("model", MODELS)
def test_a_run_waits_for_the_answer_beside_a_failure(model, answer):
    desk = Desk(model)
    run_virtual(desk.executor.run(desk.problem, join=False))
    assert len(desk.bank) == 1

    async def ask() -> Any:
        return await asyncio.wait_for(desk.executor.run(desk.problem, join=False), 60)

    outcome = run_virtual(ask())
    assert outcome.status is RunStatus.WAITING
    assert len(outcome.recovery) < 10
    assert sorted(desk.bank) == ["o7", "o8"]
    (question,) = outcome.questions
    last = run_virtual(desk.executor.resume(outcome.run, answers={question.question: answer}))
    assert last.status is RunStatus.FAILED
    assert sorted(desk.bank) == ["o7", "o8"]  # nobody pays again for a goal that is lost
