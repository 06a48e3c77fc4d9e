"""Policies made of plans are worth what they claim, no more than the best, and something wherever there is a plan."""

from __future__ import annotations

import random

import pytest
from uncertain_aims import WAYS, aim_of

from benchmarks.random_problems import Features, random_problem
from planner import Status, decide, evaluate, load
from planner.grounding.ground import ground
from planner.limits import Limits
from planner.policies.lao_star import Bounds, search_all_states
from planner.policies.markov_decision_process import Graph
from planner.policies.replanning import Regression, search_by_plans
from planner.search import Space
from planner.task.ground_task import facts_of

LIMIT = 300


def solved(aim, search):
    """Return the values of the initial node, and how many nodes there are; skips what is too large."""
    graph = Graph(aim.process, aim)

    def check():
        if len(graph) > LIMIT:
            pytest.skip("too many states")

    solution = search(graph, Bounds(()), check)
    return tuple([values[0] for values in solution.values]), len(graph)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(40))
def test_plans_give_no_more_than_the_best_and_something_where_there_is_any(seed, way):
    aim = aim_of(seed, way)
    best, many = solved(aim, search_all_states)
    found, few = solved(aim_of(seed, way), search_by_plans)
    assert few <= many
    if aim.rewards:
        assert found[0] <= best[0] + 1e-9
        assert (found[0] > 0) is (best[0] > 0)
    else:
        assert found[0] >= best[0] - 1e-9 * abs(best[0])


def test_what_is_needed_before_a_step_is_enough_wherever_it_holds():
    elsewhere = 0
    for seed in range(40):
        problem = random_problem(seed, Features(objects=3, actions=3, axioms=False))
        task = ground(problem, Limits())
        if task.unreachable_goal is not None:
            continue
        space, regression, rng = Space(task), Regression(task), random.Random(seed)
        states = [space.initial]
        for state in states[:150]:
            states += [after for _, after in space.successors(state) if after not in states][: 150 - len(states)]
        for state in rng.sample(states, min(len(states), 12)):
            for action, after in space.successors(state):
                need = sum(1 << fact for fact in facts_of(after) if rng.random() < 0.4)
                before = regression.before(task.actions[action], need, state)
                others = [] if before is None else [each for each in states if not before & ~each]
                assert before is None or state in others
                assert all(not need & ~space.apply(action, each) for each in others), seed
                elsewhere += len(others) > 1
    assert elsewhere > 100


def test_certain_outcomes_are_followed_to_the_goal():
    problem = load("courier", "one-parcel")
    found = decide(problem, search="plans")
    assert found.status is Status.SOLVED
    assert found.policy.success == 1.0
    assert found.statistics.search == "plans"
    assert "plans were looked for" in found.reason
    assert evaluate(problem, found.policy).success == 1.0


@pytest.mark.usefixtures("counted_clock")
def test_large_problems_have_a_policy_that_is_bounded_and_tried():
    found = decide(load("domains/tools", "day"), time_limit=30)
    assert found.status is Status.SOLVED
    assert 0 < found.policy.success <= found.success_bound
    assert "runs that plan again where the policy ends" in found.reason


def test_the_better_of_plans_and_others_is_taken(monkeypatch):
    problem = load("domains/tools", "one-question")
    monkeypatch.setitem(decide.__globals__, "FEW", 1)
    monkeypatch.setitem(decide.__globals__, "MANY", 1)
    found = decide(problem, time_limit=None)
    best = decide(problem, search="vi")
    assert found.status is Status.OPTIMAL
    assert found.policy.success == pytest.approx(best.policy.success)
