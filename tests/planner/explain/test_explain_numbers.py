"""Why there is no plan with numbers: what is missing, and the least amounts that would do, replayed and refuted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from numeric_problems import TooManyStates, explore, random_numeric_problem

from planner import Domain, Entity, Plan, Problem, Status, Step, explain_plan, explain_unsolvable, solve
from planner.errors import InputError, PlanError, UnsupportedError
from planner.explain.amounts import find_candidates
from planner.explain.comparison_facts import compile_comparisons
from planner.explain.excuses import NumberAssumption, apply_assumptions
from planner.explain.unreachable_goals import Cause
from planner.explain.unsolvability import Diagnosis, find_unreachable_parts
from planner.limits import Limits
from planner.validation.validate import validate


class Robot(Entity): ...


class Room(Entity): ...


def rounds(*, low: int | None = 0, high: int | None = 100, pump: bool = True) -> Domain:
    domain = Domain("rounds")
    domain.function("fuel", Robot, low=low, high=high)
    domain.function("distance", Room, Room)
    domain.action(
        "move",
        {"robot": Robot, "origin": Room, "target": Room},
        requires="at(robot, origin)",
        provides="at(robot, target)",
        modifies=["at(robot, _)", "fuel(robot) -= distance(origin, target)"],
    )
    if pump:
        domain.action("refuel", {"robot": Robot}, requires="pump", modifies="fuel(robot) += 10")
    return domain


def errand(domain: Domain, fuel: object = 15, goal: object = "at(r2, lab)", *initial: str) -> Problem:
    return domain.problem(
        objects={"r2": Robot, "hall": Room, "lab": Room},
        initial=["at(r2, hall)", *initial],
        values={"distance(hall, lab)": "17.5", "fuel(r2)": fuel},
        goal=goal,
    )


def diagnose(problem: Problem) -> Diagnosis:
    """Return the diagnosis, whose change is replayed, and whose refuted amount has no plan."""
    found = explain_unsolvable(problem, Limits(120))
    for change in (found.change, found.also):
        if change is not None:
            assert validate(change.problem, change.plan).valid
            for each in change.assumptions:
                if isinstance(each, NumberAssumption) and each.refuted is not None:
                    others = [other for other in change.assumptions if other is not each]
                    worse = apply_assumptions(problem, [*others, each.with_value(each.refuted)])
                    assert solve(worse, time_limit=None).status is Status.UNSOLVABLE
    return found


def test_a_missing_amount_leads_to_what_would_give_it() -> None:
    found = diagnose(errand(rounds()))
    needed = "fuel(r2) >= distance(hall, lab) (fuel(r2) is 15 and distance(hall, lab) is 17.5)"
    assert [str(link) for link in found.unreachable[0].links] == [
        f"at(r2, lab): move(r2, hall, lab) would provide it, but needs {needed}",
        f"{needed}: refuel(r2) would help by fuel(r2) += 10, but needs pump",
        "pump: it does not hold initially, and no action ever changes it",
    ]
    assert [str(each) for each in found.change.assumptions] == ["pump"]
    assert str(found.also.assumptions[0]) == "fuel(r2) = 17.5 instead of 15 (17.4 is not enough)"
    assert "It would also have a plan with fuel(r2) = 17.5 instead of 15 (17.4 is not enough)." in found.describe()
    assert found.to_dict()["also"]["assumptions"][0] == {
        "function": "fuel(r2)",
        "value": 17.5,
        "instead_of": 15,
        "refuted": 17.4,
    }


def test_a_number_is_the_smallest_change_where_no_fact_helps() -> None:
    found = diagnose(errand(rounds(pump=False)))
    assert found.solvable is False
    assert [str(each) for each in found.change.assumptions] == ["fuel(r2) = 17.5 instead of 15 (17.4 is not enough)"]
    assert found.change.proved_smallest
    assert found.also is None
    assert "One number is enough" in found.describe()


def test_what_no_sum_of_effects_reaches_is_said_with_its_range() -> None:
    found = diagnose(errand(rounds(), 5, "fuel(r2) >= 200", "pump"))
    (missing,) = found.missing
    assert missing.cause is Cause.OUT_OF_REACH
    assert missing.fact == "fuel(r2) >= 200 within the bounds (fuel(r2) stays 0 to 100)"
    assert [str(each) for each in found.change.assumptions] == [
        "high of fuel = 205 instead of 100 (204.9 is not enough)"
    ]


def test_a_bound_may_be_what_has_to_give() -> None:
    domain = Domain("debts")
    domain.function("money", low=0)
    domain.action("pay", {}, modifies="money -= 7", provides="paid")
    problem = domain.problem(values={"money": 5}, goal=["paid", "money <= -2"])
    found = diagnose(problem)
    assert [str(each) for each in found.change.assumptions] == ["low of money = -2 instead of 0 (-1 is not enough)"]


def test_two_amounts_are_found_together() -> None:
    domain = Domain("stocks")
    domain.function("stock", Room, low=0, high=50)
    domain.action("take", {"room": Room}, modifies="stock(room) -= 5", provides="had(room)")
    problem = domain.problem(
        objects={"a": Room, "b": Room}, values={"stock(a)": 3, "stock(b)": 4}, goal=["had(a)", "had(b)"]
    )
    found = diagnose(problem)
    amounts = {str(each.function): (each.value, each.instead_of) for each in found.change.assumptions}
    assert amounts in ({"stock(a)": (5, 3), "stock(b)": (5, 4)}, {"stock": (-2, 0)})


def test_steps_are_explained_by_what_they_change() -> None:
    problem = errand(rounds(), 5, ["at(r2, lab)", "fuel(r2) >= 5"], "pump")
    plan = Plan((Step("refuel", ("r2",)), Step("refuel", ("r2",)), Step("move", ("r2", "hall", "lab"))), problem)
    found = explain_plan(problem, plan)
    assert found.redundant == ()
    assert {(str(each), each.consumer) for each in found.steps[0].services} == {
        ("fuel(r2) >= 17.5 (fuel(r2) 5 → 15)", 3),
        ("fuel(r2) >= 5 (fuel(r2) 5 → 15)", None),
    }
    assert found.to_dict()["steps"][1]["chain"][0]["changes"] == ["fuel(r2) 15 → 25"]
    assert "fuel(r2) >= 5 (fuel(r2) 15 → 25), needed by the goal" in found.describe()
    thrice = Plan((*plan.steps[:2], *plan.steps[:1], *plan.steps[2:]), problem)
    assert len(explain_plan(problem, thrice).redundant) == 1


def test_a_number_that_is_multiplied_needs_the_steps_before() -> None:
    bank = Domain("bank")
    bank.function("balance", low=0)
    bank.action("grow", {}, modifies="balance *= 1.1")
    bank.action("pay", {}, requires="balance >= 10", modifies="balance -= 10", provides="paid")
    problem = bank.problem(initial="balance = 25", goal=["paid", "balance <= 1"])
    plan = Plan(tuple(Step(name) for name in ("grow", "grow", "pay", "pay", "pay")), problem)
    assert explain_plan(problem, plan).redundant == ()


def test_a_problem_that_has_a_plan_is_said_to_have_one() -> None:
    found = diagnose(errand(rounds(), Decimal("17.5")))
    assert found.solvable is True
    assert [step.action for step in found.plan.steps] == ["move"]


def test_the_goal_is_not_assumed_to_be_met() -> None:
    facts = compile_comparisons(errand(rounds(), 5, "fuel(r2) >= 50", "pump"))
    assert {each.value for each in find_candidates(facts, uses_goal=False)} == {0}  # for refuel, up to 100
    assert {each.value for each in find_candidates(facts, uses_goal=True)} == {0, 100}


def test_reasons_of_search_name_the_unreachable_parts() -> None:
    (part,) = find_unreachable_parts(errand(rounds()), Limits(10))
    assert part.goal == "at(r2, lab)"


@pytest.mark.parametrize("block", range(3))
def test_diagnoses_against_brute_force(block: int) -> None:
    compared = 0
    for seed in range(4 * block, 4 * block + 4):
        problem = random_numeric_problem(seed)
        try:
            solvable = explore(problem, 250).plan is not None
            found = explain_unsolvable(problem, Limits(5))
        except (TooManyStates, PlanError, InputError, UnsupportedError):  # what no search takes
            continue
        compared += 1
        assert found.solvable in (None, solvable), seed
        assert not (found.unreachable and solvable), seed
        if found.change is not None:
            assert validate(found.change.problem, found.change.plan).valid
    assert compared
