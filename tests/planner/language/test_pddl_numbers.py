"""Numbers in PDDL: conditions, effects, values, and metrics (PDDL 2.1, level 2)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from planner.errors import PddlError, UnsupportedError
from planner.language.pddl import parse_condition, parse_domain, parse_problem
from planner.language.pddl.plan_files import read_plan
from planner.language.pddl.syntax import FileWarning
from planner.model import (
    TOTAL_COST,
    And,
    Arithmetic,
    Atom,
    Comparison,
    DomainModel,
    Equals,
    Metric,
    NumericEffect,
    NumericMetric,
    Problem,
    is_numeric,
)
from planner.validation.validate import validate

DOMAIN = """\
(define (domain trucks)
  (:requirements :typing :numeric-fluents :adl)
  (:types truck place)
  (:predicates (at ?t - truck ?p - place) (late ?t - truck) (spare ?t - truck))
  (:functions (fuel ?t - truck) (distance ?a ?b - place) - number (used) (load) - number)
  (:derived (late ?t - truck) (< (fuel ?t) 1))
  (:action drive
    :parameters (?t - truck ?a ?b - place)
    :precondition (and (at ?t ?a) {condition})
    :effect (and (not (at ?t ?a)) (at ?t ?b) {effect})))
"""

PROBLEM = """\
(define (problem one) (:domain trucks)
  (:objects t1 t2 - truck a b - place)
  (:init (at t1 a) (at t2 a) (= (fuel t1) 8.50) (= (fuel t2) -3) (= (used) 4) (= (load) 0)
    (= (distance a a) 0) (= (distance a b) 2) (= (distance b a) 2.25) (= (distance b b) 0) {init})
  (:goal (and (at t1 b) {goal}))
  {metric})
"""

FUEL, DISTANCE, USED, LOAD = Atom("fuel", ("?t",)), Atom("distance", ("?a", "?b")), Atom("used"), Atom("load")


def domain(condition: str = "", effect: str = "") -> DomainModel:
    return parse_domain(DOMAIN.format(condition=condition, effect=effect), "domain.pddl")


def problem(
    condition: str = "", effect: str = "", *, init: str = "", goal: str = "", metric: str = "", text: str = PROBLEM
) -> Problem:
    return parse_problem(text.format(init=init, goal=goal, metric=metric), domain(condition, effect), "problem.pddl")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("(>= (fuel ?t) (+ (distance ?a ?b) 2))", "fuel(?t) >= distance(?a, ?b) + 2"),
        ("(< (FUEL ?T) -1.50)", "fuel(?t) < -1.5"),
        ("(> used\n\t; the fuel\n\t3)", "used > 3"),
        ("(= (fuel ?t) (distance ?a ?b))", "fuel(?t) == distance(?a, ?b)"),
        ("(= (fuel ?t) 3)", "fuel(?t) == 3"),
        ("(= 3 used)", "3 == used"),
        ("(= ?a ?b)", "?a == ?b"),
        ("(not (= ?a ?b))", "?a != ?b"),
        ("(not (= (used) 1))", "used != 1"),
        ("(<= (+ (used) (load) 1) 5)", "used + load + 1 <= 5"),
        ("(<= (+ (used) (+ (load) 1)) 5)", "used + (load + 1) <= 5"),
        ("(<= (- (used) (load) 1) 5)", "(used - load) - 1 <= 5"),
        ("(<= (- (used)) (- 5))", "-used <= -5"),
        ("(<= (* 1 (used)) (/ (load) 4 2))", "1 * used <= (load / 4) / 2"),
        ("(<= (+ (used)) (* 5))", "used <= 5"),
        ("(<= (used) 0.10)", "used <= 0.1"),
        ("(<= (used) 1e2)", "used <= 100"),
    ],
)
def test_conditions_compare_arithmetic(text: str, meant: str) -> None:
    requires = domain(text).actions["drive"].requires
    assert isinstance(requires, And)
    assert str(requires.parts[1]) == meant


def test_comparisons_stand_anywhere_in_conditions() -> None:
    low = "(< (fuel ?x) 2)"
    found = domain(f"(imply (or {low.replace('?x', '?t')} (late ?t)) (forall (?x - truck) (not {low})))")
    assert str(found.actions["drive"].requires) == (
        "at(?t, ?a) and ((fuel(?t) < 2 or late(?t)) implies (for all ?x - truck: not (fuel(?x) < 2)))"
    )
    assert found.axioms[0].condition == Comparison(FUEL, "<", 1)
    goal = problem(goal="(exists (?x - truck) (>= (fuel ?x) (fuel t2)))").goal.hard
    assert str(goal) == "at(t1, b) and (for some ?x - truck: fuel(?x) >= fuel(t2))"


def test_effects_change_numbers() -> None:
    effect = """(decrease (fuel ?t) (distance ?a ?b)) (increase used (* 2 (load))) (assign (load) 0)
        (when (late ?t) (and (scale-up (used) 2) (spare ?t)))
        (forall (?x - truck) (when (spare ?x) (scale-down (fuel ?x) 0.5)))"""
    drive = domain("", effect).actions["drive"]
    assert drive.numbers == (
        NumericEffect(FUEL, "-=", DISTANCE),
        NumericEffect(USED, "+=", Arithmetic("*", (2, LOAD))),
        NumericEffect(LOAD, ":=", 0),
    )
    late, spare = drive.when
    assert (late.numbers, late.provides) == ((NumericEffect(USED, "*=", 2),), (Atom("spare", ("?t",)),))
    assert spare.numbers == (NumericEffect(Atom("fuel", ("?x",)), "/=", Decimal("0.5")),)
    assert [each.name for each in spare.variables] == ["?x"]


def test_effects_on_one_function_add_up() -> None:
    drive = domain("", "(increase (used) 1) (increase (used) 1) (decrease (used) (load))").actions["drive"]
    assert [each.operator for each in drive.numbers] == ["+=", "+=", "-="]
    assert len(domain("", "(assign (used) 1) (assign (used) 1)").actions["drive"].numbers) == 2


def test_outcomes_change_numbers() -> None:
    drive = domain("", "(increase (used) 1) (oneof (increase (used) 1) (decrease (fuel ?t) 2))").actions["drive"]
    add, spend = NumericEffect(USED, "+=", 1), NumericEffect(FUEL, "-=", 2)
    assert [each.numbers for each in drive.outcomes] == [(add, add), (add, spend)]
    assert drive.numbers == (add, add)


def test_values_are_exact_and_have_no_limit() -> None:
    big, fine = "9" * 60, "0." + "123456789" * 8
    found = problem("(> (used) 0)", "(increase (load) 1)", init=f"(= (distance a a) 0.0) (= (fuel t2) {-3})")
    assert found.values[Atom("fuel", ("t1",))] == Decimal("8.5")
    assert found.values[Atom("fuel", ("t2",))] == -3
    text = PROBLEM.replace("(= (used) 4)", f"(= (used) {big})").replace("(= (load) 0)", f"(= (load) (- {fine}))")
    found = problem("(> (used) 0)", f"(increase (load) {fine})", text=text)
    assert found.values[USED] == int(big)
    assert found.values[LOAD] == Decimal("-" + fine)
    assert found.domain.actions["drive"].numbers[0].value == Decimal(fine)


def test_names_of_functions_need_no_types() -> None:
    text = DOMAIN.replace("(:functions", "(:FUNCTIONS\t(spare)").replace("(spare ?t - truck)", "")
    found = parse_domain(text.format(condition="(> (Spare) 0)", effect=""))
    assert "spare" in found.functions


def test_functions_may_be_undeclared() -> None:
    start, rest = DOMAIN.split("  (:functions")
    text = start + rest.partition("\n")[2]
    found = parse_domain(text.format(condition="(> (fuel ?t) (weight))", effect="(assign (weight) 2)"))
    assert set(found.functions) == {"fuel", "weight"}


def test_conditions_in_python_compare_numbers() -> None:
    assert parse_condition("(>= (fuel ?r) (+ (distance hall ?x) 2))") == Comparison(
        Atom("fuel", ("?r",)), ">=", Arithmetic("+", (Atom("distance", ("hall", "?x")), 2))
    )
    assert parse_condition("(= ?x 3)") == Equals("?x", "3")


COSTS = "(increase (used) (* 2 (distance ?a ?b)))"


@pytest.mark.parametrize(
    ("effect", "metric", "cost"),
    [
        (COSTS, "minimize (used)", ["2 * distance(?a, ?b)"]),
        (COSTS, "maximize (- 7 (* 3 (used)))", ["3 * (2 * distance(?a, ?b))"]),
        ("(decrease (used) 2)", "maximize (/ (used) 4)", ["0.5"]),
        (COSTS + "(increase (total-cost) 1)", "minimize (+ (total-cost) (used))", ["1", "2 * distance(?a, ?b)"]),
        (COSTS + "(increase (total-cost) 1)", "minimize (total-cost)", ["1"]),
        ("(increase (total-cost) 1)", "minimize (* 2 (total-cost))", ["2"]),
        (COSTS, "minimize (+ (* 4 (total-time)) (used))", ["4", "2 * distance(?a, ?b)"]),
        (COSTS, "minimize (* 2 (total-time))", ["2"]),
        ("(increase (total-cost) (- 3 (distance ?a ?b)))", "minimize (total-cost)", ["3 - distance(?a, ?b)"]),
        (COSTS, "minimize (* (distance a b) (total-time))", ["2"]),
    ],
)
def test_what_only_the_metric_counts_is_a_cost(effect: str, metric: str, cost: list[str]) -> None:
    found = problem("", effect, metric=f"(:metric {metric})")
    assert found.metric is Metric.COST
    assert sorted(map(str, found.domain.actions["drive"].cost)) == sorted(cost)
    if "(used)" in metric:
        assert USED not in found.values
        assert "used" not in found.domain.functions


@pytest.mark.parametrize(
    ("condition", "effect", "init", "metric"),
    [
        ("(< (used) 9)", COSTS, "", "minimize used"),
        ("", COSTS + "(assign (load) (used))", "", "minimize used"),
        ("", "(decrease (used) 1)", "", "minimize used"),
        ("", "(increase (used) (load)) (increase (load) 1)", "", "minimize used"),
        ("", "(when (late ?t) (increase (used) 1))", "", "minimize used"),
        ("", "(increase (used) (fuel ?t))", "", "minimize used"),
        ("", "(increase (used) (/ 1 3))", "", "minimize used"),
        ("", "(scale-up (used) 2)", "", "minimize used"),
        ("", COSTS, "", "minimize used * used"),
        ("", COSTS + "(increase (load) (used))", "", "minimize used + load"),
        ("", COSTS, "", "maximize used"),
    ],
)
def test_other_metrics_stay_expressions(condition: str, effect: str, init: str, metric: str) -> None:
    word, _, expression = metric.partition(" ")
    written = {"used": "(used)", "used * used": "(* (used) (used))", "used + load": "(+ (used) (load))"}[expression]
    found = problem(condition, effect, init=init, metric=f"(:metric {word} {written})")
    assert isinstance(found.metric, NumericMetric)
    assert str(found.metric) == metric
    assert found.values[USED] == 4


def test_a_goal_that_reads_a_function_keeps_it() -> None:
    found = problem("", COSTS, goal="(<= (used) 9)", metric="(:metric minimize (used))")
    assert found.metric == NumericMetric(USED)


def test_partial_tables_are_no_costs() -> None:
    text = PROBLEM.replace("(= (distance b b) 0)", "")
    assert problem("", COSTS, metric="(:metric minimize (used))", text=text).metric == NumericMetric(USED)


def test_total_time_counts_steps() -> None:
    assert problem("", COSTS, metric="(:metric minimize (total-time))").metric is Metric.LENGTH
    found = problem("(< (used) 9)", COSTS, metric="(:metric minimize (+ (* 2 total-time) (used)))")
    assert found.metric == NumericMetric(Arithmetic("+", (Arithmetic("*", (2, TOTAL_COST)), USED)))
    assert found.domain.actions["drive"].cost == (1,)


def test_the_total_cost_may_be_maximized() -> None:
    found = problem("", "(increase (total-cost) 2)", metric="(:metric maximize (total-cost))")
    assert found.metric == NumericMetric(TOTAL_COST, maximize=True)
    assert found.domain.actions["drive"].cost == (2,)


@pytest.mark.parametrize(
    ("condition", "effect"),
    [
        ("", "(increase (total-cost) (fuel ?t)) (decrease (fuel ?t) 1)"),
        ("", "(when (late ?t) (increase (total-cost) 1))"),
        ("", "(increase (total-cost) 2) (increase (used) -1) (decrease (total-cost) 1)"),
        ("", "(increase (used) 1) (increase (total-cost) -1)"),
        ("", "(increase (used) 1) (increase (total-cost) (- (distance ?a ?b) 1))"),
    ],
)
def test_a_total_cost_that_is_no_cost_is_a_function(condition: str, effect: str) -> None:
    found = problem(condition, effect, init="(= (total-cost) 5)", metric="(:metric minimize (total-cost))")
    assert found.metric == NumericMetric(Atom("total_cost"))
    assert found.values[Atom("total_cost")] == 5
    assert found.domain.actions["drive"].cost == ()


def test_a_total_cost_that_conditions_read_is_a_cost_and_a_function() -> None:
    added = NumericEffect(Atom("total_cost"), "+=", 2)
    condition, goal = "(< (total-cost) 9)", "(< total-cost 9)"
    metric = "(:metric minimize (total-cost))"
    for found in (
        problem(condition, "(increase (total-cost) 2)", metric=metric, init="(= (total-cost) 0)"),
        problem("", "(increase (total-cost) 2)", metric=metric, init="(= (total-cost) 0)", goal=goal),
    ):
        assert found.metric is Metric.COST
        assert found.domain.actions["drive"].cost == (2,)
        assert found.domain.actions["drive"].numbers == (added,)
        assert found.values[Atom("total_cost")] == 0


def test_the_total_cost_of_a_classical_problem_is_no_function() -> None:
    found = problem("", "(increase (total-cost) 2)", init="(= (total-cost) 0)")
    assert "total_cost" not in found.domain.functions
    assert Atom("total_cost") not in found.values


def test_violated_preferences_beside_costs() -> None:
    goal = "(preference p (at t2 a))"
    found = problem("", COSTS, goal=goal, metric="(:metric minimize (+ (used) (* 3 (is-violated p))))")
    assert [str(each) for each in found.domain.actions["drive"].cost] == ["2 * distance(?a, ?b)"]
    assert found.goal.soft[0].utility == 3
    with pytest.raises(UnsupportedError, match=r"violated preferences beside numbers .* at problem.pddl:6:3"):
        problem("(< (used) 9)", COSTS, goal=goal, metric="(:metric minimize (+ (used) (is-violated p)))")


def test_costs_of_classical_problems_keep_their_limits() -> None:
    metric = "(:metric minimize (total-cost))"
    text = DOMAIN.replace("  (:derived (late ?t - truck) (< (fuel ?t) 1))\n", "")
    for term, message in [("-1", "found '-1', expected a cost"), ("1e18", "10^18 or more")]:
        with pytest.raises(PddlError) as caught:
            parse_domain(text.format(condition="", effect=f"(increase (total-cost) {term})"), "domain.pddl")
        assert message in str(caught.value)
        values = PROBLEM.replace("(= (distance a b) 2)", f"(= (distance a b) {term})").replace("-3", "3")
        classical = parse_domain(text.format(condition="", effect="(increase (total-cost) (distance ?a ?b))"))
        with pytest.raises(PddlError) as caught:
            parse_problem(values.format(init="", goal="", metric=metric), classical, "problem.pddl")
        assert message in str(caught.value)


def test_domains_whose_names_differ_by_a_dash_belong_together() -> None:
    text = DOMAIN.replace("(domain trucks)", "(domain big_trucks)")
    both = parse_domain(text.format(condition="", effect=""))
    with pytest.warns(FileWarning, match="'big-trucks' is taken to be 'big_trucks'"):
        found = parse_problem(
            PROBLEM.replace("(:domain trucks)", "(:domain big-trucks)").format(init="", goal="", metric=""), both
        )
    assert is_numeric(found)


def test_plans_cost_what_they_change_of_the_metric() -> None:
    effect = "(decrease (fuel ?t) 2) (when (> (fuel ?t) 7) (increase (used) 1))"
    found = problem("(>= (fuel ?t) 2)", effect, metric="(:metric minimize (- (used) (fuel t1)))")
    plan = read_plan("(drive t1 a a)\n(drive t1 a b)\n", found)
    assert [step.cost for step in plan.steps] == [3, 2]
    assert validate(found, plan).valid
    short = read_plan("(drive t1 a b)\n(drive t2 a b)\n", found)
    assert [step.cost for step in short.steps] == [3, 0]
    assert "but fuel(t2) is -3" in validate(found, short).reason
