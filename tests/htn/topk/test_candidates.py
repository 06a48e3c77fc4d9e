"""What candidates of hierarchical problems are, beyond brute force."""

from __future__ import annotations

import json

import pytest

from benchmarks.random_hierarchies import PARTIAL, WILD, HtnFeatures, random_htn
from htn.language.declare import Methods
from htn.verification.plan_verification import validate
from planner import Domain, StoppedBy, candidates, k_best, rank, solve
from planner.cli import interrupt, main


def trip(tasks=("pack", "travel"), ordered=False, **options):
    """Pack, and travel in one of two ways, each of which two methods say."""
    domain = Domain("trips")
    domain.action("walk", provides=["there"], cost=9, duration=60)
    domain.action("buy_ticket", provides=["ticket"], cost=2, duration=5)
    domain.action("ride", requires=["ticket"], provides=["there"], cost=3, duration=10)
    domain.action("pack", provides=["packed"], cost=1, duration=15)
    how = Methods(domain)
    how.task("travel")
    how.method("on_foot", task="travel", subtasks=["walk"])
    how.method("hiking", task="travel", subtasks=["walk"])
    how.method("by_bus", task="travel", subtasks=["buy_ticket", "ride"])
    return how.problem(tasks=[*tasks], ordered=ordered, **options)


def looping(cost):
    """A task that recurs before anything is done, and a way out of it that costs 5."""
    domain = Domain("loops")
    domain.action("go", provides=["gone"], cost=5)
    domain.action("turn", provides=["turned"], cost=cost)
    how = Methods(domain)
    how.task("leave")
    how.method("enough", task="leave", subtasks=["go"])
    how.method("again", task="leave", subtasks=["leave", "turn"])
    return how.problem(tasks=["leave"])


def test_the_same_steps_are_one_plan_with_one_decomposition():
    found = k_best(trip(), None)
    assert [plan.cost for plan in found.plans] == [6, 10]
    assert (found.proved, found.complete, found.stopped_by) == (True, True, StoppedBy.EXHAUSTED)
    assert all(validate(plan.problem, plan).valid for plan in found.plans)


def test_orders_that_tasks_allow_are_given_when_asked_for():
    assert sorted(plan.cost for plan in candidates(trip(), orders=True)) == [6, 6, 6, 10, 10]


def test_an_order_is_one_that_the_tasks_allow():
    plan = next(candidates(trip(["travel", "pack"], ordered=True)))
    assert [str(step) for step in plan.steps] == ["buy_ticket()", "ride()", "pack()"]


def test_the_factor_leaves_out_what_costs_more():
    near = candidates(trip(), within=1.5)
    assert [plan.cost for plan in near] == [6]
    assert near.lower_bound == 10
    assert len([*candidates(trip(), within=2)]) == 2


@pytest.mark.usefixtures("counted_clock")
def test_what_recurs_is_wasteful_and_comes_when_asked_for():
    assert [plan.cost for _, plan in zip(range(3), candidates(looping(1), wasteful=True), strict=False)] == [5, 6, 7]
    found = k_best(looping(1), 2, time_limit=0.2)
    assert [plan.cost for plan in found.plans] == [5]
    assert found.stopped_by is StoppedBy.TIME
    assert found.lower_bound > 5


@pytest.mark.usefixtures("counted_clock")
def test_what_recurs_for_nothing_ends_at_the_limit():
    found = k_best(looping(0), 2, time_limit=0.2)
    assert (found.stopped_by, found.complete, found.lower_bound) == (StoppedBy.TIME, False, 5)


def test_tasks_that_cannot_be_done_have_no_candidates():
    domain = Domain("stuck")
    domain.action("open", requires=["key"], provides=["opened"])
    domain.action("turn", provides=["turned"])
    how = Methods(domain)
    how.task("enter")
    how.method("straight", task="enter", subtasks=["open"])
    assert k_best(how.problem(tasks=["enter"]), 1).complete
    assert k_best(how.problem(tasks=["enter"], initial=["key"], goal=["turned"]), 1).complete


def test_candidates_of_tasks_are_ranked():
    ranking = rank(k_best(trip(), 5).plans, "length", rules=["never walk"])
    assert [each.plan.cost for each in ranking.ranked] == [6]
    assert [each.plan.cost for each in ranking.excluded] == [10]
    assert len(rank(k_best(trip(), 5).plans, "cost, length", pareto=True).ranked) == 2


def test_budgets_and_wishes_count():
    assert [plan.cost for plan in candidates(trip(budgets={"cost": 8}))] == [6]
    wished = trip(goal={"soft": {"ticket": 5}})
    assert [(plan.cost, plan.charge, plan.utility) for plan in candidates(wished)] == [(6, 6, 5), (10, 15, 0)]
    assert [plan.cost for plan in candidates(wished, within=2)] == [6]


def test_plans_of_tasks_with_deadlines_and_on_suppositions():
    assert [plan.cost for plan in candidates(trip(deadline=30))] == [6]
    supposed = list(candidates(trip(unknown=["ticket"])))
    assert [plan.cost for plan in supposed] == [6, 10]


FILE = """
domain: trips
actions:
  walk: {provides: [there], cost: 9}
  ride: {provides: [there], cost: 4}
tasks: {travel: {}}
methods:
  on_foot: {task: travel, subtasks: [walk]}
  by_bus: {task: travel, subtasks: [ride]}
---
problem: one
domain: trips
tasks: [travel]
"""


def test_the_command_lists_decompositions(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)
    path = tmp_path / "trips.yaml"
    path.write_text(FILE)
    with pytest.raises(SystemExit) as ended:
        main(["solve", str(path), "--candidates", "5", "--rank", "cost"])
    assert ended.value.code == 0
    out, err = capsys.readouterr()
    assert out.count("; candidate") == 2
    assert "travel -> by_bus" in out
    assert "2 candidates: there are no others" in err
    with pytest.raises(SystemExit):
        main(["solve", str(path), "--candidates", "5", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert [each["cost"] for each in data["candidates"]] == [4, 9]
    assert all("decomposition" in each for each in data["candidates"])


def test_what_a_method_requires_may_end_before_its_first_step():
    """Grounding once took for impossible what two subtasks without an order can do."""
    problem = random_htn(875466, PARTIAL)
    assert solve(problem).cost == 9
    assert [plan.cost for plan in candidates(problem)] == [9, 14]


@pytest.mark.parametrize("seed", [46, 163])
def test_effects_that_depend_on_what_others_do_not_do_are_ground(seed):
    problem = random_htn(seed, HtnFeatures(classical=WILD))
    assert solve(problem).expect_plan().cost == next(candidates(problem)).cost
