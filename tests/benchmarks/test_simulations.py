"""Simulations are measured against optima, and plans by the time at which they came."""

from __future__ import annotations

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.mcts_convergence import (
    Improved,
    converged_table,
    improved_table,
    is_near,
    measure_convergence,
    measure_improvement,
)
from benchmarks.suite import load_suite
from benchmarks.uncertain.uncertain_campaign import CASES
from planner import decide

DOMAIN = "(define (domain d) (:predicates (a) (b)) (:action go :parameters () :precondition (a) :effect (b)))"
PROBLEM = "(define (problem p) (:domain d) (:init (a)) (:goal (b)))"


@pytest.fixture(autouse=True)
def _shortly(monkeypatch):
    monkeypatch.setattr("benchmarks.mcts_convergence.RATE_SECONDS", 0.05)


def test_simulations_come_near_the_best_policy():
    found = measure_convergence("tires", CASES["tires"], 3, 2, 30.0)
    assert all(each.near <= each.proved for each in found.approaches)
    assert all(rate > 0 for rate in found.rates)
    assert converged_table([found]).count("tires") == 1


def test_near_is_near_in_every_respect():
    best = decide(CASES["navigation"].make(3))
    policy = best.policy
    assert is_near(best, best)
    assert is_near(replace(best, policy=replace(policy, success=policy.success * 0.995)), best)
    assert not is_near(replace(best, policy=replace(policy, success=policy.success * 0.98)), best)
    assert not is_near(replace(best, policy=replace(policy, cost=policy.cost * 1.02)), best)
    assert not is_near(replace(best, policy=None), best)


def test_plans_are_noted_by_their_time(tmp_path):
    (tmp_path / "domain.pddl").write_text(DOMAIN)
    (tmp_path / "p1.pddl").write_text(PROBLEM)
    (task,) = load_suite(tmp_path)
    found = measure_improvement(task, "mcts", 5.0)
    assert (found.costs[-1], found.proved) == (1.0, True)
    assert found.simulations > 0
    assert "1*" in improved_table([found], 5.0)
    assert improved_table([Improved("x", "mcts", [None] * 5, False, 0)], 5.0).count("—") == 6


def test_the_command_says_which_problems_there_are():
    result = CliRunner().invoke(app, ["simulations", "--problem", "tyres"])
    assert result.exit_code == 2
    assert "tires" in result.output
