"""The meaning of numbers as tables: a state and an action give values, or why it cannot be applied."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from planner.model import (
    Action,
    Arithmetic,
    Atom,
    Axiom,
    Comparison,
    DomainModel,
    Exists,
    Forall,
    Function,
    Goal,
    Metric,
    Not,
    NumericEffect,
    NumericMetric,
    Object,
    Or,
    Predicate,
    Problem,
    Variable,
    When,
)
from planner.model.formulas import TRUE
from planner.model.problem import TOTAL_COST
from planner.plan import Step
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps

F, G, U, P, STEP = Atom("f"), Atom("g"), Atom("u"), Atom("p"), Step("act")
Y = Variable("?y", ("thing",))
LEVEL = Atom("level", ("?y",))


def problem(action: Action, *, goal=TRUE, metric=Metric.COST, initial=(P,)) -> Problem:
    """Return a problem with f = 2 in [-1, 10], g = 5, level(a) = 1, level(b) = 2, u undefined, static k = 3."""
    functions = {name: Function(name) for name in ("g", "u", "k")}
    functions |= {"f": Function("f", (), -1, 10), "level": Function("level", (Y,))}
    noise = [Action(f"set-{name}", numbers=(NumericEffect(Atom(name), ":=", 0),)) for name in ("f", "g", "u")]
    domain = DomainModel(
        "d",
        {"thing": ()},
        predicates={"p": Predicate("p"), "f": Predicate("f"), "rich": Predicate("rich")},
        functions=functions,
        actions={each.name: each for each in (action, *noise)},
        axioms=(Axiom("rich", (), Comparison(F, ">=", 3)),),
    )
    values = {F: 2, G: 5, Atom("k"): 3, Atom("level", ("a",)): 1, Atom("level", ("b",)): 2}
    objects = (Object("a", ("thing",)), Object("b", ("thing",)))
    return Problem("p", domain, objects, initial, Goal(goal), values, metric)


def values_after(action: Action) -> dict[str, object] | str:
    """Return the values of f, g and u after the action, or the objection to it."""
    simulation = Simulation(problem(action))
    objection = simulation.find_objection(STEP)
    if objection is not None:
        return objection.misfit or str(objection.condition)
    simulation.apply(STEP)
    return {str(fluent): value for fluent, value in simulation.values.items()}


def change(fluent: Atom, operator: str, value: object) -> NumericEffect:
    return NumericEffect(fluent, operator, value)


def plus(*operands: object) -> Arithmetic:
    return Arithmetic("+", operands)


BOTH = Or((Comparison(F, ">", 0), P))
EFFECTS = {
    "two increases add up": ([change(F, "+=", 1), change(F, "+=", 1)], (), {"f": 4}),
    "an increase and a decrease add up": ([change(F, "+=", 9), change(F, "-=", 3)], (), {"f": 8}),
    "effects read the state before": ([change(F, ":=", G), change(G, ":=", F)], (), {"f": 5, "g": 2}),
    "a fluent is added to itself": ([change(F, "+=", F)], (), {"f": 4}),
    "a third is exact": ([change(F, ":=", Arithmetic("/", (1, 3)))], (), {"f": Fraction(1, 3)}),
    "decimals are exact": ([change(F, "-=", Decimal("0.1"))], (), {"f": Fraction(19, 10)}),
    "scaling": ([change(F, "*=", 3), change(G, "/=", 2)], (), {"f": 6, "g": Fraction(5, 2)}),
    "an assignment defines": ([change(U, ":=", 7)], (), {"u": 7}),
    "bounds hold for the sum": ([change(F, "+=", 9), change(F, "-=", 1)], (), {"f": 10}),
    "a bound may be reached": ([change(F, "-=", 3)], (), {"f": -1}),
    "below the least value": ([change(F, "-=", Decimal("3.5"))], (), "f - 3.5 >= -1"),
    "above the greatest value": ([change(F, ":=", 11)], (), "11 <= 10"),
    "an undefined fluent cannot grow": ([change(U, "+=", 1)], (), "the value of u, which is undefined"),
    "zero times undefined is undefined": ([change(F, ":=", Arithmetic("*", (0, U)))], (), "u, which is undefined"),
    "undefined less itself is undefined": ([change(F, "+=", Arithmetic("-", (U, U)))], (), "u, which is undefined"),
    "zero times itself is undefined": ([change(U, "*=", 0)], (), "the value of u, which is undefined"),
    "division by nothing": ([change(F, "/=", 0)], (), "divides by 0"),
    "division by what is 0 now": ([change(F, ":=", Arithmetic("/", (1, Arithmetic("-", (F, 2)))))], (), "divides by 0"),
    "assignment beside increase": ([change(F, ":=", 1), change(F, "+=", 1)], (), "exclude each other"),
    "two scalings": ([change(F, "*=", 2), change(F, "*=", 2)], (), "exclude each other"),
    "two assignments": ([change(F, ":=", 1), change(F, ":=", 2)], (), "exclude each other"),
    "an effect under two conditions that hold": ([], [When(BOTH, numbers=(change(F, "+=", 1),))], {"f": 3}),
    "one effect for each object": ([], [When(TRUE, (), (), (Y,), (change(F, "+=", 1),))], {"f": 4}),
    "the values of all objects": ([], [When(TRUE, (), (), (Y,), (change(F, "+=", LEVEL),))], {"f": 5}),
    "one effect for any object": (
        [],
        [When(Exists((Y,), Comparison(LEVEL, ">", 0)), numbers=(change(F, "+=", 1),))],
        {"f": 3},
    ),
    "the same assignment for each object": ([], [When(TRUE, (), (), (Y,), (change(F, ":=", 1),))], {"f": 1}),
    "other assignments for each object": ([], [When(TRUE, (), (), (Y,), (change(F, ":=", LEVEL),))], "exclude each"),
    "an assignment under a condition excludes": (
        [change(F, "+=", 1)],
        [When(P, numbers=(change(F, ":=", 1),))],
        "exclude each other",
    ),
    "an assignment under a condition that fails": (
        [change(F, "+=", 1)],
        [When(Not(P), numbers=(change(F, ":=", 1),))],
        {"f": 3},
    ),
    "a condition reads the state before": (
        [change(F, "+=", 1)],
        [When(Atom("rich"), numbers=(change(G, "+=", 1),))],
        {"f": 3, "g": 5},
    ),
    "a conditional effect without a value": ([], [When(P, numbers=(change(F, ":=", U),))], "u, which is undefined"),
    "a conditional effect that does not happen": ([], [When(Not(P), numbers=(change(F, ":=", U),))], {"f": 2}),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects(name: str) -> None:
    numbers, when, expected = EFFECTS[name]
    found = values_after(Action("act", numbers=tuple(numbers), when=tuple(when)))
    if isinstance(expected, str):
        assert isinstance(found, str)
        assert expected in found
    else:
        assert isinstance(found, dict), found
        assert found == {"f": 2, "g": 5} | expected


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Comparison(F, "=", 2), True),
        (Comparison(F, "=", Decimal("2.0000000000000001")), False),
        (Comparison(F, ">", 2), False),
        (Not(Comparison(F, ">", 2)), True),
        (Not(Comparison(F, "=", 2)), False),
        (Comparison(plus(F, Atom("k")), "=", G), True),
        (Comparison(Arithmetic("*", (Arithmetic("/", (F, 3)), 3)), "=", 2), True),
        (Comparison(U, "=", U), False),
        (Not(Comparison(U, "=", U)), True),
        (Comparison(U, "<", 1), False),
        (Not(Comparison(U, "<", 1)), True),
        (Comparison(U, ">=", 1), False),
        (Comparison(Arithmetic("-", (U, U)), "=", 0), False),
        (Comparison(Arithmetic("/", (F, 0)), ">=", 0), False),
        (Not(Comparison(Arithmetic("/", (F, Arithmetic("-", (F, F)))), ">=", 0)), True),
        (Atom("rich"), False),
        (Not(Atom("rich")), True),
        (Forall((Y,), Comparison(LEVEL, ">=", 1)), True),
        (Forall((Y,), Comparison(LEVEL, ">=", 2)), False),
        (Exists((Y,), Comparison(LEVEL, "=", F)), True),
        (Atom("f"), False),
    ],
    ids=str,
)
def test_conditions(condition, holds: bool) -> None:
    task = problem(Action("act", requires=condition), goal=condition)
    simulation = Simulation(task)
    assert simulation.holds(condition) is holds
    assert (simulation.find_objection(STEP) is None) is holds
    assert check_steps(task, []).valid is holds


def test_derived_facts_follow_numbers_alone() -> None:
    simulation = Simulation(problem(Action("act", numbers=(change(F, "+=", 1),))))
    assert not simulation.holds(Atom("rich"))
    simulation.apply(STEP)
    assert simulation.holds(Atom("rich"))


@pytest.mark.parametrize(
    ("metric", "cost"),
    [
        (NumericMetric(F), -3),
        (NumericMetric(F, maximize=True), 3),
        (NumericMetric(plus(F, TOTAL_COST)), -1),
        (NumericMetric(Arithmetic("*", (2, TOTAL_COST)), maximize=True), -4),
        (NumericMetric(Arithmetic("*", (F, G))), -15),
        (Metric.COST, 2),
        (Metric.LENGTH, 1),
    ],
    ids=str,
)
def test_the_cost_of_a_step_is_what_it_adds_to_the_metric(metric, cost: int) -> None:
    task = problem(Action("act", numbers=(change(F, "-=", 3),), cost=(2,)), metric=metric)
    assert Simulation(task).cost(STEP) == cost
    verdict = check_steps(task, [STEP])
    assert verdict.valid
    assert verdict.cost == cost
