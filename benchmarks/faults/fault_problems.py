"""What the runs of a fault campaign carry out: small problems of shipped domains, and random tasks, with plans.

A domain in which money moves: irreversible steps with reversible siblings, approvals, and goals over all objects.

Plans as policies: in each state that a plan leads to, its next step.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Final

from benchmarks.random_problems import ALL, Features, random_problem
from planner.language.declare import Domain, Entity
from planner.language.loading.load import load
from planner.lightweight import replace
from planner.model import Problem
from planner.model.domain import creates_objects
from planner.plan import Plan, Step
from planner.policies.policy import Branch, Node, Policy
from planner.problem_kinds import AnyProblem
from planner.semantics.simulation import Simulation
from planner.solve import solve


class Order(Entity):
    """What somebody has bought."""


class Shelf(Entity):
    """Where the goods of an order wait."""


PROBLEMS: Final = {
    "siblings": ((1, 1), ["charged(o1)", "at(o1, s1)", "checked(s1)"]),
    "shipped": ((1, 1), ["thanked(o1)", "checked(s1)"]),
    "two": ((2, 1), ["charged(o1)", "charged(o2)", "at(o1, s1)", "at(o2, s1)"]),
    "shelves": ((1, 2), ["charged(o1)", "at(o1, s2)", "(forall (?s - Shelf) (checked ?s))"]),
}
"""The numbers of orders and shelves, and the goal, of each problem."""


@cache
def orders(name: str) -> Problem:
    """Return the problem `name` of `PROBLEMS`."""
    (orders, shelves), goal = PROBLEMS[name]
    objects: dict[str, type[Entity]] = {f"o{number}": Order for number in range(1, orders + 1)}
    objects |= {f"s{number}": Shelf for number in range(1, shelves + 1)}
    return _domain().problem(name, objects=objects, goal=goal)


@cache
def _domain() -> Domain:
    domain = Domain("orders", description="Reserve goods, put them on a shelf, charge for them and ship them.")
    order, there = {"order": Order}, {"order": Order, "shelf": Shelf}
    domain.action("reserve", order, provides=["reserved(order)"])
    domain.action("release", order, requires=["reserved(order)"], provides=["not reserved(order)"])
    domain.action(
        "place",
        there,
        requires=["reserved(order)"],
        provides=["at(order, shelf)"],
        modifies=["at(order, _)"],
        tags=["needs_approval"],
    )
    domain.action("take_back", there, requires=["at(order, shelf)"], provides=["not at(order, shelf)"])
    domain.action("check", {"shelf": Shelf}, provides=["checked(shelf)"])
    domain.action("uncheck", {"shelf": Shelf}, requires=["checked(shelf)"], provides=["not checked(shelf)"])
    domain.action(
        "charge",
        order,
        requires=["reserved(order)", "not charged(order)"],
        provides=["charged(order)"],
        tags=["irreversible", "needs_approval"],
    )
    domain.action("refund", order, requires=["charged(order)"], provides=["not charged(order)"], tags=["irreversible"])
    domain.action(
        "ship",
        there,
        requires=["charged(order)", "at(order, shelf)"],
        provides=["shipped(order)"],
        tags=["irreversible"],
    )
    domain.action("thank", order, requires=["shipped(order)"], provides=["thanked(order)"])
    return domain


CLASSICAL: Final = (
    ("assistant", "one-page"),
    ("assistant", "with-chart"),
    ("courier", "one-parcel"),
    ("courier", "two-robots"),
    ("elevator", "two-guests"),
    ("helpdesk", "new-account"),
    ("helpdesk", "outage"),
    ("runbook", "patch"),
    ("runbook", "pair"),
    ("secretary", "one-meeting"),
    ("stacking", "swap"),
    ("stacking", "tower"),
)
HIERARCHICAL: Final = (
    ("household", "supper"),
    ("household", "guests"),
    ("incident", "shop"),
    ("incident", "chain"),
    ("travel", "board"),
    ("travel", "couple"),
)
RANDOM_SHARE: Final = 0.4
"""How many of the runs of classical plans are runs of random tasks."""
SECONDS: Final = 10.0
SIZES: Final = Features(objects=4, actions=4)


def drawn(dice: random.Random, *, hierarchical: bool) -> Plan:
    """Return a plan with a step at least, for a problem drawn with `dice`."""
    if hierarchical:
        return shipped(*dice.choice(HIERARCHICAL))
    if dice.random() >= RANDOM_SHARE:
        return shipped(*dice.choice(CLASSICAL))
    while True:
        plan = _planned(random_problem(dice.randrange(10**6), ALL))
        if plan is not None and plan.steps:
            return plan


@cache
def shipped(domain: str, problem: str) -> Plan:
    """Return a plan for a problem that is shipped."""
    plan = _planned(load(domain, problem))
    assert plan is not None, f"{domain} {problem}"
    return plan


@cache
def shipped_orders(name: str, *, is_hasty: bool) -> Plan:
    """Return a plan for a problem of `orders`; one that is hasty takes irreversible steps as early as it can."""
    plan = _planned(orders(name))
    assert plan is not None, name
    return replace(plan, steps=tuple(_hasty(plan))) if is_hasty else plan


def _hasty(plan: Plan) -> Iterator[Step]:
    actions = classical(plan).domain.actions
    simulation, left = Simulation(classical(plan)), list(plan.steps)
    while left:
        possible = [step for step in left if simulation.objection(step) is None]
        step = next((each for each in possible if "irreversible" in actions[each.action].tags), possible[0])
        simulation.apply(step)
        left.remove(step)
        yield step


def _planned(problem: AnyProblem) -> Plan | None:
    return solve(problem, mode="first", time_limit=SECONDS).plan


def classical(plan: Plan) -> Problem:
    """Return the classical part of the problem of `plan`."""
    problem: Problem = getattr(plan.problem, "classical", plan.problem)
    return problem


def as_policy(plan: Plan) -> Policy | None:
    """Return what says in each state of `plan` which step comes next; None for plans that create objects."""
    problem = classical(plan)
    if creates_objects(problem.domain):
        return None
    simulation, states = Simulation(problem), []
    for step in plan.steps:
        states.append(simulation.facts)
        simulation.apply(step)
    states.append(simulation.facts)
    nodes = [
        Node(facts, step, (Branch(1.0, "", number + 1),))
        for number, (facts, step) in enumerate(zip(states, plan.steps, strict=False))
    ]
    return Policy((*nodes, Node(states[-1], is_goal=True)), frozenset().union(*states), problem, 1.0)
