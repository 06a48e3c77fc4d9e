"""Who has said what became of an attempt is not asked about it again; numbers that are reached are already so."""

from __future__ import annotations

import asyncio

import pytest

from executor import ExecutionPolicy, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain


class Till:
    """A till that adds 5 to what was spent; the first payment raises, and nobody sees it on the account."""

    def __init__(self, *, raises: bool, seen: bool = True) -> None:
        self.domain, self.bank, self.raises = Domain("till"), [], raises
        self.domain.function("spent")
        self.domain.action("pay", {}, modifies=["spent += 5"], tags=["irreversible"])
        self.world = World(self.domain)
        self.world.handler("pay")(self.pay)
        if seen:
            see = self.world.observer("spent", conclusive=True, settle_within=0)
            see(lambda: 0 if raises else 5 * len(self.bank))

    async def pay(self) -> None:
        await asyncio.sleep(1)
        self.bank.append("pay")
        if self.raises and len(self.bank) == 1:
            raise ConnectionError("reset")

    def problem(self, amount: int):
        return self.domain.problem(initial=["spent = 0"], goal=[f"spent >= {amount}"])


def test_a_run_that_was_told_that_it_happened_does_not_ask_whether_to_repeat_it(tmp_path):
    till = Till(raises=True)
    executor = Executor(till.world, tmp_path / "runs.db")
    run_virtual(executor.run(till.problem(5), run="a"))
    [question] = run_virtual(executor.run(till.problem(5), run="b")).questions
    outcome = run_virtual(executor.resume("b", answers={question.question: "it happened"}))
    assert (outcome.status, outcome.questions) == (RunStatus.FAILED, ())
    assert till.bank == ["pay"]


@pytest.mark.parametrize("amounts", [(5, 5, 5), (5, 5, 4)])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_number_that_another_request_has_reached_is_not_changed_again(at_once, amounts, tmp_path):
    till = Till(raises=False)

    async def main():
        executor = Executor(till.world, tmp_path / "runs.db")
        asked = [executor.run(till.problem(each), join=False) for each in amounts]
        return await asyncio.gather(*asked) if at_once else [await each for each in asked]

    assert [each.status for each in run_virtual(main())] == [RunStatus.SUCCEEDED] * 3
    assert till.bank == ["pay"]


@pytest.mark.parametrize("seen", [True, False])
def test_more_of_a_number_is_asked_where_it_was_changed_before(seen, tmp_path):
    till = Till(raises=False, seen=seen)
    executor = Executor(till.world, tmp_path / "runs.db")
    told = [run_virtual(executor.run(till.problem(each), join=False)).status for each in (5, 10)]
    assert told == [RunStatus.SUCCEEDED if seen else RunStatus.UNVERIFIED, RunStatus.WAITING]
    assert till.bank == ["pay"]


@pytest.mark.parametrize("calls_off", [True, False])
@pytest.mark.parametrize("said", ["it happened", "it did not happen"])
def test_what_the_run_itself_is_told_answers_the_others_when_they_are_taken_up(said, calls_off, tmp_path):
    shop, bank = Domain("shop"), []
    shop.action("pay", {}, provides=["paid"], tags=["irreversible", "trusted"])
    world = World(shop)

    @world.handler("pay")
    def pay():
        if said == "it happened" or bank == ["tried"]:
            bank.append("paid")
        if len(bank) < 2 and "tried" not in bank:
            bank.insert(0, "tried")
            raise ConnectionError("reset")

    problem, place = shop.problem(goal=["paid"]), tmp_path / "runs.db"
    world.policy("pay", ExecutionPolicy(on_error="abort" if calls_off else "patch"))
    [own] = run_virtual(Executor(world, place).run(problem, run="a")).questions
    [other] = run_virtual(Executor(world, place).run(problem, run="b", join=False)).questions
    assert (own.question, other.question.split(":")[0]) == ("doubt:s1", "flight")
    run_virtual(Executor(world, place).resume("a", answers={own.question: said}))
    outcome = run_virtual(Executor(world, place).resume("b"))
    assert outcome.questions == ()
    assert bank == ["tried", "paid"]
