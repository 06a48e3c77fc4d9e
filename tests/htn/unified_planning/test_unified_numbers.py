"""Hierarchical problems with numbers, both ways: the same answers, and plans that are replayed on each side."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from numeric_hierarchies import random_numeric_htn
from unified_planning.engines import PlanGenerationResultStatus, ValidationResultStatus
from unified_planning.engines.sequential_simulator import UPSequentialSimulator
from unified_planning.model.htn import HierarchicalProblem, Method
from unified_planning.model.htn import Task as ForeignTask
from unified_planning.shortcuts import (
    GE,
    LT,
    Fluent,
    InstantaneousAction,
    IntType,
    MaximizeExpressionOnFinalState,
    MinimizeActionCosts,
    MinimizeExpressionOnFinalState,
    MinimizeSequentialPlanLength,
    Plus,
    RealType,
    Times,
)
from unified_planning.shortcuts import Problem as ForeignProblem

from benchmarks.random_hierarchies import HtnFeatures
from htn.language.hddl.hddl_reader import parse_domain, parse_problem
from htn.model import HtnProblem
from htn.unified_planning import to_ground_unified_planning
from htn.verification.plan_verification import validate
from planner import Status, solve
from planner.errors import UnsupportedError
from planner.plan import Result
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning
from planner.unified_planning.engine import ForethoughtEngine, ForethoughtOptimalEngine

TRIPS = """\
(define (domain trips) (:requirements :typing :hierarchy :numeric-fluents)
  (:types place)
  (:predicates (at ?p - place))
  (:functions (fuel) (paid) (far ?a ?b - place) (total-cost))
  (:task get :parameters (?p - place))
  (:task fill :parameters (?a ?b - place))
  (:method full :parameters (?a ?b - place) :task (fill ?a ?b) :precondition (>= (fuel) (far ?a ?b))
    :ordered-subtasks (and))
  (:method more :parameters (?a ?b - place) :task (fill ?a ?b) :precondition (< (fuel) (far ?a ?b))
    :ordered-subtasks (and (refuel) (fill ?a ?b)))
  (:method drive :parameters (?a ?p - place) :task (get ?p) :precondition (at ?a)
    :ordered-subtasks (and (fill ?a ?p) (go ?a ?p)))
  (:action refuel :effect (and (increase (fuel) 2.5) (increase (paid) 0.75) (increase (total-cost) 1)))
  (:action go :parameters (?a ?b - place) :precondition (and (at ?a) (>= (fuel) (far ?a ?b)))
    :effect (and (not (at ?a)) (at ?b) (decrease (fuel) (far ?a ?b)) (increase (total-cost) 3))))
"""
TRIP = """\
(define (problem two) (:domain trips) (:objects x y z - place)
  (:htn :ordered-subtasks (and (get y) (get z)))
  (:init (at x) (= (fuel) 1) (= (paid) 0) (= (total-cost) 0) (= (far x y) 4) (= (far y z) 7))
  (:metric {metric}))
"""


def trip(metric: str, **bounds: int) -> HtnProblem:
    """Return a problem with two ways of 4 and 7 for a car that has fuel for 1; `bounds` are those of its fuel."""
    problem = parse_problem(TRIP.format(metric=metric), parse_domain(TRIPS))
    classical = problem.domain.classical
    functions = {**classical.functions, "fuel": replace(classical.functions["fuel"], **bounds)}
    domain = replace(classical, functions=functions)
    whole = replace(problem.domain, classical=domain)
    return replace(problem, domain=whole, classical=replace(problem.classical, domain=domain))


def replay_flat(source: HierarchicalProblem, plan) -> dict[str, Fraction]:
    """Carry out the steps of `plan` by unified-planning's simulator; return the values of the numeric fluents."""
    flat = ForeignProblem(source.name, source.environment)
    flat.add_objects(source.all_objects)
    for fluent in source.fluents:
        flat.add_fluent(fluent, default_initial_value=source.fluents_defaults.get(fluent))
    for fluent, value in source.explicit_initial_values.items():
        flat.set_initial_value(fluent, value)
    flat.add_actions([action.clone() for action in source.actions])
    simulator = UPSequentialSimulator(flat, error_on_failed_checks=False)
    state = simulator.get_initial_state()
    for each in plan.action_plan.actions:
        state = simulator.apply(state, flat.action(each.action.name), each.actual_parameters)
        assert state is not None, each
    return {
        fluent.name: Fraction(state.get_value(fluent()).constant_value())
        for fluent in source.fluents
        if not fluent.arity and not fluent.type.is_bool_type()
    }


def there_and_back(problem: HtnProblem) -> Result:
    """Solve what `problem` becomes there and back; its plan is replayed on both sides, and is priced alike."""
    outgoing = to_unified_planning(problem)
    incoming = from_unified_planning(outgoing.problem)
    result = solve(incoming.problem, time_limit=5)
    if result.plan is not None:
        theirs = incoming.plan(result.plan)
        assert incoming.verdict(theirs).valid
        ours = outgoing.plan(theirs)
        verdict = validate(problem, ours)
        assert verdict.valid, verdict.reason
        assert ours.cost == verdict.cost
        assert incoming.read(theirs).cost == result.cost
    return result


@pytest.mark.parametrize(
    ("metric", "cost", "status"),
    [
        ("minimize (total-cost)", 10, Status.OPTIMAL),
        ("minimize (paid)", 3, Status.OPTIMAL),
        ("minimize (+ (paid) (* 2 (total-cost)))", 23, Status.OPTIMAL),
        ("maximize (fuel)", 1, Status.OPTIMAL),
    ],
)
def test_metrics_there_and_back(metric: str, cost: int, status: Status) -> None:
    problem = trip(metric)
    before, after = solve(problem), there_and_back(problem)
    assert (before.status, after.status) == (status, status)
    assert before.cost == after.cost == cost


@pytest.mark.parametrize("bounds", [{"low": 0, "high": 20}, {"low": 0, "high": 2}, {"low": 0, "high": 7}])
def test_bounds_there_and_back(bounds: dict[str, int]) -> None:
    problem = trip("minimize (total-cost)", **bounds)
    before, after = solve(problem), there_and_back(problem)
    assert (before.status, before.cost) == (after.status, after.cost)
    assert before.has_plan == (bounds["high"] > 2)


@pytest.mark.parametrize("block", range(10))
def test_random_hierarchies_there_and_back(block: int) -> None:
    compared = 0
    for seed in range(500 + 12 * block, 512 + 12 * block):
        problem = random_numeric_htn(seed, HtnFeatures(partial=bool(seed % 2)))
        try:
            to_unified_planning(problem)
        except UnsupportedError:
            continue
        before, after = solve(problem, time_limit=5), there_and_back(problem)
        proofs = {Status.OPTIMAL, Status.UNSOLVABLE}
        if before.status in proofs and after.status in proofs:
            compared += 1
            assert (before.status, before.cost) == (after.status, after.cost), seed
    assert compared > 3


class Garden:
    """A problem of unified-planning: carry water to a plant until it has enough."""

    def __init__(self, kind=None) -> None:
        self.water, self.poured = Fluent("water", kind or IntType(0, 4)), Fluent("poured", RealType())
        self.load, self.pour = InstantaneousAction("load"), InstantaneousAction("pour")
        self.load.add_increase_effect(self.water, 2)
        self.pour.add_precondition(GE(self.water, 1))
        self.pour.add_decrease_effect(self.water, 1)
        self.pour.add_increase_effect(self.poured, Times(2, self.water))
        self.problem = HierarchicalProblem("garden")
        for fluent in (self.water, self.poured):
            self.problem.add_fluent(fluent, default_initial_value=0)
        self.problem.add_actions([self.load, self.pour])
        self.grow: ForeignTask = self.problem.add_task("grow")
        for name, subtasks, condition in (
            ("done", [], GE(self.poured, 9)),
            ("fetch", [self.load, self.grow], LT(self.poured, 9)),
            ("give", [self.pour, self.grow], LT(self.poured, 9)),
        ):
            method = Method(name)
            method.set_task(self.grow)
            method.add_precondition(condition)
            method.set_ordered(*[method.add_subtask(each) for each in subtasks])
            self.problem.add_method(method)
        self.problem.task_network.add_subtask(self.grow)


def test_an_engine_solves_until_there_is_enough() -> None:
    garden = Garden()
    garden.problem.add_quality_metric(MinimizeSequentialPlanLength())
    result = ForethoughtOptimalEngine().solve(garden.problem, timeout=20)
    assert result.status is PlanGenerationResultStatus.SOLVED_OPTIMALLY
    assert len(result.plan.action_plan.actions) == 4
    assert replay_flat(garden.problem, result.plan)["poured"] >= 9
    assert ForethoughtEngine().validate(garden.problem, result.plan).status is ValidationResultStatus.VALID


def test_bounds_of_types_are_kept() -> None:
    garden = Garden(IntType(0, 2))
    result = ForethoughtOptimalEngine().solve(garden.problem, timeout=20)
    assert len(result.plan.action_plan.actions) == 5
    assert replay_flat(garden.problem, result.plan)["poured"] >= 9
    wider = from_unified_planning(Garden(IntType(0, 4)).problem)
    shorter = from_unified_planning(garden.problem)
    steps = solve(wider.problem, mode="optimal").plan
    assert not validate(shorter.problem, replace(steps, problem=shorter.problem)).valid


@pytest.mark.parametrize("maximize", [False, True])
def test_metrics_of_the_final_state_have_their_values(maximize: bool) -> None:
    garden = Garden()
    kind = MaximizeExpressionOnFinalState if maximize else MinimizeExpressionOnFinalState
    garden.problem.add_quality_metric(kind(Plus(garden.poured, 5)))
    result = ForethoughtEngine(mode="first").solve(garden.problem, timeout=20)
    assert result.plan is not None
    verdict = ForethoughtEngine().validate(garden.problem, result.plan)
    value = replay_flat(garden.problem, result.plan)["poured"] + 5
    assert list(verdict.metric_evaluations.values()) == [value]


def test_costs_that_depend_on_the_state_are_added_up() -> None:
    garden = Garden(RealType(Fraction(0), Fraction(9, 2)))
    garden.problem.add_quality_metric(MinimizeActionCosts({garden.load: 1, garden.pour: Plus(garden.water, 1)}))
    result = ForethoughtEngine(mode="first").solve(garden.problem, timeout=20)
    verdict = ForethoughtEngine().validate(garden.problem, result.plan)
    cost, water = 0, 0
    for each in result.plan.action_plan.actions:
        cost += 1 if each.action.name == "load" else water + 1
        water += 2 if each.action.name == "load" else -1
    assert list(verdict.metric_evaluations.values()) == [cost]


def test_an_action_whose_effects_exclude_each_other_is_never_applicable() -> None:
    garden = Garden()
    garden.problem.action("load").add_effect(garden.water, 1, GE(garden.poured, 0))
    incoming = from_unified_planning(garden.problem)
    assert solve(incoming.problem, time_limit=10).plan is None
    again = from_unified_planning(to_unified_planning(incoming.problem).problem)
    assert solve(again.problem, time_limit=10).plan is None


def test_the_ground_form_takes_no_numbers() -> None:
    with pytest.raises(UnsupportedError, match="numbers, such as 'fuel', in the ground form"):
        to_ground_unified_planning(trip("minimize (total-cost)"))
