"""How many creating steps a plan has at least, and what is said where budgets are in the way."""

import pytest

from planner import Domain, solve, validate
from planner.compilations.creation_rounds import count_needed_creations
from planner.plan import Status


def tickets(orders: int, *, both: bool = False, other: bool = False, **fields):
    """Return the problem to answer a ticket about each order; a step may open one about two orders."""
    domain = Domain("tickets", types=["order", "ticket"])
    parameters = {"o": "order", "p": "order"} if both else {"o": "order"}
    about = ["about(t, o)", "about(t, p)"] if both else ["about(t, o)"]
    domain.action("open", parameters, provides=["opened(t)", *about], creates={"t": "ticket"}, uses={"money": 2})
    domain.action("reply", {"t": "ticket"}, requires=["opened(t)"], provides=["replied(t)"])
    if other:
        domain.action("move", {"t": "ticket", "o": "order"}, requires=["opened(t)"], provides=["about(t, o)"])
    names = [f"o{number}" for number in range(orders)]
    goal = [f"(exists (?t - ticket) (and (replied ?t) (about ?t {name})))" for name in names]
    return domain.problem(objects=dict.fromkeys(names, "order"), goal=goal, **fields)


@pytest.mark.parametrize(
    ("problem", "fewest"),
    [
        (tickets(1), 1),
        (tickets(5), 5),
        (tickets(5, both=True), 3),
        (tickets(5, other=True), 0),
        (tickets(0), 0),
    ],
)
def test_parts_of_the_goal_need_creating_steps_of_their_own(problem, fewest):
    assert count_needed_creations(problem) == fewest


@pytest.mark.parametrize("options", [{}, {"both": True}, {"other": True}])
def test_no_plan_has_fewer(options):
    problem = tickets(3, **options)
    found = solve(problem, time_limit=20)
    assert found.has_plan
    assert validate(problem, found.plan).valid
    assert sum(step.action == "open" for step in found.plan.steps) >= count_needed_creations(problem)


def test_eight_objects_are_created_at_once():
    problem = tickets(8)
    found = solve(problem, mode="first", time_limit=None)
    assert validate(problem, found.plan).valid
    assert len(found.plan.steps) == 16


def test_a_budget_in_the_way_is_named():
    found = solve(tickets(2, budgets={"money": 3}), time_limit=3)
    assert not found.has_plan
    assert found.status is Status.UNSOLVABLE or "the budget of money" in found.reason
    assert solve(tickets(2, budgets={"money": 4}), time_limit=10).has_plan
