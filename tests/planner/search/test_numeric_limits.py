"""Search with numbers that are great, that have many digits, or that stand in the way of other constructs."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from planner.errors import UnsupportedError
from planner.explain.plan_explanation import explain_plan
from planner.model import (
    Action,
    Arithmetic,
    Atom,
    Comparison,
    DomainModel,
    Function,
    Goal,
    Number,
    NumericEffect,
    NumericMetric,
    Predicate,
    Problem,
    SoftGoal,
    When,
)
from planner.plan import Plan, Status, Step
from planner.questions.landmark_proofs import fact_landmarks
from planner.questions.state_reachability import reachable_facts
from planner.solve import solve
from planner.validation.validate import validate

F, G = Atom("f"), Atom("g")
GREAT = 10**17


def grow(name: str, value: object, operator: str = "+=") -> Action:
    return Action(name, numbers=(NumericEffect(F, operator, value),))


def fill(name: str, value: object) -> Action:
    return Action(name, numbers=(NumericEffect(G, "+=", value),))


def problem(goal: Comparison, *actions: Action) -> Problem:
    functions = {"f": Function("f"), "g": Function("g")}
    named = {action.name: action for action in actions}
    domain = DomainModel("d", {}, predicates={"p": Predicate("p")}, functions=functions, actions=named)
    return Problem("p", domain, (), (), Goal(goal), {F: 0, G: 5})


MANY = [NumericEffect(F, "+=", Arithmetic("+", (G, GREAT + number))) for number in range(60)]


@pytest.mark.parametrize(
    ("task", "status"),
    [
        (problem(Comparison(F, ">=", 2**50), grow("double", F), grow("one", 1)), Status.OPTIMAL),
        (problem(Comparison(Arithmetic("*", (GREAT, F)), ">=", 3 * GREAT), grow("one", 1)), Status.OPTIMAL),
        (problem(Comparison(F, "=", Decimal("0.000000000003")), grow("tiny", Decimal("1E-12"))), Status.OPTIMAL),
        (problem(Comparison(F, ">=", GREAT), grow("great", GREAT)), Status.OPTIMAL),
        (problem(Comparison(F, ">=", GREAT), grow("t", Decimal("1E-12")), grow("g", GREAT)), Status.OPTIMAL),
        (problem(Comparison(F, "<", 0), Action("many", numbers=tuple(MANY))), Status.UNSUPPORTED),
    ],
)
def test_great_numbers_are_exact_or_refused(task: Problem, status: Status) -> None:
    result = solve(task, mode="first", time_limit=20)
    assert result.status is status or (status, result.status) == (Status.SOLVED, Status.OPTIMAL), result.reason
    if result.plan is not None:
        assert validate(task, result.plan).valid


HALVE, TREBLE = grow("halve", 2, "/="), grow("treble", Decimal("1.5"), "*=")
PRODUCT = Action("square", numbers=(NumericEffect(F, ":=", Arithmetic("*", (F, F))),))


@pytest.mark.parametrize(
    ("task", "status", "length"),
    [
        (problem(Comparison(F, "=", Decimal("0.0625")), HALVE, grow("one", 1)), Status.OPTIMAL, 5),
        (problem(Comparison(F, "=", Decimal("3.375")), TREBLE, grow("one", 1)), Status.OPTIMAL, 4),
        (problem(Comparison(F, "=", 81), PRODUCT, grow("three", 3)), Status.OPTIMAL, 3),
        (problem(Comparison(F, "=", -1), PRODUCT), Status.UNSOLVABLE, None),
        (problem(Comparison(F, "=", -1), PRODUCT, grow("one", 1)), Status.UNSUPPORTED, None),
    ],
)
def test_few_states_are_searched_exactly(task: Problem, status: Status, length: int | None) -> None:
    result = solve(task, time_limit=60)
    assert result.status is status, result.reason
    assert (None if result.plan is None else len(result.plan.steps)) == length
    if status is Status.UNSUPPORTED:
        assert "not linear" in result.reason


def test_costs_that_depend_on_the_state_are_proved_where_states_are_few() -> None:
    """Doubling the fee is cheap while it is low: the metric is the fee at the end."""
    low = replace(grow("double", 2, "*="), requires=Comparison(F, "<", 40))
    task = problem(Comparison(F, ">=", 10), low, replace(grow("seven", 7), requires=Comparison(F, "<", 9)))
    task = replace(task, values={F: 1, G: 5}, metric=NumericMetric(F))
    result = solve(task, time_limit=60)
    assert (result.status, result.cost) == (Status.OPTIMAL, 10)
    assert result.plan is not None
    assert validate(task, result.plan).valid


@pytest.mark.parametrize(
    ("expression", "reason"),
    [(Arithmetic("/", (F, 3)), "is no finite decimal"), (Arithmetic("/", (1, F)), "not linear|has no value")],
)
def test_metrics_without_a_decimal_value_are_refused_by_name(expression: Arithmetic, reason: str) -> None:
    task = replace(problem(Comparison(F, ">=", 1), grow("one", 1)), metric=NumericMetric(expression))
    result = solve(task, time_limit=20)
    assert result.status is Status.UNSUPPORTED
    assert re.search(reason, result.reason)


def test_actions_that_change_numbers_are_relevant_beside_soft_goals() -> None:
    task = problem(Comparison(F, ">=", 1), grow("one", 1))
    task = replace(task, goal=Goal(task.goal.hard, (SoftGoal(Comparison(F, ">=", 3), 5),)))
    result = solve(task, mode="first", time_limit=20)
    assert result.plan is not None
    assert validate(task, result.plan).valid


def test_unknown_facts_beside_numbers_are_supposed() -> None:
    lucky = Action("lucky", when=(When(Atom("p"), numbers=(NumericEffect(F, "+=", 1),)),))
    task = replace(problem(Comparison(F, ">=", 1), lucky), unknown=(Atom("p"),))
    found = solve(task, time_limit=20)
    assert found.status is Status.SOLVED
    assert [(str(each.fact), each.holds) for each in found.expect_plan().suppositions] == [("p", True)]
    assert validate(task, [Step("lucky")]).valid


def test_objects_are_created_beside_numbers() -> None:
    make = Action("make", creates={"?new": "thing"}, numbers=(NumericEffect(F, "+=", 1),))
    task = problem(Comparison(F, ">=", 1), make)
    task = replace(task, domain=replace(task.domain, types={"thing": ()}))
    found = solve(task, time_limit=20)
    assert (found.status, found.cost) == (Status.OPTIMAL, 1)
    assert validate(task, found.expect_plan()).valid


def test_explanations_of_plans_name_the_comparisons_that_steps_serve() -> None:
    task = problem(Comparison(F, ">=", 1), Action("one", requires=Comparison(F, "<", 3)), grow("two", 2))
    found = explain_plan(task, Plan((Step("one"), Step("two")), task))
    assert found.redundant == (1,)
    assert [service.condition for service in found.steps[1].services] == ["f >= 1"]


@pytest.mark.parametrize("question", [fact_landmarks, reachable_facts])
def test_questions_that_do_not_take_numbers_say_so(question) -> None:
    task = problem(Comparison(F, ">=", 1), Action("one", requires=Comparison(F, "<", 3)), grow("two", 2))
    with pytest.raises(UnsupportedError, match="numbers"):
        question(task)


def test_plans_are_not_compared_by_their_length_where_steps_have_no_price() -> None:
    task = problem(Comparison(F, ">=", 4), grow("double", F), grow("one", 1))
    found = solve(replace(task, metric=NumericMetric(F, maximize=True)), time_limit=1)
    assert found.status is Status.SOLVED
    assert found.lower_bound is None
    assert "no bound" in found.reason
    assert validate(task, found.expect_plan().steps).valid


@pytest.mark.parametrize("mode", ["optimal", "anytime"])
@pytest.mark.parametrize(
    ("metric", "actions", "cost"),
    [
        (NumericMetric(F), [grow("double", F), grow("three", 3)], 6),
        (NumericMetric(Arithmetic("/", (F, 4))), [grow("set", 5, ":="), grow("seven", 7)], Decimal("1.25")),
        (NumericMetric(G, maximize=True), [grow("one", 1), fill("fill", 3)], -6),
        (NumericMetric(Arithmetic("-", (F, G))), [grow("one", 1), grow("ten", 10), fill("fill", F)], -3),
        (NumericMetric(Arithmetic("-", (Atom("total-cost"), G))), [grow("one", 1), fill("fill", 3)], 0),
        (NumericMetric(Arithmetic("-", (F, Atom("total-cost")))), [grow("one", 2), fill("fill", -1)], -3),
    ],
)
def test_metrics_that_depend_on_the_state_are_proved(
    metric: NumericMetric, actions: list[Action], cost: Number, mode: str
) -> None:
    """`g` begins at 5, and neither it nor `f` exceeds 12; the goal is that `f` is 4 or more."""
    task = problem(Comparison(F, ">=", 4), *actions)
    functions = {**task.domain.functions, "f": Function("f", high=12), "g": Function("g", low=0, high=12)}
    task = replace(task, domain=replace(task.domain, functions=functions), metric=metric)
    found = solve(task, mode=mode)
    assert found.status is Status.OPTIMAL, found.reason
    assert (found.cost, found.lower_bound) == (cost, cost)
    assert validate(task, found.expect_plan()).valid


def test_circles_that_lower_the_cost_for_ever_end_without_a_proof() -> None:
    """The balance can go round for ever, at a gain; the product keeps all other searches out."""
    gain = Action("gain", numbers=(NumericEffect(F, ":=", Arithmetic("-", (3, F))), NumericEffect(G, "+=", 1)))
    task = problem(Comparison(Arithmetic("*", (F, F)), ">=", 4), gain)
    found = solve(replace(task, metric=NumericMetric(G, maximize=True)), time_limit=60)
    assert found.status is Status.SOLVED
    assert (found.lower_bound, len(found.expect_plan().steps)) == (None, 1)
