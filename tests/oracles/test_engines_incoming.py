"""Problems read from unified-planning behave as its own simulator says."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from unified_planning.engines.sequential_simulator import UPSequentialSimulator, evaluate_quality_metric
from unified_planning.plans import ActionInstance, SequentialPlan
from unified_planning.shortcuts import (
    And,
    BoolType,
    Equals,
    Exists,
    Fluent,
    Forall,
    Iff,
    Implies,
    InstantaneousAction,
    MinimizeActionCosts,
    Not,
    Object,
    Or,
    Plus,
    Problem,
    RealType,
    Times,
    UserType,
    Variable,
)
from unified_planning.test.examples import get_example_problems

from planner.plan import Step
from planner.semantics.simulation import Simulation
from planner.unified_planning.conversion import from_unified_planning

EXAMPLES = get_example_problems()
SUPPORTED = [
    "basic",
    "basic_conditional",
    "basic_exists",
    "basic_forall",
    "basic_nested_conjunctions",
    "basic_with_costs",
    "basic_with_default_values",
    "basic_with_object_constant",
    "basic_without_negative_preconditions",
    "charge_discharge",
    "complex_conditional",
    "hierarchical_blocks_world",
    "hierarchical_blocks_world_exists",
    "hierarchical_blocks_world_object_as_root",
    "hierarchical_blocks_world_with_object",
    "locations_connected_cost_minimize",
    "robot_fluent_of_user_type",
    "robot_loader",
    "robot_loader_adv",
    "robot_loader_mod",
    "robot_loader_weak_bridge",
    "robot_locations_connected_without_battery",
    "robot_no_negative_preconditions",
    "safe_road",
]
LATER = {"robot_loader_weak_bridge"}
"""Invariants make an action inapplicable that would break them; we ask for them before the next action."""


def shunting() -> Problem:
    """Object fluents: nested, as arguments, copied, and of several parameters that may be the same."""
    place, cart = UserType("place"), UserType("cart")
    heavy = UserType("heavy cart", cart)
    position = Fluent("position", place, cart=cart)
    next_of = Fluent("next", place, place=place)
    closed = Fluent("closed", BoolType(), place=place)
    problem = Problem("shunting")
    problem.add_fluent(position)
    problem.add_fluent(next_of)
    problem.add_fluent(closed, default_initial_value=False)
    places = [Object(name, place) for name in ("_", "?b", "c d")]
    carts = [Object("one", cart), Object("two", heavy)]
    problem.add_objects([*places, *carts])
    for here, there in zip(places, [*places[1:], places[0]], strict=True):
        problem.set_initial_value(next_of(here), there)
    for item, where in zip(carts, places, strict=False):
        problem.set_initial_value(position(item), where)
    push = InstantaneousAction("push", c=cart)
    push.add_precondition(Not(closed(next_of(position(push.c)))))
    push.add_effect(position(push.c), next_of(position(push.c)))
    swap = InstantaneousAction("swap", a=cart, b=cart)
    swap.add_precondition(Not(Equals(position(swap.a), position(swap.b))))
    swap.add_effect(position(swap.a), position(swap.b))
    swap.add_effect(position(swap.b), position(swap.a))
    close = InstantaneousAction("close", c=heavy, p=place)
    close.add_precondition(Equals(close.p, position(close.c)))
    close.add_effect(closed(close.p), value=True)
    send = InstantaneousAction("send", a=cart, b=cart, x=place, y=place)
    send.add_effect(position(send.a), send.x)
    send.add_effect(position(send.b), send.y, condition=Equals(position(send.a), send.y))
    problem.add_actions([push, swap, close, send])
    problem.add_goal(Equals(position(carts[0]), places[2]))
    problem.add_goal(closed(position(carts[1])))
    return problem


def switches() -> Problem:
    """Boolean fluents assigned to formulas, universal effects, every connective."""
    lamp = UserType("lamp")
    lit, broken = Fluent("lit", BoolType(), lamp=lamp), Fluent("broken", BoolType(), lamp=lamp)
    power = Fluent("power")
    problem = Problem("switches")
    problem.add_fluent(lit, default_initial_value=False)
    problem.add_fluent(broken, default_initial_value=False)
    problem.add_fluent(power, default_initial_value=True)
    lamps = [Object(f"l{number}", lamp) for number in range(3)]
    problem.add_objects(lamps)
    problem.set_initial_value(broken(lamps[2]), value=True)
    every, other = Variable("every", lamp), Variable("l", lamp)
    toggle = InstantaneousAction("toggle", l=lamp)
    toggle.add_precondition(Iff(power, Exists(Not(broken(other)), other)))
    toggle.add_effect(lit(toggle.l), And(power, Not(lit(toggle.l))), Not(broken(toggle.l)))
    flash = InstantaneousAction("flash")
    flash.add_precondition(Or(power, Forall(Implies(lit(every), broken(every)), every)))
    flash.add_effect(lit(every), value=True, condition=Not(broken(every)), forall=[every])
    flash.add_effect(lit(lamps[0]), value=False)
    flash.add_effect(power, Exists(lit(other), other))
    problem.add_actions([toggle, flash])
    problem.add_goal(Forall(Iff(lit(every), Not(broken(every))), every))
    return problem


def tolls() -> Problem:
    """Costs that are constants, looked up, sums, and products; with defaults and without."""
    place = UserType("place")
    here = Fluent("here", BoolType(), place=place)
    toll, factor = Fluent("toll", RealType(), place=place), Fluent("factor", RealType())
    problem = Problem("tolls")
    problem.add_fluent(here, default_initial_value=True)
    problem.add_fluent(toll, default_initial_value=Fraction(5, 2))
    problem.add_fluent(factor)
    places = [Object("a", place), Object("b", place)]
    problem.add_objects(places)
    problem.set_initial_value(toll(places[0]), Fraction(1, 10))
    problem.set_initial_value(factor, 3)
    costs = {}
    for name in ("constant", "looked-up", "sum", "product", "default"):
        action = InstantaneousAction(name, p=place)
        action.add_precondition(here(action.p))
        action.add_effect(here(action.p), value=False)
        costs[action] = {
            "constant": 7,
            "looked-up": toll(action.p),
            "sum": Plus(toll(action.p), factor, 2),
            "product": Times(Plus(toll(action.p), 1), factor),
        }.get(name)
    problem.add_actions(costs)
    problem.add_goal(Not(here(places[0])))
    known = {action: cost for action, cost in costs.items() if cost is not None}
    problem.add_quality_metric(MinimizeActionCosts(known, default=11))
    return problem


PROBLEMS = {name: EXAMPLES[name].problem for name in SUPPORTED} | {
    "shunting": shunting(),
    "switches": switches(),
    "tolls": tolls(),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_random_walks_agree_with_the_simulator(name: str) -> None:
    source = PROBLEMS[name]
    incoming, draw = from_unified_planning(source), random.Random(name)
    theirs, seen = UPSequentialSimulator(source), 0
    for _ in range(3):
        state, ours = theirs.get_initial_state(), Simulation(incoming.problem)
        for _ in range(6):
            instances = [ActionInstance(action, given) for action, given in theirs.get_applicable_actions(state)]
            steps = dict(zip(incoming.steps(SequentialPlan(instances)), instances, strict=True))
            mine = {Step(step.action, step.arguments) for step in ours.applicable()}
            assert set(steps) <= mine if name in LATER else set(steps) == mine
            assert theirs.is_goal(state) is ours.holds(incoming.problem.goal.hard)
            seen += len(steps)
            if not steps:
                break
            step = draw.choice(sorted(steps, key=str))
            state = theirs.apply(state, steps[step])
            ours.apply(step)
    assert seen


@pytest.mark.parametrize("name", PROBLEMS)
def test_costs_agree_with_the_metric(name: str) -> None:
    source = PROBLEMS[name]
    incoming, theirs = from_unified_planning(source), UPSequentialSimulator(source)
    ours = Simulation(incoming.problem)
    for step in ours.applicable():
        (instance,) = incoming.plan([step]).actions
        assert step.cost == _cost(source, theirs, instance)


def _cost(source: Problem, simulator: UPSequentialSimulator, instance: ActionInstance) -> Fraction:
    before = simulator.get_initial_state()
    if not source.quality_metrics:
        return Fraction(1)
    (metric,) = source.quality_metrics
    given = instance.actual_parameters
    return Fraction(evaluate_quality_metric(simulator, metric, 0, before, instance.action, given, before))
