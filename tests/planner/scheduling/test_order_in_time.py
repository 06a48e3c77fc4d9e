"""The order of plans in time: what touches, what lasts, what is seen, and what must not come at once."""

from __future__ import annotations

import pytest

from planner import Domain, Plan, PlanError, Step, UnsupportedError, partial_order, schedule, solve
from planner.plan import StepTime


def declare():
    domain = Domain("kitchen")
    domain.action("boil", provides=["hot"], duration=3)
    domain.action("pour", requires=["hot"], provides=["tea"], duration=1)
    domain.action("set", provides=["laid"], duration=2)
    return domain


def test_nodes_are_starts_and_ends_and_edges_say_how_long_and_why():
    problem = declare().problem(goal=["tea", "laid"], metric="makespan")
    plan = solve(problem).expect_plan()
    number = {step.action: place for place, step in enumerate(plan.steps, start=1)}
    graph = partial_order(problem, plan)
    boil, pour, laid = number["boil"], number["pour"], number["set"]
    assert graph.nodes[boil, "start"]["step"].action == "boil"
    assert graph.edges[(boil, "start"), (boil, "end")] == {"gap": 3, "reason": "duration", "about": ""}
    link = graph.edges[(boil, "end"), (pour, "start")]
    assert (float(link["gap"]), link["reason"], link["about"]) == (0.001, "touch", "hot")
    assert not [pair for pair in graph.edges if laid in (pair[0][0], pair[1][0]) and pair[0][0] != pair[1][0]]


def test_changes_at_known_times_are_nodes():
    domain = declare()
    problem = domain.problem(goal=["tea"], timed={1: ["hot"]}, metric="makespan")
    plan = solve(problem).expect_plan()
    graph = partial_order(problem, plan)
    assert (1, "event") in graph
    assert graph.has_edge((1, "event"), (1, "start"))


def test_an_invalid_plan_has_no_order():
    problem = declare().problem(goal=["tea"], metric="makespan")
    with pytest.raises(PlanError, match=r"only a valid plan has an order: .*hot"):
        partial_order(problem, Plan((Step("pour"),), problem, times=(StepTime(0, 1),)))


def test_a_plan_without_steps_has_an_empty_order_and_one_without_times_none():
    problem = declare().problem(goal={"soft": {"tea": 2}}, metric="makespan")
    plan = solve(problem).expect_plan()
    assert (len(plan.steps), len(partial_order(problem, plan)), schedule(plan).makespan) == (0, 0, 0)
    with pytest.raises(UnsupportedError, match="without times"):
        partial_order(problem, Plan((Step("boil"), Step("pour")), problem))
