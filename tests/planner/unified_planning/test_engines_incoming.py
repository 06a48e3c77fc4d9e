"""What is read from unified-planning, and what is not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from unified_planning.shortcuts import (
    GT,
    Always,
    And,
    BoolType,
    Div,
    Fluent,
    InstantaneousAction,
    IntType,
    MaximizeExpressionOnFinalState,
    MinimizeActionCosts,
    MinimizeSequentialPlanLength,
    Minus,
    Not,
    Object,
    Problem,
    RealType,
    SimulatedEffect,
    Sometime,
    Times,
    UserType,
    Variable,
)
from unified_planning.shortcuts import Exists as ThereIs
from unified_planning.shortcuts import Forall as ForAll

from planner.errors import PlanError, UnsupportedError
from planner.model import OPEN, Atom, Equals, Exists, Metric, When
from planner.model import Not as Negation
from planner.plan import Step
from planner.semantics.simulation import Simulation
from planner.semantics.step_effects import cost_of
from planner.unified_planning.conversion import from_unified_planning
from planner.unified_planning.problem_features import SUPPORTED, describe_features
from planner.unified_planning.problem_reader import Incoming


class Shop:
    """A problem to add to: places, a box that is at one of them, and an action."""

    def __init__(self) -> None:
        self.place = UserType("place")
        self.where = Fluent("where", self.place, place=self.place)
        self.open = Fluent("open", BoolType(), place=self.place)
        self.toll = Fluent("toll", RealType(), place=self.place)
        self.problem = Problem("shop")
        self.problem.add_fluent(self.where, default_initial_value=Object("hall", self.place))
        self.problem.add_fluent(self.open, default_initial_value=False)
        self.problem.add_fluent(self.toll)
        self.hall, self.yard = Object("hall", self.place), Object("yard", self.place)
        self.problem.add_objects([self.hall, self.yard])
        self.action = InstantaneousAction("go", p=self.place, q=self.place)
        self.action.add_effect(self.open(self.action.p), value=True)
        self.problem.add_action(self.action)

    def read(self) -> Incoming:
        return from_unified_planning(self.problem)

    def cost(self, expression: object) -> object:
        self.problem.add_quality_metric(MinimizeActionCosts({self.action: expression}))
        (cost,) = self.read().problem.domain.actions["go"].cost
        return cost


def test_an_object_fluent_is_a_predicate_of_one_value() -> None:
    shop = Shop()
    shop.action.add_effect(shop.where(shop.action.p), shop.where(shop.action.q))
    shop.problem.add_goal(shop.where(shop.hall).Equals(shop.yard))
    read = shop.read().problem
    assert read.initial == (Atom("where", ("hall", "hall")), Atom("where", ("yard", "hall")))
    assert read.goal.hard == Atom("where", ("hall", "yard"))
    (effect,) = read.domain.actions["go"].when
    (value,) = [variable.name for variable in effect.variables]
    assert effect == When(
        Atom("where", ("?q", value)),
        (Atom("where", ("?p", value)),),
        (Atom("where", ("?p", OPEN)),),
        effect.variables,
    )


def test_two_object_fluents_are_compared_through_a_variable() -> None:
    shop = Shop()
    shop.problem.add_goal(shop.where(shop.hall).Equals(shop.where(shop.yard)))
    goal = shop.read().problem.goal.hard
    assert isinstance(goal, Exists)
    assert any(isinstance(part, Equals) for part in goal.part.parts)


def test_several_assignments_to_one_fluent_may_not_differ() -> None:
    shop = Shop()
    shop.action.add_effect(shop.where(shop.action.p), shop.hall)
    shop.action.add_effect(shop.where(shop.action.q), shop.yard)
    shop.action.add_effect(shop.where(shop.action.q), shop.yard, condition=shop.open(shop.action.q))
    requires = shop.read().problem.domain.actions["go"].requires
    assert str(requires).count("?p == ?q and hall != yard") == 2


def test_names_that_mean_something_to_us_are_changed() -> None:
    shop = Shop()
    shop.problem.add_objects([Object("_", shop.place), Object("?p", shop.place), Object("x_", shop.place)])
    names = [item.name for item in shop.read().problem.objects]
    assert names == ["hall", "yard", "x_", "x?p", "x_-2"]


def test_plans_go_both_ways() -> None:
    shop = Shop()
    incoming, steps = shop.read(), (Step("go", ("yard", "hall")), Step("go", ("hall", "hall")))
    assert incoming.steps(incoming.plan(steps)) == steps


def test_without_a_metric_length_counts() -> None:
    assert Shop().read().problem.metric is Metric.LENGTH


def test_costs_that_are_no_sums_are_computed() -> None:
    shop = Shop()
    shop.problem.set_initial_value(shop.toll(shop.hall), Fraction(5, 2))
    cost = shop.cost(Times(Minus(shop.toll(shop.action.p), 1), Div(shop.toll(shop.action.q), 2)))
    assert str(cost) == "(toll(?p) - 1) * (toll(?q) / 2)"
    read = shop.read().problem
    action = read.domain.actions["go"]
    assert cost_of(read, action, {"?p": "hall", "?q": "hall"}) == Decimal("1.875")
    with pytest.raises(PlanError, match=r"toll\(yard\)"):
        cost_of(read, action, {"?p": "hall", "?q": "yard"})


@pytest.mark.parametrize(
    ("given", "read"), [(3, 3), (0.1, Decimal("0.1")), (Fraction(1, 8), Decimal("0.125")), (Fraction(4, 2), 2)]
)
def test_constant_costs_are_exact(given: object, read: object) -> None:
    assert Shop().cost(given) == read


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (-1, "the negative cost -1"),
        (Fraction(1, 3), "the cost 1/3, which has no exact decimal; scale all numbers of its kind"),
        (10**20, "the cost 100000000000000000000: a number of 10^18 or more is out of range"),
    ],
)
def test_costs_that_are_none(given: object, message: str) -> None:
    with pytest.raises(UnsupportedError, match=f"unsupported: {message.replace('^', chr(92) + '^')}$"):
        Shop().cost(given)


def _trajectory(shop: Shop) -> None:
    shop.problem.add_trajectory_constraint(Sometime(shop.open(shop.hall)))


def _thirds(shop: Shop) -> None:
    shop.problem.set_initial_value(shop.toll(shop.hall), Fraction(1, 3))
    shop.problem.add_goal(GT(shop.toll(shop.hall), 1))


def _number_parameter(shop: Shop) -> None:
    shop.action = InstantaneousAction("count", n=IntType(0, 3))
    shop.problem.add_action(shop.action)


def _several_values(shop: Shop) -> None:
    each, other = Variable("each", shop.place), Variable("other", shop.place)
    shop.problem.set_initial_value(shop.toll(shop.hall), 1)
    shop.action.add_effect(shop.toll(each), shop.toll(other), forall=[each, other])


def _two_metrics(shop: Shop) -> None:
    shop.problem.add_quality_metric(MinimizeActionCosts({shop.action: 1}))
    shop.problem.add_quality_metric(MinimizeSequentialPlanLength())


def _simulated(shop: Shop) -> None:
    shop.action.clear_effects()
    shop.action.set_simulated_effect(SimulatedEffect([shop.open(shop.hall)], lambda *_: []))


def _final_value(shop: Shop) -> None:
    metric = MaximizeExpressionOnFinalState(shop.toll(shop.where(shop.hall)))
    shop.problem.add_quality_metric(metric)


def _boolean_argument(shop: Shop) -> None:
    shop.problem.add_fluent(Fluent("answer", BoolType(), yes=BoolType()), default_initial_value=False)


def _undefined(shop: Shop) -> None:
    shop.problem.add_fluent(Fluent("maybe"))


def _many_values(shop: Shop) -> None:
    each, other = Variable("each", shop.place), Variable("other", shop.place)
    shop.action.add_effect(shop.where(each), other, forall=[each, other])


def _universal_twice(shop: Shop) -> None:
    each = Variable("each", shop.place)
    shop.action.add_effect(shop.where(each), shop.hall, forall=[each])
    shop.action.add_effect(shop.where(shop.action.p), shop.action.q)


def _no_cost(shop: Shop) -> None:
    shop.problem.add_quality_metric(MinimizeActionCosts({}))


@pytest.mark.parametrize(
    ("spoil", "construct"),
    [
        (_trajectory, "trajectory constraints"),
        (_thirds, r"the initial value of toll\(hall\): 1/3, which has no exact decimal"),
        (_number_parameter, "bounded int action parameters"),
        (_several_values, "which may give one fluent several values at once"),
        (_two_metrics, "several metrics"),
        (_simulated, "simulated effects"),
        (_final_value, "the metric: maximize .*, which reads fluents whose values are objects"),
        (_boolean_argument, "bool fluent parameters"),
        (_undefined, "undefined initial values"),
        (_many_values, "which may give one fluent several values at once"),
        (_universal_twice, "several assignments to where in one action, one of them universal"),
        (_no_cost, "the action go without a cost"),
    ],
)
def test_what_is_refused_is_named(spoil: object, construct: str) -> None:
    shop = Shop()
    spoil(shop)
    with pytest.raises(UnsupportedError, match=construct):
        shop.read()


def test_invariants_hold_before_each_action_and_at_the_end() -> None:
    shop = Shop()
    shop.problem.add_trajectory_constraint(Always(Not(And(shop.open(shop.hall), shop.open(shop.yard)))))
    read = shop.read().problem
    assert read.goal.hard == read.domain.actions["go"].requires
    assert isinstance(read.goal.hard, Negation)


def test_a_quantified_variable_that_is_not_mentioned_is_kept() -> None:
    """Without rooms, the condition `forall room: open(hall)` is true and `exists room: open(hall)` is false."""
    shop = Shop()
    room = Variable("room", UserType("room"))
    shop.action.add_precondition(ForAll(shop.open(shop.hall), room))
    shop.problem.add_goal(ThereIs(shop.open(shop.hall), room))
    read = shop.read().problem
    simulation = Simulation(read)
    steps = list(simulation.applicable())
    assert len(steps) == 4
    simulation.apply(next(step for step in steps if step.arguments[0] == "hall"))
    assert simulation.holds(Atom("open", ("hall",)))
    assert not simulation.holds(read.goal.hard)


def test_all_features_have_words() -> None:
    assert describe_features(["INT_FLUENTS", "SIMPLE_NUMERIC_PLANNING"]) == "numeric fluents"
    assert describe_features(["TASK_ORDER_TOTAL", "HIERARCHICAL", "STATE_INVARIANTS"]) == (
        "hierarchical task networks, state invariants"
    )
    assert "_" not in describe_features(SUPPORTED)
