"""Policies for problems whose actions create objects."""

from __future__ import annotations

import pytest

from planner import Domain, Status, decide, evaluate, executions
from planner.policies.policy import Policy


def make_desk(*, cost: int = 10, tickets: int = 1):
    """Return a problem in which tickets that are filed may get lost, and one may go to the desk instead."""
    domain = Domain("desk", types=["ticket"])
    domain.predicate("open", "ticket")
    domain.action("file", creates={"t": "ticket"}, provides="open(t)")
    domain.action("answer", {"t": "ticket"}, requires="open(t)", provides=["answered(t)", "not open(t)"], risk="0.5")
    domain.action("go", provides="settled", cost=cost)
    names = [f"?t{number}" for number in range(tickets)]
    apart = [f"(not (= {one} {other}))" for place, one in enumerate(names) for other in names[:place]]
    answered = " ".join([f"(answered {name})" for name in names] + apart)
    some = f"(exists ({' '.join(names)} - ticket) (and {answered}))"
    return domain.problem(goal=[f"(or (settled) {some})"])


@pytest.mark.parametrize("search", [None, "lao", "mcts"])
def test_a_created_object_is_used(search) -> None:
    problem = make_desk()
    found = decide(problem, search=search)
    assert found.status in ((Status.OPTIMAL,) if search != "mcts" else (Status.OPTIMAL, Status.SOLVED))
    policy = found.policy
    assert (policy.success, policy.cost) == (1, 3)
    assert found.validated
    assert evaluate(problem, Policy.from_dict(policy.to_dict(), problem)).cost == 3
    assert all(each.success for each in executions(problem, policy, 20))


def test_more_objects_than_one_may_be_worth_it() -> None:
    found = decide(make_desk(tickets=3, cost=20))
    assert found.policy.cost == 9
    assert found.status is Status.OPTIMAL


def test_what_needs_no_objects_is_proved_best_only_where_more_objects_change_nothing() -> None:
    found = decide(make_desk(tickets=3, cost=8), time_limit=20)
    assert found.policy.cost == 8
    assert found.status is Status.OPTIMAL


def test_what_no_number_of_objects_reaches_is_unsolvable() -> None:
    domain = Domain("desk", types=["ticket"])
    domain.predicate("open", "ticket")
    domain.predicate("answered", "ticket")
    domain.action("file", creates={"t": "ticket"}, provides="open(t)")
    problem = domain.problem(goal=["(exists (?t - ticket) (answered ?t))"])
    assert decide(problem, time_limit=10).status in (Status.UNSOLVABLE, Status.UNKNOWN)
