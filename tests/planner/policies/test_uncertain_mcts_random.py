"""Monte-Carlo tree search for policies against the exact solution of random processes."""

from __future__ import annotations

import pytest
from uncertain_aims import UNCERTAIN, WAYS, aim_of, never

from benchmarks.random_problems import random_problem
from planner import Status, decide, evaluate
from planner.policies import policy_mcts
from planner.policies.lao_star import Bounds, search_all_states
from planner.policies.markov_decision_process import Graph
from planner.policies.policy_mcts import Mcts, normalize_losses, search_by_simulations
from planner.search.mcts import RandomNumbers

LIMIT = 300


def exact(aim):
    """Return the values of the initial node; skips what is too large."""
    graph, bounds = Graph(aim.process, aim), Bounds(())

    def check():
        if len(graph) > LIMIT:
            pytest.skip("too many states")

    search_all_states(graph, bounds, check)
    return bounds.values


def found(aim, simulations, seed=1):
    bounds = Bounds(())
    solution = search_by_simulations(Graph(aim.process, aim), bounds, never, simulations=simulations, seed=seed)
    return tuple([values[0] for values in solution.values]), bounds


def at_least(better, worse):
    """Return whether values, rewards first and then the cost, are as good as others, up to rounding."""
    for number, (one, other) in enumerate(zip(better, worse, strict=True)):
        if one != pytest.approx(other, rel=1e-9, abs=1e-9):
            return one < other if number == len(better) - 1 else one > other
    return True


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(35))
def test_values_are_within_one_percent_and_settled_ones_are_exact(seed, way):
    aim = aim_of(seed, way)
    expected = exact(aim)
    values, bounds = found(aim, 500)
    assert values == pytest.approx(expected, rel=0.01)
    if bounds.proved:
        assert values == pytest.approx(expected, abs=1e-7)
        assert bounds.values == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(100, 110))
def test_most_values_are_proved(seed, way):
    aim = aim_of(seed, way)
    exact(aim)
    assert found(aim, 2000)[1].proved


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(200, 220))
@pytest.mark.parametrize("simulations", [2, 16])
def test_the_best_lies_between_what_is_known_and_what_is_hoped_for(seed, way, simulations):
    aim = aim_of(seed, way)
    expected = exact(aim)
    values, bounds = found(aim, simulations)
    assert bounds.simulations <= simulations
    assert at_least(bounds.values, expected)
    assert at_least(expected, values)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(300, 310))
def test_many_choices_are_widened_step_by_step(seed, way, monkeypatch):
    monkeypatch.setattr(policy_mcts, "WIDE", 1)
    aim = aim_of(seed, way)
    expected = exact(aim)
    values, bounds = found(aim, 16)
    assert at_least(bounds.values, expected)
    assert at_least(expected, values)
    values, bounds = found(aim, 1_000)
    assert at_least(bounds.values, expected)
    assert values == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("seed", range(400, 410))
def test_the_same_seed_makes_the_same_values(seed):
    aim = aim_of(seed, "success")
    one, other = (Mcts(Graph(aim.process, aim), seed) for _ in range(2))
    for search in (one, other):
        for _ in range(30):
            search.simulate()
        search.sweeps.sweep(never)
    assert one.values.parts == other.values.parts
    assert one.values.visits == other.values.visits
    assert one.graph.states == other.graph.states


def test_decisions_say_how_many_simulations_were_made():
    problem = next(
        problem
        for problem in (random_problem(seed, UNCERTAIN) for seed in range(1000))
        if decide(problem, search="mcts", simulations=2).status is Status.SOLVED
    )
    decision = decide(problem, search="mcts", simulations=2)
    assert decision.statistics.simulations == 2
    assert "2 simulations were made" in decision.describe()
    worth = evaluate(problem, decision.expect_policy())
    assert worth.success == pytest.approx(decision.policy.success)
    best = decide(problem, search="mcts")
    assert best.status is Status.OPTIMAL
    assert best.policy.success == pytest.approx(decide(problem).policy.success)
    assert decision.success_bound >= best.policy.success - 1e-9


def test_losses_are_rewards_first():
    assert normalize_losses([[1.0, 3.0], [1.0, 5.0], [1.0, 4.0]]) == [0.0, 1.0, 0.5]
    assert normalize_losses([[1.0, 9.0], [0.5, 1.0], [0.0, 1.0]]) == [0.0, 1.5, 2.0]
    assert normalize_losses([[2.0], [2.0]]) == [0.0, 0.0]


def test_chances_are_even():
    draw = RandomNumbers(5)
    counts = [0] * 7
    for _ in range(7000):
        counts[draw.below(7)] += 1
    assert min(counts) > 850
