"""Derived methods for comparisons: what a condition compares is brought about step by step."""

from __future__ import annotations

from numeric_problems import random_numeric_problem

from htn.compilations.methods_from_actions import as_htn, derived_methods
from htn.language.hddl.hddl_reader import parse_domain, parse_problem
from htn.language.hddl.hddl_writer import write
from htn.model import Method
from htn.verification.plan_verification import validate
from planner import Domain, Problem, Status, solve
from planner.errors import InputError, PlanError
from planner.validation.validate import check_steps


def office() -> Domain:
    domain = Domain("office", types={"robot": "object", "room": "object"})
    domain.function("fuel", "robot", low=0, high=100)
    domain.function("distance", "room", "room")
    domain.action(
        "move",
        {"robot": "robot", "origin": "room", "target": "room"},
        requires=["at(robot, origin)", "fuel(robot) >= distance(origin, target)"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)", "fuel(robot) -= distance(origin, target)"],
    )
    domain.action("refuel", {"robot": "robot"}, modifies="fuel(robot) += 10")
    return domain


def trip() -> Problem:
    return office().problem(
        objects={"r2": "robot", "hall": "room", "lab": "room"},
        initial=["at(r2, hall)", "fuel(r2) = 5"],
        values={"distance(hall, lab)": "17.5"},
        goal=["at(r2, lab)", "fuel(r2) >= 5"],
    )


def steps_of(method: Method) -> list[str]:
    return [str(each.task) for each in method.network.subtasks]


def test_a_comparison_is_a_task_that_repeats_what_brings_it_nearer() -> None:
    found = derived_methods(office().model)
    assert [str(each.task) for each in found.methods_for("achieve-fuel")] == [
        "achieve-fuel(?item1, ?item2, ?item3)"
    ] * 3
    assert str(found.methods["fuel-holds"].precondition) == "fuel(?item1) >= distance(?item2, ?item3)"
    again = "achieve-fuel(?item1, ?item2, ?item3)"
    assert steps_of(found.methods["fuel-by-refuel"]) == ["refuel(?robot)", again]
    assert str(found.methods["fuel-by-refuel"].network.constraints) == "?item1 == ?robot"
    assert steps_of(found.methods["fuel-another-way"]) == ["do-anything", again]
    assert steps_of(found.methods["at-by-move"])[:2] == [
        "achieve-at(?robot, ?origin)",
        "achieve-fuel(?robot, ?origin, ?target)",
    ]


def test_refuel_until_enough() -> None:
    problem = as_htn(trip())
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.cost == 3
    assert validate(problem, result.expect_plan()).valid
    assert "achieve-fuel-2(?goal1)" in steps_of(problem.domain.methods["achieve-goal-in-order"])


def test_hundreds_of_equal_steps_follow_from_derived_methods() -> None:
    domain = Domain("well")
    domain.function("water", low=0)
    domain.action("draw", modifies="water += 2")
    problem = as_htn(domain.problem(values={"water": 0}, goal="water >= 801"))
    result = solve(problem, mode="first", time_limit=60)
    assert validate(problem, result.expect_plan()).valid
    assert len(result.plan.steps) == 401


def test_derived_methods_with_comparisons_are_written_in_hddl() -> None:
    files = write(as_htn(trip()))
    problem = parse_problem(files["problem.hddl"], parse_domain(files["domain.hddl"]))
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.cost == 3


def test_static_comparisons_are_preconditions() -> None:
    domain = Domain("near", types={"room": "object"})
    domain.function("distance", "room", "room")
    domain.action("walk", {"a": "room", "b": "room"}, requires=["distance(a, b) <= 5", "at(a)"], provides="at(b)")
    method = derived_methods(domain.model).methods["at-by-walk"]
    assert str(method.precondition) == "distance(?a, ?b) <= 5"


def test_decomposition_solves_what_search_solves_at_the_same_cost() -> None:
    compared = 0
    for seed in range(30):
        problem = random_numeric_problem(seed)
        try:
            plain = solve(problem, time_limit=1)
            found = solve(as_htn(problem), time_limit=2)
        except (InputError, PlanError):  # effects exclude each other; the metric changes by what is no decimal
            continue
        if found.plan is not None:
            assert check_steps(problem, found.plan).valid, seed
            assert plain.status is not Status.UNSOLVABLE, seed
        if plain.has_plan and found.status is Status.UNSOLVABLE:
            raise AssertionError(f"{seed}: {found.reason}")
        if plain.status is found.status is Status.OPTIMAL:
            assert plain.cost == found.cost, seed
            compared += 1
    assert compared
