"""The order of steps that change numbers: every linearisation of it is valid, and increases commute."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import islice, permutations

import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numeric_plans import random_plan

from planner.model import (
    Action,
    Arithmetic,
    Atom,
    Comparison,
    Constraint,
    ConstraintKind,
    DomainModel,
    Function,
    Goal,
    NumericEffect,
    NumericMetric,
    Problem,
)
from planner.model.formulas import conjunction
from planner.partial_order.causal_links import causal_links, find_purposes
from planner.partial_order.number_order import MOST_CHANGES
from planner.plan import Plan, Step
from planner.scheduling.plan_order import partial_order
from planner.scheduling.schedule import schedule
from planner.semantics.simulation import Simulation, price_steps
from planner.validation.validate import check_steps

F, G, H = Atom("f"), Atom("g"), Atom("h")


def change(name, *effects, requires=(), **rest):
    return Action(name, (), conjunction(requires), numbers=tuple([NumericEffect(*each) for each in effects]), **rest)


def planned(steps, *actions, goal=(), low=None, high=None, **rest):
    functions = {"f": Function("f", (), low, high), "g": Function("g"), "h": Function("h")}
    domain = DomainModel("d", functions=functions, actions={each.name: each for each in actions})
    task = Problem("p", domain, (), (), Goal(conjunction(goal)), {F: 5, G: 2, H: 0}, **rest)
    found = Plan(price_steps(task, [Step(name) for name in steps.split()]), task)
    assert check_steps(task, found).valid
    return found


def edges(found):
    graph = partial_order(found.problem, found)
    return {(*pair, graph.edges[pair]["reason"]) for pair in graph.edges}


def links(found):
    return {(link.provider, link.consumer, str(link.condition)) for link in causal_links(found.problem, found)}


ADD, TAKE, SET = change("add", (F, "+=", 3)), change("take", (F, "-=", 2)), change("set", (F, ":=", 4))
NEED = change("need", (H, "+=", 1), requires=[Comparison(F, ">=", 7)])
DOUBLE = change("double", (F, "*=", 2))
COPY = change("copy", (H, "+=", F))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("add take add", set()),
        ("add set take", {(1, 2, "item"), (2, 3, "item")}),
        ("copy add take", {(1, 2, "item"), (1, 3, "item")}),
        ("add copy take", {(1, 2, "link"), (2, 3, "item")}),
        ("add copy take copy", {(1, 2, "link"), (2, 3, "item"), (3, 4, "link")}),
        ("add need", {(1, 2, "link")}),
        ("add double need", {(1, 2, "link"), (2, 3, "link")}),
        ("add add need take need", {(1, 3, "link"), (2, 3, "link"), (1, 5, "link"), (2, 5, "link")}),
        ("add need take", {(1, 2, "link"), (2, 3, "threat")}),
        ("add add add need take", {(1, 4, "link"), (2, 4, "link")}),
    ],
)
def test_order_of_changes(steps, expected):
    assert edges(planned(steps, ADD, TAKE, SET, NEED, COPY, DOUBLE)) == expected


def test_bounds_are_needs():
    assert edges(planned("take add", ADD, TAKE, low=0)) == set()
    assert edges(planned("take take add", ADD, TAKE, low=1, high=6)) == {(1, 3, "link")}
    assert edges(planned("take add take add", ADD, TAKE, low=3, high=7)) == {
        (1, 2, "link"),
        (2, 3, "link"),
        (3, 4, "link"),
    }


def test_links_name_the_changes_that_a_comparison_needs():
    found = planned("add take add need", ADD, TAKE, NEED, goal=[Comparison(F, ">=", 6), Comparison(H, "=", 1)])
    assert links(found) == {(1, 4, "f >= 7"), (3, 4, "f >= 7"), (1, 5, "f >= 6"), (4, 5, "h == 1")}
    assert [len(chain) for chain in find_purposes(found.problem, found).values()] == [1, 0, 2, 1]
    assert links(planned("copy", COPY, ADD)) == {(0, 1, "f == 5")}
    assert links(planned("set add copy", SET, ADD, COPY)) == {(1, 3, "f == 7"), (2, 3, "f == 7")}


def test_a_metric_that_is_not_linear_keeps_changes_in_order():
    metric = NumericMetric(Arithmetic("*", (F, G)))
    other = change("other", (G, "+=", 1))
    assert edges(planned("add other", ADD, other, metric=metric)) == {(1, 2, "item")}
    assert edges(planned("add other", ADD, other, metric=NumericMetric(Arithmetic("+", (F, G))))) == set()


def test_constraints_on_numbers_keep_their_steps_in_order():
    always = Constraint(ConstraintKind.ALWAYS, Comparison(F, ">=", 3))
    assert edges(planned("add take copy", ADD, TAKE, COPY, constraints=[always])) == {(1, 2, "item"), (2, 3, "link")}


def test_changes_run_at_once_in_a_schedule():
    slow = [replace(each, duration=Decimal(10)) for each in (ADD, TAKE, COPY)]
    assert schedule(planned("add take copy", *slow)).makespan == 20


def test_a_long_plan_has_few_pairs():
    drive = change("drive", (F, "-=", 3), requires=[Comparison(F, ">=", 3)])
    fill = change("fill", (F, "+=", 3))
    found = planned(" ".join(["drive fill"] * 2 * MOST_CHANGES), drive, fill, low=0, high=5)
    assert len(partial_order(found.problem, found).edges) == len(found) - 1


def linearisations(graph):
    return (order for order in permutations(graph) if all(order.index(a) < order.index(b) for a, b in graph.edges))


def replay(problem, steps):
    """Return the values at the end of `steps`."""
    state = Simulation(problem)
    for step in steps:
        state.apply(step)
    return state.values


@settings(max_examples=examples(60))
@given(st.integers(0, 10**6))
def test_every_linearisation_is_valid(seed):
    plan = random_plan(seed)
    assume(plan is not None)
    values = replay(plan.problem, plan.steps)
    cost = check_steps(plan.problem, plan.steps).cost
    for order in islice(linearisations(partial_order(plan.problem, plan)), 60):
        steps = [plan.steps[number - 1] for number in order]
        verdict = check_steps(plan.problem, steps)
        assert verdict.valid, (seed, order, verdict.reason)
        assert verdict.cost == cost
        assert replay(plan.problem, steps) == values


def test_many_steps_are_unordered():
    plans = [plan for plan in map(random_plan, range(60)) if plan is not None]
    total = sum(1 for plan in plans for _ in linearisations(partial_order(plan.problem, plan)))
    assert total > 3 * len(plans)
