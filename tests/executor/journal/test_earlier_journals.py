"""Journals of earlier versions open, and their unfinished runs go on."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from earlier_shop import GOALS, Bank, make_world

from executor import ActionResult, Executor, Journal, RunStatus, StepStatus, World
from planner import Domain, When, forbidden

DATA = Path(__file__).parent / "data"
STATUSES = {
    "succeeded": RunStatus.SUCCEEDED,
    "killed": RunStatus.ACTIVE,
    "waits-for-approval": RunStatus.WAITING,
    "in-doubt": RunStatus.IN_DOUBT,
    "failed": RunStatus.FAILED,
}
BEFORE = ("book o1", "pay o1", "archive o1", "book o2", "book o3", "pay o3", "book o4", "pay o4", "book o5", "pay o5")
"""What the world had seen when the journal was written, apart from the calls of the agent."""


@pytest.fixture
def journal(tmp_path):
    """A copy of the journal that commit 3c9c25d5 wrote."""
    with Journal(shutil.copy(DATA / "shop-3c9c25d5.db", tmp_path / "runs.db")) as opened:
        yield opened


def resume(journal, bank, run, answers=None):
    return asyncio.run(Executor(make_world(bank), journal, ask="later").resume(run, answers=answers))


def test_the_runs_of_an_earlier_journal_are_listed_with_their_statuses(journal):
    executor = Executor(make_world(Bank()), journal)
    runs = executor.runs()
    assert {name: runs[name].status for name in GOALS} == STATUSES
    assert executor.state_of("failed").steps["s2"].status is StepStatus.UNVERIFIED, "pay(o5) was done, and not seen"
    assert executor.state_of("in-doubt").open_questions.keys() == {"doubt:s2"}
    assert executor.state_of("waits-for-approval").open_questions.keys() == {"approve:s3"}


def test_the_calls_of_an_agent_stand_in_an_earlier_journal(journal):
    calls = [name for name in Executor(make_world(Bank()), journal).runs() if name not in GOALS]
    assert len(calls) == len({"book(o6)", "pay(o6)", "mail(o6)"})


@pytest.mark.parametrize("paid", [(), ("pay o2",)], ids=["died before it paid", "died after it paid"])
def test_an_earlier_run_that_was_killed_while_it_paid_pays_once(journal, paid):
    bank = Bank(*BEFORE, *paid)
    outcome = resume(journal, bank, "killed")
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert bank.acts.count("pay o2") == 1
    assert bank.acts.count("book o2") == 1


def test_an_earlier_run_that_waits_for_an_approval_goes_on_after_it(journal):
    bank = Bank(*BEFORE)
    outcome = resume(journal, bank, "waits-for-approval", {"approve:s3": "yes"})
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert bank.acts.count("mail o3") == 1
    assert bank.acts.count("pay o3") == 1


@pytest.mark.parametrize(("answer", "payments"), [("yes", 1), ("no", 2)])
def test_an_earlier_run_in_doubt_pays_again_only_if_somebody_says_that_it_did_not_happen(journal, answer, payments):
    bank = Bank(*BEFORE)
    outcome = resume(journal, bank, "in-doubt", {"doubt:s2": answer})
    assert outcome.status in {RunStatus.SUCCEEDED, RunStatus.UNVERIFIED}, outcome.reason
    assert bank.acts.count("pay o4") == payments
    assert bank.acts.count("archive o4") == 1


def test_what_was_paid_for_a_created_object_is_known_by_the_name_of_the_object(tmp_path):
    desk, bank = Domain("desk", types=["ticket"]), []
    desk.action("open", provides=["open(t)"], creates={"t": "ticket"}, tags=["trusted", "trusted_names"])
    desk.action("pay", {"t": "ticket"}, requires=["open(t)"], provides=["paid(t)"], tags=["irreversible"])
    desk.action("close", {"t": "ticket"}, requires=["paid(t)"], provides=["closed"], tags=["trusted"])
    world = World(desk)
    world.handler("open")(lambda: ActionResult(created={"t": "T1"}))
    world.handler("pay")(lambda t: bank.append(str(t)))
    world.handler("close")(lambda t: None)  # noqa: ARG005 - handlers take the action's parameters
    with Journal(tmp_path / "now.db") as now:
        assert asyncio.run(Executor(world, now).run(desk.problem(goal=["closed"]), run="r")).succeeded
        copy_as_earlier(now, tmp_path / "earlier.db")
    with Journal(tmp_path / "earlier.db") as earlier:
        problem = desk.problem(objects={"T1": "ticket"}, initial=["open(T1)"], goal=["paid(T1)"])
        assert asyncio.run(Executor(world, earlier).run(problem)).status is RunStatus.WAITING
    assert bank == ["T1"]


def copy_as_earlier(now, place):
    """Copy the run "r" of the journal `now` to a journal as there were before the ledger."""
    with Journal(place) as earlier:
        earlier.create("r")
        with earlier.drive("r"):
            for each in now.read("r"):
                told = json.loads(each.data) | ({"world": ""} if each.kind == "RunStarted" else {})  # it named no world
                earlier.append("r", each.kind, json.dumps(told))


def test_what_was_paid_for_all_objects_at_once_is_known_of_each_of_them(tmp_path):
    desk, bank = Domain("desk", types=["ticket"]), []
    desk.predicate("paid", "ticket")
    effect = When(requires=[], provides=["paid(t)"], variables={"t": "ticket"})
    desk.action("pay_all", {}, when=[effect], tags=["irreversible"])
    desk.action("pay", {"t": "ticket"}, provides=["paid(t)"], tags=["irreversible"])
    world = World(desk)
    world.handler("pay_all")(lambda: bank.append("all"))
    world.handler("pay")(lambda t: bank.append(str(t)))
    tickets = {"T1": "ticket", "T2": "ticket"}
    with Journal(tmp_path / "now.db") as now:
        goal = ["paid(T1)", "paid(T2)"]
        asyncio.run(Executor(world, now).run(desk.problem(objects=tickets, goal=goal), run="r"))
        copy_as_earlier(now, tmp_path / "earlier.db")
    with Journal(tmp_path / "earlier.db") as earlier:
        problem = desk.problem(objects={"T1": "ticket"}, goal=["paid(T1)"], constraints=[forbidden("pay_all")])
        assert asyncio.run(Executor(world, earlier).run(problem)).status is RunStatus.WAITING
    assert bank == ["all"]
