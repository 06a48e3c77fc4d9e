"""Draw runs of a fault campaign with numbers: accounts that pay bills, stocks that are shipped, batteries of robots.

The handlers of these worlds are careless: they move amounts without a look at bounds and thresholds, as scripts do. So
nothing but the executor keeps an account from being overdrawn.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any, Final

from benchmarks.faults.fault_setting import CHANGES, CRASHES, LATE, SETTLED, TIMEOUT, Setting
from executor.plans.execution_models import ExecutionModel
from executor.testing import Fault, FaultKind, Observe
from executor.tools.step_policy import ExecutionPolicy
from planner.language.declare import Domain
from planner.model import Atom, Problem
from planner.plan import Plan
from planner.solve import solve

KINDS: Final = (
    *[kind for kind in FaultKind if kind.is_of_numbers],
    *(FaultKind.FAILS, FaultKind.RAISES, FaultKind.FAILS_DONE, FaultKind.RAISES_DONE, FaultKind.LIES),
    *(FaultKind.TWICE, FaultKind.LATE, FaultKind.SLOW, FaultKind.HANGS, FaultKind.HANGS_DONE),
    *(FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER, FaultKind.CHANGE_BEFORE, FaultKind.CHANGE_DURING),
    *(FaultKind.CHANGE_AFTER, FaultKind.OBSERVER_FAILS, FaultKind.OBSERVER_LATE, FaultKind.OBSERVER_CANNOT_SAY),
    *(FaultKind.OBSERVER_WRONG, FaultKind.OBSERVER_DISAGREES),
)
MODELS: Final[tuple[ExecutionModel, ...]] = ("sequential", "parallel", "dag", "reactive")
WORLDS: Final = ("account", "stock", "battery")


def _declare_account() -> Domain:
    domain = Domain("accounts", types=["account", "bill"], description="Pay bills from accounts, and top these up.")
    domain.function("balance", "account", low=0, high=400)
    domain.function("amount", "bill")
    both = {"bill": "bill", "account": "account"}
    domain.action(
        "pay",
        both,
        requires=["not paid(bill)", "balance(account) >= amount(bill)"],
        provides=["paid(bill)"],
        modifies="balance(account) -= amount(bill)",
        tags=["irreversible"],
    )
    domain.action("top_up", {"account": "account"}, modifies="balance(account) += 40")
    domain.action("check", {"bill": "bill"}, provides=["checked(bill)"])
    return domain


def _declare_stock() -> Domain:
    domain = Domain("stocks", types=["item", "order"], description="Pack orders from a stock, and ship them.")
    domain.function("stock", "item", low=0, high=12)
    domain.function("quantity", "order")
    both = {"order": "order", "item": "item"}
    domain.action("restock", {"item": "item"}, modifies="stock(item) += 5")
    domain.action(
        "pack",
        both,
        requires=["wants(order, item)", "not packed(order)"],
        provides=["packed(order)"],
        modifies="stock(item) -= quantity(order)",
    )
    domain.action(
        "unpack",
        both,
        requires=["wants(order, item)", "packed(order)", "not shipped(order)"],
        provides=["not packed(order)"],
        modifies="stock(item) += quantity(order)",
    )
    domain.action(
        "ship", {"order": "order"}, requires=["packed(order)"], provides=["shipped(order)"], tags=["irreversible"]
    )
    return domain


def _declare_battery() -> Domain:
    domain = Domain(
        "batteries",
        types=["robot", "place"],
        description="Drive to places and photograph them before the battery is empty.",
    )
    domain.function("charge", "robot", low=0, high=100, tolerance="0.5")
    domain.function("distance", "place", "place")
    domain.action(
        "drive",
        {"robot": "robot", "origin": "place", "target": "place"},
        requires=["at(robot, origin)", "road(origin, target)", "charge(robot) >= distance(origin, target) + 5"],
        provides=["at(robot, target)"],
        modifies=["at(robot, _)", "charge(robot) -= distance(origin, target)"],
    )
    domain.action(
        "recharge",
        {"robot": "robot", "place": "place"},
        requires=["at(robot, place)", "dock(place)"],
        modifies="charge(robot) += 30",
    )
    domain.action(
        "photograph",
        {"robot": "robot", "place": "place"},
        requires=["at(robot, place)", "charge(robot) >= 2"],
        provides=["seen(place)"],
        modifies="charge(robot) -= 2",
        tags=["irreversible"],
    )
    return domain


@cache
def make_world(name: str, size: int) -> Problem:
    """Return a problem of one of `WORLDS`, of the size 1, 2 or 3."""
    numbers = range(1, size + 1)
    if name == "account":
        objects: dict[str, Any] = {"a1": "account", **{f"b{number}": "bill" for number in numbers}}
        values: dict[str | Atom, Any] = {f"amount(b{number})": 25 + 10 * number for number in numbers}
        goal = [each for number in numbers for each in (f"paid(b{number})", f"checked(b{number})")]
        return _declare_account().problem(name, objects=objects, initial=["balance(a1) = 30"], values=values, goal=goal)
    if name == "stock":
        objects = {"i1": "item", **{f"o{number}": "order" for number in numbers}}
        values = {f"quantity(o{number})": 2 + number for number in numbers}
        initial = ["stock(i1) = 4", *(f"wants(o{number}, i1)" for number in numbers)]
        goal = [f"shipped(o{number})" for number in numbers]
        return _declare_stock().problem(name, objects=objects, initial=initial, values=values, goal=goal)
    places = ["home", *(f"p{number}" for number in numbers)]
    objects = {"r1": "robot", **dict.fromkeys(places, "place")}
    roads = [(one, other) for at, one in enumerate(places) for other in places[at + 1 : at + 2]]
    roads += [(other, one) for one, other in roads]
    initial = ["at(r1, home)", "dock(home)", "charge(r1) = 20", *(f"road({one}, {other})" for one, other in roads)]
    values = {f"distance({one}, {other})": "17.5" for one, other in roads}
    goal = [*(f"seen({place})" for place in places[1:]), "charge(r1) >= 4"]
    return _declare_battery().problem(name, objects=objects, initial=initial, values=values, goal=goal)


@cache
def plan_world(name: str, size: int) -> Plan:
    """Return a plan for `make_world`."""
    return solve(make_world(name, size), time_limit=10.0).expect_plan()


def draw_numeric_setting(seed: int, campaign: int = 0) -> Setting:
    """Return the run that `seed` draws in a `campaign`; seeds go through all kinds of faults, worlds and models."""
    dice = random.Random(f"{campaign} numbers {seed}")
    kind, model = KINDS[seed % len(KINDS)], MODELS[seed // len(KINDS) % len(MODELS)]
    name = WORLDS[(seed // len(KINDS) // len(MODELS) + seed) % len(WORLDS)]
    plan = plan_world(name, dice.randrange(1, 4))
    faults = [_draw_fault(kind, plan, dice)]
    if dice.random() < 0.5:
        faults.append(_draw_fault(dice.choice([each for each in KINDS if each not in CRASHES]), plan, dice))
    kinds = {each.kind for each in faults}
    observe = Observe(
        conclusive=dice.random() < 0.8,
        settle_within=SETTLED if FaultKind.LATE in kinds else 0.0,
        timeout=TIMEOUT,
        twice=FaultKind.OBSERVER_DISAGREES in kinds,
    )
    return Setting(
        seed,
        kind,
        model,
        plan,
        tuple(faults),
        observe,
        ExecutionPolicy(timeout=TIMEOUT, retries=dice.choice([None, None, 0, 2])),
        plain=0.0,
        skills=dice.choice([1, 1, 2]),
        has_journal=kind in CRASHES or dice.random() < 0.2,
        is_asked=dice.random() < 0.5,
        careless=True,
    )


def _draw_fault(kind: FaultKind, plan: Plan, dice: random.Random) -> Fault:
    """Return a fault of this kind at a step of `plan`, or at what its observers look at."""
    problem = plan.problem
    assert isinstance(problem, Problem), "these are classical"
    domain = problem.domain
    numeric = [step for step in plan.steps if domain.actions[step.action].numbers]
    step = dice.choice(numeric if kind.is_of_numbers else plan.steps)
    at = str(Atom(step.action, step.arguments))
    if kind.is_of_observers:
        at = dice.choice([next(iter(domain.functions)), *domain.predicates])
    facts: tuple[str, ...] = ()
    if kind in CHANGES and dice.random() < 0.7:
        fluent = dice.choice([each for each in problem.values if each.predicate == next(iter(domain.functions))])
        facts = (f"{fluent} = {dice.choice([0, 1, 3, 7, 12])}",)
    return Fault(
        kind,
        at,
        skip=dice.choice([0, 0, 0, 1, 2]) if kind.is_of_observers else 0,
        times=dice.choice([1, 1, 2]),
        seconds=LATE if kind in (FaultKind.LATE, FaultKind.SLOW, FaultKind.OBSERVER_LATE) else None,
        facts=facts,
    )
