"""How many objects a plan creates, and what is said where budgets are in the way."""

import pytest

from planner import Domain, k_best, solve, validate
from planner.compilations.creation_relaxation import bound_costs, count_copies
from planner.compilations.pool_selection import relax_creation
from planner.limits import Limits
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
    ("problem", "pools", "least"),
    [
        (tickets(1), 0, 2),
        (tickets(5), 5, 10),
        (tickets(5, other=True), 5, 6),
    ],
)
def test_parts_of_the_goal_get_objects_of_their_own(problem, pools, least):
    relaxation = relax_creation(problem, Limits())
    assert len(relaxation.pools.own) == pools
    assert bound_costs(relaxation, Limits()).total == least


def test_objects_that_are_alike_at_first_are_counted_by_what_they_become():
    desk = Domain("desk", types=["order", "ticket"])
    desk.action("open", provides=["blank(t)"], creates={"t": "ticket"})
    named = ["not blank(t)", "about(t, o)"]
    desk.action("name", {"t": "ticket", "o": "order"}, requires=["blank(t)"], provides=named)
    names = [f"o{number}" for number in range(5)]
    goal = [f"(exists (?t - ticket) (about ?t {name}))" for name in names]
    problem = desk.problem(objects=dict.fromkeys(names, "order"), goal=goal)
    relaxation = relax_creation(problem, Limits())
    assert count_copies(relaxation, Limits()) == 5
    result = solve(problem, mode="first", time_limit=None)
    assert validate(problem, result.plan).valid
    assert len(result.plan.steps) == 10


@pytest.mark.parametrize(("options", "cost"), [({}, 6), ({"both": True}, 4), ({"other": True}, 4)])
def test_the_fewest_objects_that_do_are_created(options, cost):
    problem = tickets(3, **options)
    found = solve(problem, time_limit=20)
    assert (found.status, found.cost) == (Status.OPTIMAL, cost)
    assert validate(problem, found.plan).valid


def test_a_hundred_objects_are_created_and_no_fewer_do():
    problem = tickets(100)
    found = solve(problem, time_limit=None)
    assert (found.status, found.cost, found.lower_bound) == (Status.OPTIMAL, 200, 200)
    assert validate(problem, found.plan).valid
    created = [step.arguments[-1] for step in found.plan.steps if step.action == "open"]
    assert created == [f"new-ticket-{number}" for number in range(1, 101)]


def test_eight_objects_are_created_at_once():
    problem = tickets(8)
    found = solve(problem, mode="first", time_limit=None)
    assert validate(problem, found.plan).valid
    assert len(found.plan.steps) == 16


def test_a_budget_in_the_way_is_named():
    found = solve(tickets(2, budgets={"money": 3}), time_limit=3)
    assert found.status is Status.UNSOLVABLE
    assert found.reason == "every plan uses 4 of money or more, and the budget is 3"
    assert solve(tickets(2, budgets={"money": 4}), time_limit=10).cost == 4
    many = solve(tickets(100, budgets={"money": 199}), time_limit=None)
    assert many.reason == "every plan uses 200 of money or more, and the budget is 199"


@pytest.mark.usefixtures("counted_clock")
def test_the_number_of_placeholders_is_named_where_it_ends_the_search():
    desk = Domain("desk", types=["ticket"])
    desk.action("open", requires=["can"], provides=["opened(t)", "not can"], creates={"t": "ticket"})
    desk.action("restore", provides=["can"])
    desk.action(
        "close", {"t": "ticket"}, requires=["opened(t)", "can"], provides=["closed(t)", "not can", "not opened(t)"]
    )
    goal = "(exists (?t - ticket) (and (closed ?t) (opened ?t)))"
    result = solve(desk.problem(initial=["can"], goal=goal), time_limit=3)
    assert result.status is Status.UNKNOWN
    assert "alike" in result.reason
    assert "'ticket'" in result.reason


def steps_of(plan):
    return [str(step) for step in plan.steps]


def test_the_best_plans_differ_in_more_than_names():
    problem = tickets(2)
    found = k_best(problem, 3, time_limit=20)
    assert len(found.plans) == 1
    assert found.lower_bound > found.plans[0].cost
    assert validate(problem, found.plans[0]).valid
    either = k_best(tickets(2, other=True), 3, time_limit=20)
    assert either.proved
    assert [plan.cost for plan in either.plans] == sorted(plan.cost for plan in either.plans)
    assert len({tuple(sorted(steps_of(plan))) for plan in either.plans}) == 3
    assert all(validate(plan.problem, plan).valid for plan in either.plans)
    both = k_best(problem, 2, orders=True, wasteful=True, time_limit=20)
    assert [plan.cost for plan in both.plans] == [4, 4]
    assert steps_of(both.plans[0]) != steps_of(both.plans[1])
