"""What names no objects is no answer of an observer of an open pattern: no fact holds by it, and none is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executor import Executor, Facts, RunStatus, World
from executor.testing import run_virtual
from planner import Domain


class Till:
    """A till whose observer of payments answers with `answer`; `bank` has the payments."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        domain = Domain("till", types=["order"])
        domain.action("pay", {"o": "order"}, provides=["paid(o)"], tags=["irreversible"])
        self.bank, self.world = list[str](), World(domain)
        self.world.handler("pay")(self.pay)
        self.world.observer("paid(_)", conclusive=True, settle_within=0)(answer)
        self.problem = domain.problem(objects={"o7": "order"}, goal=["paid(o7)"])

    def pay(self, o: str) -> None:
        self.bank.append(o)


@pytest.mark.parametrize(
    "answer",
    [
        {"o7": False},
        {"o7": True},
        {},
        b"o7",
        bytearray(b""),
        OSError("the bank does not answer"),
        [OSError("the bank does not answer")],
        [{"o7": False}],
        ["o7", None],
        [b"o7"],
    ],
    ids=repr,
)
def test_an_answer_that_names_no_objects_is_no_evidence(answer):
    till = Till(lambda: answer)
    for _ in range(2):
        outcome = run_virtual(Executor(till.world).run(till.problem))
        assert outcome.status in {RunStatus.UNVERIFIED, RunStatus.WAITING}
        assert "returned" in outcome.reason or outcome.questions
    assert till.bank == ["o7"]


@pytest.mark.parametrize("names", [["o7"], ("o7",), {"o7"}, {"o7": 1}.keys(), "o7"], ids=repr)
def test_an_answer_that_names_objects_is_evidence(names):
    till = Till(lambda: names)
    assert run_virtual(Executor(till.world).run(till.problem)).succeeded
    assert till.bank == []


def test_facts_say_of_each_whether_it_holds():
    till = Till(lambda: Facts({"paid(o7)": bool(till.bank)}))
    assert run_virtual(Executor(till.world).run(till.problem)).succeeded
    assert till.bank == ["o7"]
