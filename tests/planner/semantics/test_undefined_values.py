"""A value that a cost, a use or a duration lacks makes the one ground action inapplicable, in every service."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise, permutations, product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planner import (
    Domain,
    Limits,
    PlanError,
    Status,
    check_problem,
    decide,
    explain_unsolvable,
    improve,
    load,
    mend,
    patch,
    solve,
    validate,
)
from planner.compilations.required_values import require_values
from planner.language.documents import write_yaml
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.lint.findings import Level
from planner.model import Metric, Problem
from planner.plan import Plan, Step
from planner.repair.regression import regress_goal
from planner.semantics.simulation import Simulation
from planner.testing import steps_from
from planner.unified_planning.conversion import to_unified_planning
from planner.validation.validate import simulate


def roads(*, distances: str = "x y 4, y z 3", goal: str = "at(z)", **stated: object) -> Problem:
    """Return a problem in which a step needs a distance; all `distances` that are not stated have no value."""
    domain = Domain("roads", types=["place"])
    domain.function("dist", "place", "place")
    action = {
        "cost": "dist(a, b)",
        **{name: stated.pop(name) for name in ("cost", "duration", "uses") if name in stated},
    }
    domain.action(
        "go", {"a": "place", "b": "place"}, requires="at(a)", provides="at(b)", modifies="at(_)",
        **{name: value for name, value in action.items() if value is not None},
    )  # fmt: skip
    rows = [each.split() for each in distances.split(", ") if each]
    values = {f"dist({a}, {b})": int(far) for a, b, far in rows}
    return domain.problem(objects=dict.fromkeys("xyz", "place"), initial="at(x)", goal=[goal], values=values, **stated)


AMOUNTS = {
    "cost": ({}, "its cost dist(x, z) has no value in problem 'roads'"),
    "sum": ({"cost": "2 * dist(a, b) + 1"}, "its cost 2 * dist(?a, ?b) + 1 needs dist(x, z), which has no value"),
    "use": ({"cost": 1, "uses": {"fuel": "dist(a, b)"}, "budgets": {"fuel": 9}}, "its use of fuel dist(x, z) has no"),
    "duration": ({"cost": 1, "duration": "dist(a, b)"}, "its duration dist(x, z) has no value"),
    "time": ({"cost": None, "duration": "dist(a, b)", "objective": "makespan"}, "its duration dist(x, z) has no value"),
    "cost in time": ({"duration": 2, "objective": "makespan"}, "its cost dist(x, z) has no value"),
}


@pytest.mark.parametrize(("stated", "reason"), AMOUNTS.values(), ids=AMOUNTS)
def test_steps_without_a_value_are_neither_planned_nor_valid(stated: dict[str, object], reason: str) -> None:
    problem = roads(**stated)
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    plan = result.expect_plan()
    assert [str(each) for each in plan.steps] == ["go(x, y)", "go(y, z)"]
    assert validate(problem, plan).valid
    verdict = validate(problem, [Step("go", ("x", "z"))])
    assert not verdict.valid
    assert verdict.failing_step == 1
    assert reason in verdict.reason
    assert solve(roads(**{**stated, "distances": "x y 4"})).status is Status.UNSOLVABLE


@pytest.mark.parametrize(("stated", "_reason"), AMOUNTS.values(), ids=AMOUNTS)
def test_a_stated_value_brings_the_step_back(stated: dict[str, object], _reason: str) -> None:
    problem = roads(distances="x y 4, y z 3, x z 6", **stated)
    plan = solve(problem).expect_plan()
    assert [str(each) for each in plan.steps] == ["go(x, z)"]
    assert validate(problem, plan).valid


def test_a_division_by_0_is_no_value() -> None:
    problem = roads(distances="x y 4, y z 3, x z 0", cost="12 / dist(a, b)")
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.expect_plan().cost == 7
    assert "divides by 0" in validate(problem, [Step("go", ("x", "z"))]).reason


def test_what_is_applicable_does_not_depend_on_the_metric() -> None:
    problem = replace(roads(), metric=Metric.LENGTH)
    assert solve(problem).expect_plan().cost == 2
    assert not validate(problem, [Step("go", ("x", "z"))]).valid


def test_numbers_and_static_values_are_judged_alike() -> None:
    costs = roads()
    fluents = Domain("roads", types=["place"])
    fluents.function("dist", "place", "place")
    fluents.function("used")
    changes = ["at(_)", "used += dist(a, b)"]
    fluents.action("go", {"a": "place", "b": "place"}, requires="at(a)", provides="at(b)", modifies=changes)
    numeric = fluents.problem(
        objects=dict.fromkeys("xyz", "place"), initial="at(x)", goal=["at(z)"],
        values={"dist(x, y)": 4, "dist(y, z)": 3, "used": 0}, metric="minimize used",
    )  # fmt: skip
    for text in ("go(x, y) go(y, z)", "go(x, z)", "go(x, x) go(x, y) go(y, z)"):
        assert validate(costs, steps_from(text)).valid is validate(numeric, steps_from(text)).valid
    assert solve(costs).expect_plan().cost == solve(numeric).expect_plan().cost == 7


def test_simulation_lists_no_step_without_a_value() -> None:
    simulation = Simulation(roads())
    assert [str(each) for each in simulation.applicable()] == ["go(x, y)"]
    with pytest.raises(PlanError, match=r"its cost dist\(x, z\) has no value"):
        list(simulate(roads(), [Step("go", ("x", "z"))]))


def test_policies_take_no_step_without_a_value() -> None:
    domain = Domain("roads", types=["place"])
    domain.function("dist", "place", "place")
    parameters = {"a": "place", "b": "place"}
    domain.action("go", parameters, requires="at(a)", provides="at(b)", modifies="at(_)", cost="dist(a, b)", risk=0.5)
    places = dict.fromkeys("xyz", "place")
    problem = domain.problem(objects=places, initial="at(x)", goal=["at(z)"], values={"dist(x, y)": 4, "dist(y, z)": 3})
    decision = decide(problem)
    assert decision.policy is not None
    assert decision.policy.success == pytest.approx(1)
    assert decision.policy.cost == pytest.approx(14)


def test_a_plan_is_mended_around_a_step_without_a_value() -> None:
    problem = roads()
    mended = mend(problem, [Step("go", ("x", "z"))])
    assert mended.status is Status.OPTIMAL
    assert mended.steps is not None
    assert [str(each) for each in mended.steps] == ["go(x, y)", "go(y, z)"]
    assert validate(problem, mended.steps).valid


def test_check_names_the_value_and_the_steps_that_never_apply() -> None:
    (found,) = [each for each in check_problem(roads(), Limits()) if each.rule == "no-value"]
    assert found.level is Level.HINT
    assert "the cost of action go needs dist(x, x), which has no value: go(x, x) never applies" in found.message
    assert "6 other values of dist" in found.message


@pytest.mark.parametrize("stated", [{}, {"cost": 1, "duration": "dist(a, b)", "objective": "makespan"}])
def test_check_names_the_value_without_which_there_is_no_plan(stated: dict[str, object]) -> None:
    found = {each.rule: each for each in check_problem(roads(distances="", **stated), Limits())}
    assert found["no-value"].level is Level.ERROR  # there is no plan because of it
    assert "go(x, x), go(x, y), go(x, z) never apply" in found["no-value"].message or (
        "go(x, x) never applies" in found["no-value"].message
    )
    assert found["unreachable-goal"].level is Level.ERROR
    assert "never-applies" not in found


@pytest.mark.parametrize("level", ["adl", "strips"])
@pytest.mark.parametrize("metric", [Metric.COST, Metric.LENGTH])
def test_pddl_keeps_the_optimum_and_says_which_steps_have_values(level: str, metric: Metric) -> None:
    problem = replace(roads(), metric=metric)
    files = export(problem, level)
    back = parse_problem(files.problem, parse_domain(files.domain))
    result = solve(back)
    assert result.status is Status.OPTIMAL
    assert len(result.expect_plan().steps) == 2
    assert "has-dist" in files.domain
    mapped = files.read_plan("(go x y)\n(go y z)\n")
    assert validate(problem, mapped).valid


def test_files_with_all_values_get_no_condition() -> None:
    every = ", ".join(f"{a} {b} 1" for a in "xyz" for b in "xyz")
    problem = roads(distances=every)
    assert require_values(problem) is problem
    domain = Domain("roads", types=["place"])
    domain.function("dist", "place", "place")
    parameters = {"a": "place", "b": "place"}
    domain.action("go", parameters, requires=["at(a)", "road(a, b)"], provides="at(b)", cost="dist(a, b)")
    guarded = domain.problem(
        objects=dict.fromkeys("xy", "place"), initial=["at(x)", "road(x, y)"], goal=["at(y)"],
        values={"dist(x, y)": 4},
    )  # fmt: skip
    assert require_values(guarded) is guarded


def test_pddl_of_durations_keeps_the_optimum() -> None:
    problem = roads(cost=None, duration="dist(a, b)", objective="makespan")
    files = export(problem)
    result = solve(parse_problem(files.problem, parse_domain(files.domain)))
    assert result.status is Status.OPTIMAL
    assert result.expect_plan().makespan == solve(problem).expect_plan().makespan


def test_yaml_keeps_the_meaning(tmp_path: Path) -> None:
    path = tmp_path / "roads.yaml"
    path.write_text(write_yaml(roads()))
    again = load(path)
    assert solve(again).expect_plan().cost == 7
    assert not validate(again, [Step("go", ("x", "z"))]).valid


def test_unified_planning_gets_the_condition() -> None:
    pytest.importorskip("unified_planning")
    converted = to_unified_planning(roads())
    assert "has" in str(converted.problem.action("go").preconditions)


def test_plans_with_a_step_without_a_value_are_read_and_judged() -> None:
    text = """(define (domain d) (:requirements :strips :action-costs) (:predicates (at ?x) (done))
    (:functions (total-cost) - number (far ?x) - number)
    (:action go :parameters (?x) :precondition (at ?x) :effect (and (done) (increase (total-cost) (far ?x)))))"""
    problem = parse_problem(
        "(define (problem p) (:domain d) (:objects a b) (:init (at a) (at b) (= (far a) 2)) (:goal (done))"
        "(:metric minimize (total-cost)))",
        parse_domain(text),
    )
    assert solve(problem).expect_plan().cost == 2
    from planner.language.pddl.plan_files import read_plan

    plan = read_plan("(go b)", problem, "plan")
    assert validate(problem, plan).reason == "step 1 go(b): its cost far(b) has no value in problem 'p'"
    assert isinstance(plan, Plan)


@pytest.mark.anyio
async def test_better_plans_have_values_too() -> None:
    problem = roads()
    plans = [each.plan async for each in improve(problem) if each.plan is not None]
    assert plans
    assert all(validate(problem, each).valid for each in plans)


def test_the_explanation_names_the_value_that_is_missing() -> None:
    found = str(explain_unsolvable(roads(distances="x y 4"), Limits()))
    assert "go(y, z) would provide it, but needs value-of-dist(y, z)" in found
    assert "lacks a value of dist" in (solve(roads(distances="x y 4")).reason or "")


def test_no_suffix_of_a_plan_is_kept_that_has_a_step_without_a_value() -> None:
    problem = roads()
    found = patch(problem, steps_from("go(x, z)"))
    assert found.status is Status.OPTIMAL
    assert [str(each) for each in found.steps or ()] == ["go(x, y)", "go(y, z)"]
    with pytest.raises(ValueError, match="from no state"):
        regress_goal(Simulation(problem), steps_from("go(x, z)"), problem.goal.hard)


def shortest_way(distances: dict[tuple[str, str], int]) -> int | None:
    """Return the length of the shortest way from x to z, by trying all ways; None where there is none."""
    ways = [("x", *between, "z") for count in range(3) for between in permutations("wy", count)]
    pairs = [list(pairwise(way)) for way in ways]
    return min((sum(distances[pair] for pair in way) for way in pairs if distances.keys() >= {*way}), default=None)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("kind", ["cost", "time", "use"])
def test_optima_are_those_of_all_ways_with_values(kind: str, seed: int) -> None:
    random = Random(seed)
    known = {pair: random.randint(1, 9) for pair in product("wxyz", repeat=2) if random.random() < 0.45}
    domain = Domain("roads", types=["place"])
    domain.function("dist", "place", "place")
    amounts: dict[str, Any] = {"cost": "dist(a, b)"} if kind == "cost" else {"cost": 1, "duration": "dist(a, b)"}
    amounts = {"cost": 1, "uses": {"fuel": "dist(a, b)"}} if kind == "use" else amounts
    domain.action("go", {"a": "place", "b": "place"}, requires="at(a)", provides="at(b)", modifies="at(_)", **amounts)
    best = shortest_way(known)
    stated: dict[str, Any] = {"objective": "makespan"} if kind == "time" else {}
    stated = {"budgets": {"fuel": best or 99}} if kind == "use" else stated
    problem = domain.problem(
        objects=dict.fromkeys("wxyz", "place"), initial="at(x)", goal=["at(z)"],
        values={f"dist({a}, {b})": far for (a, b), far in known.items()}, **stated,
    )  # fmt: skip
    result = solve(problem)
    assert result.status is (Status.UNSOLVABLE if best is None else Status.OPTIMAL)
    if result.plan is None:
        return
    assert validate(problem, result.plan).valid
    assert all((step.arguments[0], step.arguments[1]) in known for step in result.plan.steps)
    if kind == "time":
        assert result.plan.makespan is not None
        assert best <= result.plan.makespan <= best + Decimal("0.001") * 3
    elif kind == "cost":
        assert result.plan.cost == best
    else:
        assert sum(known[step.arguments[0], step.arguments[1]] for step in result.plan.steps) == best
