"""Draw runs of a fault campaign in an open world: orders turn up, vanish and are renamed while a run handles them.

The planner gets a problem without most of the orders, whose world has them. A run learns of them from listings, from
observers and from what handlers report. Each order is packed, which can be undone, charged for, which cannot, and
closed; what a listing step says to be all may be less, junk, or overtaken by what happens meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Final

from benchmarks.faults.fault_setting import CHANGES, CRASHES, KINDS, LATE, MODELS, TIMEOUT, Order, Setting, draw_observe
from executor.testing import Fault, FaultKind
from executor.tools.step_policy import ExecutionPolicy
from htn.language.declare import Methods
from planner.language.declare import Domain, always
from planner.model import And, Atom, Exists, Forall, Formula, Imply, Not, Or
from planner.model.formulas import Variable
from planner.plan import Plan
from planner.problem_kinds import AnyProblem

_ORDER: Final = (Variable("?o", (Order.__name__,)),)
_PENDING, _CHARGED, _PACKED, _DONE = (Atom(name, ("?o",)) for name in ("pending", "charged", "packed", "done"))
ALL_HANDLED: Final = Forall(_ORDER, Not(_PENDING))
GOALS: Final[dict[str, Formula]] = {
    "all": ALL_HANDLED,
    "known": ALL_HANDLED,
    "charged": Forall(_ORDER, Or((Not(_PENDING), _CHARGED))),
    "locked": Atom("locked"),
    "phoned": And((Atom("phoned"), ALL_HANDLED)),
    "one": Exists(_ORDER, _DONE),
    "wish": Atom("swept"),
    "always": ALL_HANDLED,
    "quiet": Atom("quiet"),
    "serve": And(()),
    "serve-all": ALL_HANDLED,
}
"""The hard goal of each problem, without what it needs to be listed."""
WISH: Final = {"wish": ALL_HANDLED}
"""The soft goal of a problem."""
TASKS: Final = ("serve", "serve-all")
"""The problems with tasks: they list the orders, and handle each."""
PROMISED: Final = {**GOALS, "locked": Atom("locked"), "quiet": ALL_HANDLED, "serve": ALL_HANDLED}
"""What holds in the true world after a success: a derived fact is written out, and tasks have done their work."""
OVER_ALL: Final = frozenset(GOALS) - {"one", "wish"}
"""The problems that are solved only when all orders are known."""
NAMES: Final = ("o7", "o8", "o9", "new-order-1", "pending", "O7")
"""The orders that no planner knows; some have the names of other things."""
RENAMED: Final = {name: f"{name}-b" for name in NAMES}


class Turn(Enum):
    """What somebody else does to an order."""

    TURNS_UP = "an order turns up"
    VANISHES = "an order vanishes"
    RENAMED = "an order is renamed"
    COMES_BACK = "an order vanishes, and comes back"


@dataclass(frozen=True, slots=True)
class OpenWorld:
    """What an open world has beyond a plan: its `truth` and the `turns` that it takes."""

    name: str
    truth: AnyProblem
    turns: tuple[Turn, ...]
    is_listed: bool = False
    """Whether the problem says that all orders are known at the start, as is so."""

    def promised(self, *, wishes: bool) -> Formula:
        """Return what holds after a success, with its soft goal if `wishes`."""
        hard = PROMISED[self.name]
        return And((hard, WISH[self.name])) if wishes and self.name in WISH else hard


def _declare(*, phones: bool, repeats: bool) -> Domain:
    """Declare the domain; in one that `phones` an action creates orders, and with `repeats` a listing is idempotent."""
    domain, order = Domain("mail-order", description="Handle the orders that there are."), {"order": Order}
    domain.action("list_orders", lists="pending(_)", tags=["idempotent", "read_only"] if repeats else [])
    domain.action("pack", order, requires=["pending(order)"], provides=["packed(order)"])
    domain.action("unpack", order, requires=["packed(order)"], provides=["not packed(order)"])
    domain.action(
        "charge",
        order,
        requires=["pending(order)", "packed(order)", "not charged(order)"],
        provides=["charged(order)"],
        tags=["irreversible", "needs_approval"],
    )
    domain.action(
        "close", order, requires=["pending(order)", "charged(order)"], provides=["done(order)", "not pending(order)"]
    )
    domain.action("lock_up", requires=[ALL_HANDLED], provides=["locked"], tags=["irreversible"])
    domain.action("sweep", provides=["swept"])
    if phones:
        domain.action("phone", provides=["phoned", "pending(order)"], creates=order)
    domain.derive("quiet", {}, ALL_HANDLED)
    return domain


@cache
def _make_domain(*, phones: bool, repeats: bool, tasks: bool) -> Any:
    domain = _declare(phones=phones, repeats=repeats)
    if not tasks:
        return domain
    how = Methods(domain)
    how.for_each("handle_all", {"o": Order}, items=["pending(o)"], do=["handle(o)"])
    how.task("handle", o=Order)
    how.method("handle-anew", {"o": Order}, task="handle(o)", subtasks=["pack(o)", "charge(o)", "close(o)"])
    how.method(
        "handle-packed", {"o": Order}, task="handle(o)", requires=["packed(o)"], subtasks=["charge(o)", "close(o)"]
    )
    how.method("handle-charged", {"o": Order}, task="handle(o)", requires=["charged(o)"], subtasks=["close(o)"])
    how.task("serve")
    how.method("serve-listed", task="serve", subtasks=["list_orders", "handle_all"])
    return how


def _state_problem(name: str, domain: Any, objects: list[str], pending: list[str], *, is_listed: bool) -> AnyProblem:
    initial = [*(f"pending({order})" for order in pending), *(["listed_pending"] if is_listed else [])]
    options: dict[str, Any] = {"objects": dict.fromkeys(objects, Order), "initial": initial}
    if name in TASKS:
        options["tasks"] = ["serve"]
    if name == "always":
        options["constraints"] = [always(Forall(_ORDER, Imply(_CHARGED, _PACKED)))]
    goal: Any = GOALS[name]
    if name in WISH:
        goal = {"hard": [goal], "soft": {WISH[name]: 5}}
    if name != "serve":
        options["goal"] = goal
    problem: AnyProblem = domain.problem(name, **options)
    return problem


OPEN_KINDS: Final = (*KINDS, *[kind for kind in FaultKind if kind.is_of_listings])
ACTIONS: Final = ("list_orders", "pack(_)", "charge(_)", "close(_)")


def draw_open_setting(seed: int, campaign: int = 0) -> Setting:
    """Return the run in an open world that `seed` draws; seeds go through all kinds of faults and models in turn."""
    dice = random.Random(f"{campaign} open {seed}")
    kind, model = OPEN_KINDS[seed % len(OPEN_KINDS)], MODELS[seed // len(OPEN_KINDS) % len(MODELS)]
    name = _draw_name(model, dice)
    domain = _make_domain(phones=name == "phoned", repeats=dice.random() < 0.5, tasks=name in TASKS)
    known = ["o1", "o2"][: dice.randrange(3) if name != "known" else 2]
    hidden = dice.sample(NAMES, dice.choice([0, 0, 1, 2, 3, 4]))
    pending = [each for each in known if dice.random() < 0.7]
    is_listed = not hidden and name != "one" and dice.random() < 0.5
    planned = _state_problem(name, domain, known, pending, is_listed=is_listed)
    more = [*NAMES, *RENAMED.values()]
    truth = _state_problem(name, domain, [*known, *more], [*pending, *hidden], is_listed=False)
    faults = [_draw_fault(kind, name, [*known, *hidden], dice)]
    if dice.random() < 0.3:
        others = [each for each in OPEN_KINDS if each not in CRASHES]
        faults.append(_draw_fault(dice.choice(others), name, [*known, *hidden], dice))
    turns = [dice.choice(list(Turn)) for _ in range(dice.choice([0, 1, 1, 1, 2, 3]))]
    if kind in CHANGES and not turns:
        turns = [Turn.TURNS_UP]
    for turn in turns:
        faults += _take_turn(turn, [*pending, *hidden] or ["o7"], dice)
    kinds = {each.kind for each in faults}
    observe = replace(
        draw_observe(dice, kinds),
        share=dice.choice([1.0] * 7 + [0.7, 0.0]),
        conclusive=dice.random() < 0.7,
        twice=FaultKind.OBSERVER_DISAGREES in kinds,
    )
    return Setting(
        seed,
        kind,
        model,
        Plan((), planned),
        tuple(faults),
        observe,
        ExecutionPolicy(timeout=TIMEOUT, retries=dice.choice([None, None, 0, 2])),
        plain=dice.choice([0.0, 0.0, 0.0, 0.5]),
        skills=dice.choice([1, 1, 1, 2]),
        has_journal=kind in CRASHES or dice.random() < 0.2,
        is_asked=dice.random() < 0.5,
        open_world=OpenWorld(name, truth, tuple(turns), is_listed),
    )


def _draw_name(model: str, dice: random.Random) -> str:
    if model == "hierarchical":
        return dice.choice(TASKS)
    left_out = {*TASKS, *(("phoned", "wish", "always") if model == "policy" else ())}
    return dice.choice([name for name in GOALS if name not in left_out])


def _draw_fault(kind: FaultKind, name: str, orders: list[str], dice: random.Random) -> Fault:
    """Return a fault of `kind` at a random action of the problem `name`, or at a fact about one of `orders`."""
    more = {"locked": ("lock_up",), "phoned": ("phone",), "wish": ("sweep",)}.get(name, ())
    at, order = dice.choice([*ACTIONS, *more]), dice.choice([*orders, "_"])
    times = None if dice.random() < 0.15 and kind not in CRASHES else dice.choice([1, 1, 1, 2])
    if kind.is_of_listings:
        return Fault(kind, "list_orders", skip=dice.choice([0, 0, 1]), times=times)
    if kind.is_of_approvals:
        return Fault(kind, f"charge({order})", times=times, seconds=LATE)
    if kind.is_of_observers:
        fact = dice.choice(["pending(_)", "pending(_)", f"packed({order})", f"charged({order})"])
        fact = "pending(_)" if kind is FaultKind.OBSERVER_STRANGER else fact
        return Fault(kind, fact, skip=dice.randrange(3), times=times, seconds=LATE + 3)
    at = at.replace("_", order) if at.endswith("(_)") else at
    return Fault(kind, at, skip=dice.choice([0, 0, 0, 1]), times=times, seconds=_delay_of(kind))


def _delay_of(kind: FaultKind) -> float:
    return 0.5 if kind is FaultKind.CHANGE_AFTER else LATE


def _take_turn(turn: Turn, orders: list[str], dice: random.Random) -> Iterator[Fault]:
    """Yield the changes from outside of `turn`: before, while or after a random step is done."""
    order = dice.choice(orders)
    skip, ways = dice.randrange(3), sorted(CHANGES, key=str)
    ended = (f"not pending({order})", f"not packed({order})")

    def change(skip: int, *facts: str) -> Fault:
        kind = dice.choice(ways)
        return Fault(kind, dice.choice(["", *ACTIONS]), skip=skip, seconds=_delay_of(kind), facts=facts)

    match turn:
        case Turn.TURNS_UP:
            yield change(skip, f"pending({dice.choice(NAMES)})")
        case Turn.VANISHES:
            yield change(skip, *ended)
        case Turn.RENAMED:
            yield change(skip, *ended, f"pending({RENAMED.get(order, 'o7-b')})")
        case Turn.COMES_BACK:
            yield change(skip, *ended)
            yield change(skip + 1 + dice.randrange(3), f"pending({order})")
