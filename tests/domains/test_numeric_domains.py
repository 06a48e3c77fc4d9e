"""The shipped domains with numbers: what money and charge come to there, step by step."""

from __future__ import annotations

import pytest

from domains import mules, purchasing
from domains.mules import one_crate, two_crates
from domains.purchasing import office
from planner import Plan, Problem, Status, read_documents, solve, validate, write_yaml
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.model.arithmetic import exact_value
from planner.semantics.simulation import Simulation


def values_on_the_way(problem: Problem, plan: Plan) -> list[dict[str, object]]:
    """Return the values before each step of `plan`, and at its end."""
    simulation = Simulation(problem)
    found = [simulation.values]
    for step in plan.steps:
        assert simulation.find_objection(step) is None
        simulation.apply(step)
        found.append(simulation.values)
    return [{str(fluent): value for fluent, value in values.items()} for values in found]


def test_more_money_means_less_effort() -> None:
    costs = {balance: solve(office(balance=balance), time_limit=None).cost for balance in (88, 89, 129, 130, 300)}
    assert costs == {88: None, 89: 223, 129: 223, 130: 219, 300: 219}


@pytest.mark.parametrize("name", ["office", "week", "month", "half-year", "year"])
def test_accounts_are_not_overdrawn_and_stocks_reach_their_levels(name: str) -> None:
    problem = purchasing.problems()[name]
    plan = solve(problem, mode="first", time_limit=None).expect_plan()
    assert validate(problem, plan).valid
    states = values_on_the_way(problem, plan)
    start, end = states[0], states[-1]
    accounts = [fluent for fluent in start if fluent.startswith("balance")]
    assert all(state[account] >= 0 for state in states for account in accounts)
    assert sum(start[each] - end[each] for each in accounts) == end["spent"]
    assert sum(end[fluent] for fluent in end if fluent.startswith("total")) == end["spent"]


@pytest.mark.parametrize("name", ["yard", "quarry", "port"])
def test_batteries_are_never_empty_on_the_way_nor_too_full(name: str) -> None:
    problem = mules.problems()[name]
    plan = solve(problem, mode="first", time_limit=None).expect_plan()
    fixed = {str(term): exact_value(number) for term, number in problem.values.items()}
    for state in values_on_the_way(problem, plan):
        for mule in (each.name for each in problem.objects if "Mule" in each.types):
            assert 0 <= state[f"charge({mule})"] <= fixed[f"battery({mule})"]
            assert 0 <= state[f"load({mule})"] <= fixed[f"payload({mule})"]


def test_more_charge_saves_the_way_to_the_mast() -> None:
    costs = {charge: solve(one_crate(charge=charge), time_limit=None).cost for charge in ("3.5", "25.49", "25.5")}
    assert costs == {"3.5": 24, "25.49": 24, "25.5": 19}


@pytest.mark.parametrize(
    "problem", [office(), one_crate(), two_crates(), mules.generate(3, 2)], ids=lambda each: each.name
)
def test_they_are_written_in_yaml_and_pddl(problem: Problem) -> None:
    assert read_documents(write_yaml(problem)).problems == (problem,)
    written = export(problem)
    result = solve(parse_problem(written.problem, parse_domain(written.domain)), time_limit=None)
    assert (result.status, result.cost) == (Status.OPTIMAL, solve(problem, time_limit=None).cost)
