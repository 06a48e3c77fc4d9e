"""A new version of a domain takes up the runs of the old one: each change, state of the run and journal.

Whatever has changed, nothing is paid twice, no run is SUCCEEDED whose work is not done, and what does not fit makes the
run wait with a reason. A new change or state is one entry of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from domain_versions import CHANGES, OLD, WAS, Bank, Change, Version, state_problem

from executor import Executor, RunStatus, World
from executor.events.answers import HAPPENED
from executor.journal import open_journal
from executor.testing import run_virtual
from planner import Domain, Entity, load_domain, write_json, write_yaml
from planner.errors import InputError
from planner.model import DomainModel


async def leave_enqueued(executor: Executor, problem: Any, _: Bank) -> str:
    """Leave a run of which nothing is done."""
    return await executor.enqueue(problem, memory={"note": "rent"})


async def leave_asking(executor: Executor, problem: Any, _: Bank) -> str:
    """Leave a run that waits for the approval of its payment."""
    outcome = await executor.run(problem, memory={"note": "rent"})
    assert outcome.status is RunStatus.WAITING
    return outcome.run


async def leave_in_doubt(executor: Executor, problem: Any, bank: Bank) -> str:
    """Leave a run whose payment is in doubt: the bank has it, and gave no answer."""
    run, bank.fails = await leave_asking(executor, problem, bank), True
    outcome = await executor.resume(run, answers={"approve:s2": True})
    bank.fails = False
    assert outcome.status is RunStatus.IN_DOUBT
    return run


async def leave_done(executor: Executor, problem: Any, bank: Bank) -> str:
    """Leave a run that is over."""
    run = await leave_asking(executor, problem, bank)
    outcome = await executor.resume(run, answers={"approve:s2": True})
    assert outcome.status is RunStatus.UNVERIFIED, outcome  # nobody observes payments
    return run


STATES: dict[str, Callable[..., Any]] = {
    "enqueued": leave_enqueued,
    "asking": leave_asking,
    "in doubt": leave_in_doubt,
    "over": leave_done,
}


async def go_on(executor: Executor, run: str) -> Any:
    """Resume a run, and answer whatever it asks, until it asks no more."""
    outcome = await executor.resume(run)
    for _ in range(6):
        asked = {each.question: HAPPENED if HAPPENED in each.choices else True for each in outcome.questions}
        if not asked:
            return outcome
        outcome = await executor.resume(run, answers=asked)
    return outcome


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_new_version_takes_up_the_runs_of_the_old_one(place, change, state):
    wanted, bank = CHANGES[change], Bank()

    async def live() -> tuple[str, int]:
        with open_journal(place) as journal:
            world = OLD.make(bank)
            executor = Executor(world, journal=journal)
            run = await STATES[state](executor, state_problem(world), bank)
            return run, len(bank.checked)

    async def take_up(version: Version, run: str) -> Any:
        with open_journal(place) as journal:
            executor = Executor(version.make(bank), journal=journal)
            return await go_on(executor, run)

    run, before = run_virtual(live())
    if wanted.waits and (state != "over" or not wanted.reads):
        check_waiting(bank, wanted, lambda: run_virtual(take_up(wanted.new, run)))
        outcome = run_virtual(take_up(OLD, run))  # the version that it was made with goes on
    else:
        outcome = run_virtual(take_up(wanted.new, run))
    assert outcome.status is RunStatus.UNVERIFIED, outcome.reason
    assert bank.paid == ["b1"]
    assert bank.filed == ["b1"]
    assert len(bank.checked) == max(before, 1)


def check_waiting(bank: Bank, wanted: Change, take_up: Callable[[], Any]) -> None:
    """Assert that the run waits with a reason, and that nothing is done or undone meanwhile."""
    done = [*bank.paid], [*bank.filed]
    try:
        outcome = take_up()
    except InputError as error:
        reason = str(error)
    else:
        assert outcome.status in (RunStatus.WAITING, RunStatus.IN_DOUBT), outcome
        reason = outcome.reason
    assert wanted.waits in reason
    assert done == ([*bank.paid], [*bank.filed])


def test_the_ledger_knows_a_renamed_step_in_a_renamed_world(place):
    """What was paid under the old names is not paid again, unasked, under the new ones, by another run."""
    bank = Bank()
    was = {**WAS, "parameters": {"settle": {"note": "words"}}}
    new = Version(type="order", pay="settle", note="words", was=was)

    async def pay(world: World, note: str) -> Any:
        with open_journal(place) as journal:
            executor = Executor(world, journal=journal)
            outcome = await executor.run(state_problem(world), memory={note: "rent"}, join=False)
            approvals = {each.question: True for each in outcome.questions if not bank.paid}
            return await executor.resume(outcome.run, answers=approvals) if approvals else outcome

    assert run_virtual(pay(OLD.make(bank, "account 1"), "note")).status is RunStatus.UNVERIFIED
    bank.filed.clear()
    outcome = run_virtual(pay(new.make(bank, "account 7", was="account 1"), "words"))
    assert outcome.status is RunStatus.WAITING
    assert "pay(b1) was done" in str(outcome.questions[0].known)
    assert bank.paid == ["b1"]


@pytest.mark.parametrize(
    ("was", "words"),
    [
        ({"types": {"bill": "ordr"}}, "did you mean 'order'"),
        ({"actions": {"pay": "pay"}}, "declares the action 'pay'"),
        ({"actions": {"pays": "pay", "paid": 5}}, "is a text"),
        ({"parameters": {"pay": {"x": "oder"}}}, "no parameter 'oder'"),
        ({"parameters": {"pay": {"o": "o"}}}, "has a parameter 'o'"),
        ({"parameters": {"fax": {"x": "o"}}}, "no action 'fax'"),
        ({"predicates": {}}, "'was' has no 'predicates'"),
    ],
)
def test_an_earlier_name_that_fits_no_declaration_is_refused(was, words):
    def declare() -> DomainModel:
        domain = Domain("desk", types=["order"], was=was)
        domain.action("pay", {"o": "order"}, provides=["paid(o)"])
        return domain.model

    with pytest.raises(InputError, match=words):
        declare()


def test_earlier_names_are_read_and_written(tmp_path):
    class Order(Entity, was="Bill"):
        pass

    domain = Domain("desk", was={"actions": {"fax": None}, "parameters": {"pay": {"b": "o"}}})
    domain.action("pay", {"o": Order}, provides=["paid(o)"], was=["settle", "transfer"])
    domain.type("Desk", was="Table")
    for suffix, write in (("yaml", write_yaml), ("json", write_json)):
        file = tmp_path / f"desk.{suffix}"
        file.write_text(write(domain.model))
        assert load_domain(file).renames == domain.model.renames == Domain.of(domain.model).model.renames
    assert domain.model.renames.types == {"Bill": "Order", "Table": "Desk"}
    assert domain.model.renames.actions == {"fax": None, "settle": "pay", "transfer": "pay"}
