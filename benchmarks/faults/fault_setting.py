"""One run of a fault campaign, as its seed draws it: a plan, an execution model, faults, and what observers can see.

Plans solve small problems of shipped domains, random problems, and problems of the domain `orders`, in which money
moves: it has irreversible steps with reversible siblings, approvals, and goals over all objects. Faults count the calls
of each step and the looks at each fact apart, so that steps at once, which may come in any order, have the same faults.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final, get_args

from benchmarks.random_problems import ALL, Features, random_problem
from executor.plans.execution_models import ExecutionModel
from executor.testing import Fault, FaultKind, Observe
from executor.testing.faults import BREAKING
from executor.tools.step_policy import ExecutionPolicy
from planner.compilations.object_creation import for_steps
from planner.language.declare import Domain, Entity
from planner.language.loading.load import load
from planner.model import OPEN, Atom, Problem
from planner.model.domain import creates_objects
from planner.plan import Plan, Step
from planner.policies.policy import Branch, Node, Policy
from planner.problem_kinds import AnyProblem
from planner.semantics.simulation import Simulation
from planner.solve import solve

if TYPE_CHECKING:
    from benchmarks.faults.open_world import OpenWorld


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
def make_orders(name: str) -> Problem:
    """Return the problem `name` of `PROBLEMS`."""
    (orders, shelves), goal = PROBLEMS[name]
    objects: dict[str, type[Entity]] = {f"o{number}": Order for number in range(1, orders + 1)}
    objects |= {f"s{number}": Shelf for number in range(1, shelves + 1)}
    return _declare_orders().problem(name, objects=objects, goal=goal)


@cache
def _declare_orders() -> Domain:
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


def draw_plan(dice: random.Random, *, hierarchical: bool) -> Plan:
    """Return a plan with a step at least, for a problem drawn with `dice`."""
    if hierarchical:
        return plan_shipped(*dice.choice(HIERARCHICAL))
    if dice.random() >= RANDOM_SHARE:
        return plan_shipped(*dice.choice(CLASSICAL))
    while True:
        plan = _find_plan(random_problem(dice.randrange(10**6), ALL))
        if plan is not None and plan.steps:
            return plan


@cache
def plan_shipped(domain: str, problem: str) -> Plan:
    """Return a plan for a problem that is shipped."""
    plan = _find_plan(load(domain, problem))
    assert plan is not None, f"{domain} {problem}"
    return plan


@cache
def plan_orders(name: str, *, is_hasty: bool) -> Plan:
    """Return a plan for a problem of `orders`; one that is hasty takes irreversible steps as early as it can."""
    plan = _find_plan(make_orders(name))
    assert plan is not None, name
    return replace(plan, steps=tuple(_hasten(plan))) if is_hasty else plan


def _hasten(plan: Plan) -> Iterator[Step]:
    actions = classical_part(plan).domain.actions
    simulation, left = Simulation(classical_part(plan)), list(plan.steps)
    while left:
        possible = [step for step in left if simulation.find_objection(step) is None]
        step = next((each for each in possible if "irreversible" in actions[each.action].tags), possible[0])
        simulation.apply(step)
        left.remove(step)
        yield step


def _find_plan(problem: AnyProblem) -> Plan | None:
    return solve(problem, mode="first", time_limit=SECONDS).plan


def classical_part(plan: Plan) -> Problem:
    """Return the classical part of the problem of `plan`."""
    problem: Problem = getattr(plan.problem, "classical", plan.problem)
    return problem


def as_policy(plan: Plan) -> Policy | None:
    """Return `plan` as a policy that gives the next step of each state; None for plans that create objects."""
    problem = classical_part(plan)
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


KINDS: Final = tuple([kind for kind in FaultKind if not (kind.is_of_listings or kind.is_of_numbers)])
MONEY: Final = frozenset(
    {FaultKind.OBSERVER_DISAGREES, FaultKind.OBSERVER_STRANGER, FaultKind.RESULT_STRANGER}
    | {kind for kind in KINDS if kind.is_of_approvals}
)
"""The faults that only runs of `orders` have: other domains need no approvals, and have no goals over all objects."""
PLAIN: Final = tuple([kind for kind in KINDS if kind not in MONEY])
ORDERS_TURNS: Final = frozenset({1, 3, 5})
"""Of each seven runs, those of `make_orders`; seven has no factor in common with the numbers of kinds and models."""
ORDERS_MODELS: Final[tuple[ExecutionModel, ...]] = ("sequential", "parallel", "dag", "reactive")
INVERSE: Final = {"reserve": "release", "place": "take_back", "check": "uncheck"}
MODELS: Final = get_args(ExecutionModel)
TIMEOUT: Final = 10.0
"""Seconds after which a handler has taken too long, in virtual time; observers have as many."""
LATE: Final = 12.0
"""Seconds that late handlers take: they act less than `SETTLED` seconds after their timeout."""
SETTLED: Final = 6.0
LAG: Final = 2.0
CRASHES: Final = frozenset({FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER})
CHANGES: Final = frozenset({FaultKind.CHANGE_BEFORE, FaultKind.CHANGE_DURING, FaultKind.CHANGE_AFTER})


@dataclass(frozen=True, slots=True)
class Setting:
    """One run. `is_asked`: a person is there to be asked, and says what is true after having waited.

    With `is_candidate`, the run may go on with the end of its plan, from wherever that fits. In an `open_world`, the
    problem of the plan lacks objects of the world, and the run searches for its plan itself.
    """

    seed: int
    kind: FaultKind
    model: ExecutionModel
    plan: Plan
    faults: tuple[Fault, ...]
    observe: Observe
    policy: ExecutionPolicy
    plain: float
    skills: int
    has_journal: bool
    is_asked: bool
    is_candidate: bool = False
    open_world: OpenWorld | None = None
    careless: bool = False
    """Whether handlers change numbers without a look at bounds and thresholds: see `SimulatedWorld`."""
    pace: float = 1.0
    """Seconds that handlers take; all other times of the run are as many times as long."""

    @property
    def is_clear(self) -> bool:
        """Whether observers can say everything, none of them has a fault, and nothing goes stale: that is not seen."""
        sound = not any(fault.kind.is_of_observers for fault in self.faults)
        fresh = not any(each.stale_with for each in classical_part(self.plan).domain.predicates.values())
        told = not any(fault.kind is FaultKind.RESULT_STRANGER or fault.kind.is_of_listings for fault in self.faults)
        return sound and told and fresh and self.observe.share == 1 and self.observe.conclusive

    @property
    def is_refused(self) -> bool:
        """Whether somebody may refuse to approve a step."""
        return any(fault.kind.is_of_approvals and fault.kind is not FaultKind.APPROVAL_LATE for fault in self.faults)

    def at_pace(self, pace: float) -> Setting:
        """Return the run with all times `pace` times as long."""

        def scale(seconds: float | None) -> float | None:
            return None if seconds is None else seconds * pace

        faults = [replace(each, seconds=scale(each.seconds or each.delay)) for each in self.faults]
        seen, policy = self.observe, self.policy
        observe = replace(
            seen, settle_within=seen.settle_within * pace, lag=seen.lag * pace, timeout=scale(seen.timeout)
        )
        longest, backoff, jitter = policy.longest * pace, policy.backoff * pace, policy.jitter * pace
        policy = replace(policy, timeout=scale(policy.timeout), backoff=backoff, jitter=jitter, longest=longest)
        return replace(self, faults=tuple(faults), observe=observe, policy=policy, pace=pace)

    def __str__(self) -> str:
        what = f"{classical_part(self.plan).domain.name}/{classical_part(self.plan).name}"
        faults = ", ".join(f"{each.kind.name} at {each.at}" for each in self.faults)
        turns = "".join(f", {turn.value}" for turn in self.open_world.turns) if self.open_world else ""
        return f"seed {self.seed}: {what}, {self.model}, {faults}{turns}"


def draw_setting(seed: int, campaign: int = 0) -> Setting:
    """Return the run that `seed` draws in a `campaign`; seeds go through all kinds of faults and models in turn."""
    dice = random.Random(f"{campaign} {seed}")
    if seed % 7 in ORDERS_TURNS:
        return _draw_orders(seed, campaign)
    kind = PLAIN[seed % len(PLAIN)]
    model = MODELS[seed // len(PLAIN) % len(MODELS)]
    plan = draw_plan(dice, hierarchical=model == "hierarchical")
    faults = [_draw_fault(kind, plan, dice)]
    if dice.random() < 0.25:
        faults.append(_draw_fault(dice.choice([each for each in PLAIN if each not in CRASHES]), plan, dice))
    skills = dice.choice([1, 1, 1, 2])
    return Setting(
        seed,
        kind,
        model,
        plan,
        tuple(faults),
        draw_observe(dice, {each.kind for each in faults}),
        ExecutionPolicy(timeout=TIMEOUT, retries=dice.choice([None, None, 0, 2])),
        plain=dice.choice([0.0, 0.0, 0.5]),
        skills=skills,
        has_journal=kind in CRASHES or dice.random() < 0.2,
        is_asked=dice.random() < 0.5,
        is_candidate=dice.random() < 0.3,
    )


def _draw_orders(seed: int, campaign: int) -> Setting:
    """Return a run of `orders`: its kind and model by turns, and twice as often a fault where money moves."""
    dice = random.Random(f"{campaign} orders {seed}")
    turn = seed // 7 * len(ORDERS_TURNS) + sorted(ORDERS_TURNS).index(seed % 7)
    kind, model = KINDS[::-1][turn % len(KINDS)], ORDERS_MODELS[turn // len(KINDS) % len(ORDERS_MODELS)]
    plan = plan_orders(dice.choice(list(PROBLEMS)), is_hasty=dice.random() < 0.5)
    final = [each for each in plan.steps if each.action in ("charge", "ship")]
    faults = [_draw_fault(kind, plan, dice, dice.choice(final) if dice.random() < 0.5 else None)]
    if dice.random() < 0.4:
        faults.append(_draw_fault(dice.choice([each for each in KINDS if each not in CRASHES]), plan, dice))
    if dice.random() < 0.3:
        faults += _draw_failing_undo(plan, dice)
    kinds = {each.kind for each in faults}
    return Setting(
        seed,
        kind,
        model,
        plan,
        tuple(faults),
        replace(
            draw_observe(dice, kinds),
            share=dice.choice([1.0] * 8 + [0.7, 0.0]),
            twice=FaultKind.OBSERVER_DISAGREES in kinds,
        ),
        ExecutionPolicy(timeout=TIMEOUT, retries=dice.choice([None, None, 0, 2])),
        plain=dice.choice([0.0, 0.0, 0.5]),
        skills=dice.choice([1, 1, 2]),
        has_journal=kind in CRASHES or dice.random() < 0.2,
        is_asked=dice.random() < 0.6,
        is_candidate=dice.random() < 0.2,
    )


def _draw_failing_undo(plan: Plan, dice: random.Random) -> list[Fault]:
    """Return the faults of a run that has to undo a reversible step, whose undoing does not work, either."""
    undone = dice.choice([each for each in plan.steps if each.action in INVERSE])
    broken = dice.choice([each for each in plan.steps if each != undone])
    undo = Fault(
        dice.choice([FaultKind.FAILS, FaultKind.RAISES_DONE]),
        INVERSE[undone.action],
        times=dice.choice([1, None]),
        apart=True,
    )
    return [Fault(FaultKind.FAILS, str(Atom(broken.action, broken.arguments)), times=None), undo]


def draw_observe(dice: random.Random, kinds: set[FaultKind]) -> Observe:
    """Return what can be seen; observers that show the past go with no changes from outside: these they would hide."""
    share = dice.choice([1.0] * 6 + [0.7, 0.4, 0.0])
    is_late = FaultKind.LATE in kinds
    lag = LAG if not kinds & CHANGES and dice.random() < 0.2 else 0.0
    return Observe(
        share=share,
        conclusive=dice.random() < 0.8,
        settle_within=SETTLED if is_late or lag else dice.choice([0.0, 1.0]),
        lag=lag,
        timeout=TIMEOUT,
    )


def _draw_fault(kind: FaultKind, plan: Plan, dice: random.Random, at_step: Step | None = None) -> Fault:
    """Return a fault of `kind` at a random step of `plan`, or at this one."""
    tags = {name: action.tags for name, action in classical_part(plan).domain.actions.items()}
    places = [
        place
        for place, each in enumerate(plan.steps)
        if not kind.is_of_approvals or "needs_approval" in tags[each.action]
    ]
    place = next((each for each in places if plan.steps[each] == at_step), None)
    place = dice.choice(places) if place is None else place
    step = plan.steps[place]
    for_good = dice.random() < 0.2 and kind not in CRASHES
    times = None if for_good else dice.choice([1, 1, 1, 2])
    planned = for_steps(classical_part(plan), plan.steps)
    if not kind.is_of_observers:
        seconds = 0.5 if kind is FaultKind.CHANGE_AFTER else LATE
        skill = "main" if kind in BREAKING and dice.random() < 0.3 else ""
        at = str(_open_placeholders(Atom(step.action, step.arguments), planned, plan))
        return Fault(kind, at, times=times, seconds=seconds, skill=skill, apart=True)
    simulation = Simulation(planned)
    for each in plan.steps[:place]:
        simulation.apply(each)
    changes = simulation.changes(step)
    known = classical_part(plan).domain.predicates
    facts = [each for each in (*changes.added, *changes.removed, *changes.modified) if each.predicate in known]
    at = str(_open_placeholders(dice.choice(facts), planned, plan)) if facts else ""
    at = "at" if kind is FaultKind.OBSERVER_STRANGER else at  # it has an open argument
    return Fault(kind, at, skip=dice.randrange(3), times=times, seconds=LATE + 3, apart=True)


def _open_placeholders(atom: Atom, planned: Problem, plan: Plan) -> Atom:
    """Return `atom` with open arguments for placeholders: nobody knows yet what will stand there."""
    known = {each.name for each in classical_part(plan).all_objects}
    placeholders = {each.name for each in planned.objects} - known
    return Atom(atom.predicate, tuple([OPEN if arg in placeholders else arg for arg in atom.args]))
