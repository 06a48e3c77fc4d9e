"""Budgets of hierarchical problems: what is found, what is said, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from htn_party import party

from htn import problem_kind
from planner import Status, resources
from planner.cli import Exit, main
from planner.resources import spent
from planner.solve import solve


@pytest.mark.parametrize("search", [None, "astar", "uniform"])
def test_the_cheapest_plan_keeps_the_budgets(search):
    problem = party(budgets={"money": 7})
    result = solve(problem, search=search)
    assert (result.status, result.cost, resources(result.expect_plan())) == (Status.OPTIMAL, 5, {"money": 7})
    assert problem_kind.validate(problem, result.expect_plan()).valid
    assert spent(result.plan)["money"] == (7, 7)


@pytest.mark.parametrize(
    ("budgets", "reason"),
    [
        ({"money": 3}, "every plan uses 4 of money or more, and the budget is 3"),
        ({"cost": 1}, "every plan costs 2 or more, and the budget is 1"),
        ({"money": 7, "cost": 4}, "every plan that keeps the budgets on money costs 5 or more, and the budget is 4"),
    ],
)
def test_what_cannot_be_kept_is_said(budgets, reason):
    result = solve(party(budgets=budgets))
    assert (result.status, result.reason) == (Status.UNSOLVABLE, reason)


def test_searches_that_do_not_count_are_refused():
    result = solve(party(budgets={"money": 7}), search="depth-first")
    assert result.status is Status.UNSUPPORTED
    assert "does not count" in result.reason


def test_without_any_decomposition_no_budget_is_blamed():
    result = solve(party(budgets={"money": 90}, goal="(and (have cake) (not (have cake)))"))
    assert result.status is Status.UNSOLVABLE
    assert "budget" not in result.reason


def test_a_budget_on_the_cost_is_for_steps_alone():
    problem = party(budgets={"cost": 5}, goal={"hard": (), "soft": {"not have(bread)": 99}})
    assert solve(problem).cost == 2
    short = solve(replace(problem, classical=replace(problem.classical, budgets={"cost": 1})))
    assert short.reason in ("every plan costs 2 or more, and the budget is 1", "cannot hold: cost at most 1")


def test_the_checker_counts():
    problem = party(budgets={"money": 7})
    rich = replace(problem, classical=replace(problem.classical, budgets={}))
    plan = replace(solve(rich).expect_plan(), problem=problem)
    assert problem_kind.validate(problem, plan).reason == "the plan uses 10 of money, and the budget is 7"


PARTY = """
domain: party
actions:
  order: {provides: [cake], uses: {money: 5}}
  bake: {provides: [cake], cost: 4, uses: {money: 2}}
tasks: {get: {}}
methods:
  buy: {task: get, subtasks: [order]}
  make: {task: get, subtasks: [bake]}
---
problem: home
domain: party
tasks: [get]
"""


def test_the_command_takes_budgets_for_tasks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("party.yaml").write_text(PARTY, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["solve", "party.yaml", "--budget", "money=3"])
    assert ended.value.code is Exit.OK
    out, err = capsys.readouterr()
    assert "make" in out
    assert "optimal" in err
