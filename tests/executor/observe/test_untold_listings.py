"""A goal about all objects is seen to be reached only where somebody has told all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from executor import CANNOT_SAY, Executor, RunStatus, World
from executor.testing import run_virtual
from planner import Domain


def fail() -> Any:
    raise RuntimeError("the desk is closed")


ANSWERS: dict[str, tuple[Callable[[], Any], bool, bool]] = {
    "lists all": (list, True, True),
    "raises": (fail, True, False),
    "cannot say": (lambda: CANNOT_SAY, True, False),
    "returns no objects": (lambda: [object()], True, False),
    "lists some": (list, False, False),
}
"""What an observer does, whether it is conclusive, and whether all orders are known by that."""
GOALS = {
    "for all": "(forall (?o - order) (imply (pending ?o) (handled ?o)))",
    "none": "(forall (?o - order) (not (pending ?o)))",
    "there is none": "(not (exists (?o - order) (and (pending ?o) (not (handled ?o)))))",
    "derived": "(forall (?o - order) (not (open ?o)))",
    "each order has one": "(forall (?o - order) (imply (exists (?d - desk) (at ?o ?d)) (handled ?o)))",
}
"""Goals that an order which nobody has told of might break."""


def run(observe: Callable[[], Any], goal: str, *, conclusive: bool) -> Any:
    domain = Domain("desk", types=["order", "desk"])
    domain.predicate("at", "order", "desk")
    domain.action("handle", {"o": "order"}, requires=["pending(o)"], provides=["handled(o)"])
    domain.derive("open(o)", {"o": "order"}, "pending(o)")
    world = World(domain)
    world.handler("handle")(lambda **_: None)
    world.observer("handled(_)", conclusive=True, settle_within=0)(list)
    watched = "at(_, _)" if "at " in goal else "pending(_)"
    world.observer(watched, conclusive=conclusive, settle_within=0 if conclusive else None)(observe)
    problem = domain.problem(objects={"d1": "desk"}, goal=[goal])
    return run_virtual(Executor(world).run(problem))


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("how", ANSWERS)
def test_a_goal_about_all_orders_needs_somebody_who_tells_all(how, goal):
    observe, conclusive, is_told = ANSWERS[how]
    outcome = run(observe, GOALS[goal], conclusive=conclusive)
    assert outcome.status is (RunStatus.SUCCEEDED if is_told else RunStatus.UNVERIFIED), outcome.reason
    assert is_told or "nobody has told which" in outcome.reason
