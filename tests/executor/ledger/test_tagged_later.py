"""What was done of an action that only a later version of the domain calls irreversible is in the ledger."""

from __future__ import annotations

import asyncio
from typing import Any

from executor import Executor, RunOutcome, RunStatus, World
from executor.executor import fill_ledger
from executor.journal import open_journal
from planner import Domain

FIRST: dict[str, list[str]] = {"pay": []}
LATER = {"pay": ["irreversible"]}


class Desk:
    """A desk that pays for orders; a version of its domain has its actions, each with its tags."""

    def __init__(self, place: Any) -> None:
        self.place, self.bank, self.fault = place, list[str](), ""

    def ask(self, actions: dict[str, list[str]], order: str = "o7", was: Any = None, **options: Any) -> RunOutcome:
        with open_journal(self.place) as journal:
            executor = Executor(self.make_world(actions, was), journal)
            problem = executor.world.domain.problem(objects={order: "order"}, goal=[f"paid({order})"])
            return asyncio.run(executor.run(problem, join=False, **options))

    def make_world(self, actions: dict[str, list[str]], was: Any = None) -> World:
        domain = Domain("desk", types=["order"], was=was or {})
        for name, tags in actions.items():
            domain.action(name, {"o": "order"}, provides=["paid(o)"], tags=tags)
        world = World(domain)
        for name in actions:
            world.handler(name)(self.pay)
        return world

    def pay(self, o: str) -> None:
        self.bank.append(str(o))
        if self.fault:
            raise ConnectionError(self.fault)


def test_what_was_done_before_the_tag_is_asked_about(place):
    desk = Desk(place)
    assert desk.ask(FIRST).status is RunStatus.UNVERIFIED
    outcome = desk.ask(LATER)
    assert outcome.status is RunStatus.WAITING
    assert "was done" in outcome.questions[0].text
    assert desk.ask(LATER, "o8").status is RunStatus.UNVERIFIED
    assert desk.bank == ["o7", "o8"]


def test_so_is_what_was_done_under_an_earlier_name_and_for_an_occasion(place):
    desk = Desk(place)
    desk.ask(FIRST, occasion="May")
    new, was = {"send": ["irreversible"]}, {"actions": {"pay": "send"}}
    assert desk.ask(new, was=was, occasion="May").status is RunStatus.WAITING
    assert desk.ask(new, was=was, occasion="June").status is RunStatus.UNVERIFIED
    assert desk.bank == ["o7", "o7"]


def test_what_failed_before_the_tag_is_in_doubt(place):
    desk = Desk(place)
    desk.fault = "the line is dead"
    assert desk.ask(FIRST).status is RunStatus.FAILED
    desk.fault = ""
    paid = [*desk.bank]
    outcome = desk.ask(LATER)
    assert (outcome.status, outcome.questions[0].question.split(":")[0]) == (RunStatus.WAITING, "flight")
    assert desk.bank == paid


def test_a_tag_that_comes_and_goes_hides_nothing(place):
    desk = Desk(place)
    for number, tags in enumerate((LATER, FIRST, LATER, FIRST, LATER)):
        assert desk.ask(tags, f"o{number}").status is RunStatus.UNVERIFIED
    for number in range(5):
        assert desk.ask(LATER, f"o{number}").status is RunStatus.WAITING
    with open_journal(place) as journal:
        done = [each.text for each in journal.ledger.entries()]
    assert done == [f"pay(o{number})" for number in range(5)]


def test_runs_are_read_only_for_actions_that_could_be_taken_back_before(place, monkeypatch):
    desk = Desk(place)
    desk.ask(LATER)
    new = desk.make_world({**LATER, "send": ["irreversible"]})
    with open_journal(place) as journal:
        monkeypatch.setattr(type(journal), "read", None)
        fill_ledger(journal, new.model, "desk", ["desk"])
        assert "desk\nsend" in journal.ledger.list_filled()
