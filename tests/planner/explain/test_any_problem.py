"""One function explains plans of every kind, and one why there is none."""

from __future__ import annotations

from planner import Domain, solve
from planner.explain.any_problem import explain_any_plan, explain_no_plan
from planner.limits import Limits
from planner.model import Problem
from planner.plan import Plan, Status


def kiosk(window: str, objective: str | None = "makespan") -> Problem:
    domain = Domain("kiosk", types=["customer"])
    domain.action("serve", {"c": "customer"}, provides="served(c)", duration=10, throughout="open", holds={"seller": 1})
    return domain.problem(
        objects={"ann": "customer", "bob": "customer"},
        goal=["served(ann)", "served(bob)"],
        windows={"open": window},
        capacity={"seller": 1},
        objective=objective,
    )


def test_a_plan_in_time_is_explained_also_as_a_sequence() -> None:
    plan = solve(kiosk("0..60")).expect_plan()
    for each in (plan, Plan(plan.steps, plan.problem)):
        assert "why it ends at 20.001" in str(explain_any_plan(each, Limits(5)))


def test_no_plan_in_time_names_what_clashes() -> None:
    found = explain_no_plan(kiosk("0..15"), Limits(5))
    assert "open holds until 15 s" in str(found)
    assert found.to_dict()["conflicts"]


def test_plans_without_time_are_explained_by_links() -> None:
    domain = Domain("lamp")
    domain.action("light", requires="dark", provides="lit", modifies="dark")
    problem = domain.problem(initial="dark", goal="lit")
    assert "light()" in str(explain_any_plan(solve(problem).expect_plan(), Limits(5)))
    dull = domain.problem(goal="lit")
    assert "dark" in str(explain_no_plan(dull, Limits(5), Status.UNSOLVABLE))
