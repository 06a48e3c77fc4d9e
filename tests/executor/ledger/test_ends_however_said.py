"""A payment for what is in the end the same is not made in another way unasked, however the goal is said."""

from __future__ import annotations

from typing import Any

import pytest

from executor import Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain

GOALS: dict[str, Any] = {
    "fact": ["booked(o7)"],
    "exists": "(exists (?o - order) (booked ?o))",
    "closed": ["closed(o7)"],
    "condition": "(imply (urgent o7) (booked o7))",
    "all urgent": "(forall (?o - order) (imply (urgent ?o) (booked ?o)))",
    "derived": ["fine(o7)"],
    "both": ["booked(o7)", "closed(o7)"],
    "soft": {"hard": [], "soft": {"booked(o7)": 50}},
}


class Desk:
    """A desk that pays by card or by wire, and books it; payments are seen, and what is paid by card is not booked.

    A blind one sees nothing, and books all.
    """

    def __init__(self, *, is_blind: bool = False) -> None:
        domain = self.domain = Domain("desk", types=["order"])
        for way, cost in {"card": 1, "wire": 2}.items():
            domain.action(way, {"o": "order"}, provides=[f"paid_by_{way}(o)"], tags=["irreversible"], cost=cost)
            domain.action(f"book_{way}", {"o": "order"}, requires=[f"paid_by_{way}(o)"], provides=["booked(o)"])
        domain.action("close", {"o": "order"}, requires=["booked(o)"], provides=["closed(o)"])
        domain.derive("fine(o)", {"o": "order"}, "(or (booked ?o) (closed ?o))")
        domain.derive("open(o)", {"o": "order"}, "(not (booked ?o))")
        domain.predicate("urgent", "order")
        self.world, self.bank = World(domain), list[tuple[str, str]]()
        self.books = ["card", "wire"] if is_blind else ["wire"]
        for way in ("card", "wire"):
            self.world.handler(way)(lambda o, way=way: self.bank.append((way, o)))
            self.world.handler(f"book_{way}")(lambda way=way, **_: way in self.books)
            if is_blind:
                continue
            see = self.world.observer(f"paid_by_{way}(_)", conclusive=True, settle_within=0)
            see(lambda way=way: [o for by, o in self.bank if by == way])
        self.world.handler("close")(lambda **_: None)

    def ask(self, goal: Any, *others: str, **options: Any) -> Any:
        objects = dict.fromkeys(("o7", *others), "order")
        problem = self.domain.problem(objects=objects, initial=["urgent(o7)"], goal=goal)
        return run_virtual(Executor(self.world).run(problem, **options))


@pytest.mark.parametrize("second", list(GOALS))
@pytest.mark.parametrize("first", ["fact", "exists", "closed"])
def test_what_was_paid_for_one_goal_is_not_paid_in_another_way_for_the_same_end_unasked(first, second):
    desk = Desk()
    assert desk.ask(GOALS[first]).status is RunStatus.WAITING
    outcome = desk.ask(GOALS[second])
    assert outcome.status is RunStatus.WAITING
    assert "wire(o7) would be done in its place" in outcome.questions[0].text
    assert desk.bank == [("card", "o7")]


@pytest.mark.parametrize("second", list(GOALS))
def test_what_was_paid_for_one_goal_is_used_for_the_same_end(second):
    desk = Desk()
    desk.ask(GOALS["fact"])
    desk.books.append("card")
    assert desk.ask(GOALS[second]).status is RunStatus.UNVERIFIED
    assert desk.bank == [("card", "o7")]


def test_another_end_is_paid_for():
    desk = Desk()
    desk.ask(["booked(o7)"])
    problem = desk.domain.problem(objects={"o8": "order"}, goal=["paid_by_wire(o8)"])
    assert run_virtual(Executor(desk.world).run(problem)).succeeded
    assert desk.bank == [("card", "o7"), ("wire", "o8")]


WAYS: dict[str, tuple[list[str], str]] = {
    "of two facts": (
        ["paid_by_wire(o7)"],
        "(or (and (paid_by_card o7) (paid_by_card o8)) (and (paid_by_wire o7) (paid_by_wire o8)))",
    ),
    "of another object": (["paid_by_wire(o8)"], "(exists (?o - order) (and (paid_by_card ?o) (paid_by_wire ?o)))"),
    "its end": (["booked(o7)"], "(or (paid_by_wire o7) (and (booked o7) (closed o7)))"),
    "an end that follows": (["booked(o7)"], "(or (paid_by_wire o7) (and (not (open o7)) (closed o7)))"),
    "an end that followed": (["not open(o7)"], "(or (paid_by_wire o7) (and (booked o7) (closed o7)))"),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_a_payment_on_another_way_to_the_goal_is_asked_about(way):
    first, second = WAYS[way]
    desk = Desk(is_blind=True)
    assert desk.ask(first, "o8").status is RunStatus.UNVERIFIED
    paid = [*desk.bank]
    outcome = desk.ask(second, "o8")
    assert outcome.status is RunStatus.WAITING
    assert "is for the same, and it was done" in outcome.questions[0].text
    assert desk.bank == paid


def test_what_the_other_ways_need_too_is_no_other_way():
    desk = Desk(is_blind=True)
    desk.ask(["paid_by_wire(o8)"], "o8")
    both = "(and (paid_by_{0} o7) (paid_by_wire o8))"
    outcome = desk.ask(f"(or {both.format('card')} {both.format('wire')})", "o8")
    assert desk.bank == [("wire", "o8"), ("card", "o7")]
    assert [each.text for each in outcome.questions] == [
        "May wire(o8) be done? It was done, and no observer can say for sure that it is undone."
    ]
