"""What the runs of a fault campaign carry out: small problems of shipped domains, and random tasks, with plans."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Final

from benchmarks.faults.orders import orders
from planner.kinds import AnyProblem
from planner.load import load
from planner.model import Problem
from planner.plan import Plan, Step
from planner.records import replace
from planner.solve import solve
from planner.testing import ALL, Features, random_problem
from planner.validate import Simulation

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
    assert plan is not None, f"{domain} {problem}"  # noqa: S101 - it is ours
    return plan


@cache
def shipped_orders(name: str, *, is_hasty: bool) -> Plan:
    """Return a plan for a problem of `orders`; one that is hasty takes irreversible steps as early as it can."""
    plan = _planned(orders(name))
    assert plan is not None, name  # noqa: S101 - it is ours
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
