"""A person who says that an irreversible step "is so already" is believed, whatever was tried and said before."""

from __future__ import annotations

from typing import Any

from executor import Executor, RunStatus, World
from executor.events.answers import NOTHING, SO, YES
from executor.testing import run_virtual
from planner import Domain


def test_the_later_word_of_a_person_counts(tmp_path):
    domain, paid = Domain("desk", types=["order"]), list[str]()
    domain.action("pay", {"o": "order"}, provides=["paid(o)"], tags=["irreversible", "needs_approval"])
    world = World(domain)

    @world.handler("pay")
    def pay(o):
        paid.append(o)
        raise TimeoutError("no answer of the bank")

    def answer(question: Any) -> str:
        if question.question.startswith("doubt"):
            return NOTHING
        if question.question.startswith("approve"):
            return SO if SO in question.choices else YES if not paid else "no"
        return question.choices[0]

    problem = domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])
    outcome = run_virtual(Executor(world, journal=tmp_path / "runs.db", ask=answer).run(problem))
    assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
