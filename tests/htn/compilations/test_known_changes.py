"""Tasks beside changes at known times: steps wait for windows, and a clock finds what fits into them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import permutations
from random import Random

import pytest

from htn.explain.impossible_tasks import find_impossible_tasks, relax
from htn.language.plan_text import plan_from_text, write_plan
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from htn.problem_kind import validate
from htn.verification.chart_parsing import verify
from planner import Plan, Status, solve
from planner.language.pddl import parse_domain, parse_problem
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import Atom, Variable
from planner.model.formulas import Not, Number
from planner.model.problem import Metric
from planner.model.timing import GoalDeadline, TimedEffect
from planner.plan import Progress

Windows = dict[str, list[tuple[Number, Number]]]

DOMAIN = """
(define (domain errand)
  (:types place - object)
  (:predicates (at ?p - place) (open ?p - place) (home ?p - place) (done ?p - place))
  (:durative-action go :parameters (?a ?b - place) :duration (= ?duration 10)
    :condition (at start (at ?a)) :effect (and (at start (not (at ?a))) (at end (at ?b))))
  (:durative-action buy :parameters (?p - place) :duration (= ?duration 5)
    :condition (and (over all (at ?p)) (over all (open ?p))) :effect (at end (done ?p))))
"""
PROBLEM = """
(define (problem day) (:domain errand)
  (:objects flat shop bank - place) (:init (at flat)) (:goal (and)) (:metric minimize (total-time)))
"""
CLASSICAL = parse_problem(PROBLEM, parse_domain(DOMAIN))
VISITS = [Atom("visit", (place,)) for place in ("shop", "bank")]


def open_at(place: str, *windows: tuple[Number, Number]) -> list[TimedEffect]:
    fact = Atom("open", (place,))
    return [
        TimedEffect(time, (fact if is_start else Not(fact),))
        for window in windows
        for time, is_start in zip(window, (True, False), strict=True)
    ]


def day(network: Network, *changes: TimedEffect) -> HtnProblem:
    place, here = Variable("?p", ("place",)), Variable("?a", ("place",))
    steps = sequence(Atom("go", ("?a", "?p")), Atom("buy", ("?p",)))
    method = Method("go-there", Atom("visit", ("?p",)), (place, here), network=steps)
    domain = HtnDomain(CLASSICAL.domain, {"visit": Task("visit", (place,))}, {"go-there": method})
    timed = tuple(sorted(changes, key=lambda each: each.time))
    return HtnProblem(domain, replace(CLASSICAL, timed=timed), network)


def earliest_end(order: Sequence[str], windows: Windows) -> Decimal | None:
    """Return when visits in this order end at the earliest, without the separations; None where one fits no window."""
    now = Decimal(0)
    for place in order:
        here = now + 10
        begins = [max(here, Decimal(start)) for start, end in windows[place] if max(here, Decimal(start)) + 5 <= end]
        if not begins:
            return None
        now = min(begins) + 5
    return now


@pytest.mark.parametrize("seed", range(48))
def test_there_is_a_plan_where_some_order_of_the_visits_fits(seed: int) -> None:
    """Windows begin and end at halves of seconds, so that separations decide nothing."""
    draw = Random(seed)
    places = ["shop", "bank", "flat"][: draw.choice([2, 3, 3])]
    half = Decimal("0.5")
    windows: Windows = {}
    for place in places:
        edges = sorted(draw.sample(range(60), 2 * draw.randint(1, 2)))
        windows[place] = [(edges[at] + half, edges[at + 1] + half) for at in range(0, len(edges), 2)]
    visits = [Atom("visit", (place,)) for place in places]
    is_sequence = draw.random() < 0.3
    network = sequence(*visits) if is_sequence else Network(tuple(map(Subtask, visits)))
    problem = day(network, *[each for place, spans in windows.items() for each in open_at(place, *spans)])
    orders = [places] if is_sequence else list(permutations(places))
    ends = [end for order in orders if (end := earliest_end(order, windows)) is not None]
    result = solve(problem, time_limit=4 if ends else 2)
    assert (result.plan is not None) == bool(ends)
    if result.plan is not None:
        assert validate(problem, result.plan).valid
        assert result.plan.cost >= min(ends)
        assert (result.lower_bound or 0) <= min(ends) + Decimal("0.02")


def starts(plan: Plan) -> dict[str, float]:
    return {str(step): float(time.start) for step, time in zip(plan.steps, plan.times, strict=True)}


ANY_ORDER = Network(tuple(map(Subtask, VISITS)))


@pytest.mark.parametrize(
    ("network", "windows", "order"),
    [
        (sequence(*VISITS), {"shop": [(12, 30)], "bank": [(0, 90)]}, ["shop", "bank"]),
        (sequence(*VISITS), {"shop": [(1, 3), (40, 60)], "bank": [(50, 90)]}, ["shop", "bank"]),
        (ANY_ORDER, {"shop": [(28, 90)], "bank": [(1, 20)]}, ["bank", "shop"]),
        (ANY_ORDER, {"shop": [(2, 18)], "bank": [(5, 33)]}, ["shop", "bank"]),
        (ANY_ORDER, {"shop": [(1, 8), (20, 24), (26, 60)], "bank": [(1, 3), (4, 17)]}, ["bank", "shop"]),
    ],
)
def test_steps_wait_for_windows(network: Network, windows: dict[str, list[tuple[int, int]]], order: list[str]) -> None:
    changes = [each for place, spans in windows.items() for each in open_at(place, *spans)]
    problem = day(network, *changes)
    result = solve(problem, time_limit=6)
    plan = result.expect_plan()
    assert validate(problem, plan).valid
    bought = [step.arguments[0] for step in plan.steps if step.action == "buy"]
    assert bought == order
    for place, spans in windows.items():
        begin = starts(plan)[f"buy({place})"]
        assert any(start <= begin and begin + 5 <= end for start, end in spans)
    assert (result.lower_bound or 0) <= plan.cost
    again = plan_from_text(write_plan(plan), problem)
    assert validate(problem, again).valid
    assert verify(problem, replace(plan, tree=None), Limits(10)).valid


@pytest.mark.parametrize("windows", [[(1, 4)], [(1, 12), (13, 17)], []])
def test_what_fits_no_window_has_no_plan(windows: list[tuple[int, int]]) -> None:
    result = solve(day(ANY_ORDER, *open_at("shop", *windows), *open_at("bank", (0, 90))), time_limit=4)
    assert result.plan is None
    assert result.status in {Status.UNKNOWN, Status.UNSOLVABLE}


def test_a_plan_outside_the_window_is_invalid() -> None:
    problem = day(sequence(VISITS[0]), *open_at("shop", (12, 30)))
    plan = solve(problem, time_limit=3).expect_plan()
    early = replace(plan, times=tuple([replace(each, start=each.start - 2) for each in plan.times]))
    assert not validate(problem, early).valid
    closed = day(sequence(VISITS[0]), *open_at("shop", (12, 16)))
    assert not validate(closed, replace(plan, problem=closed)).valid


def test_what_a_change_gives_is_not_missing() -> None:
    problem = day(ANY_ORDER, *open_at("shop", (12, 30)), *open_at("bank", (0, 90)))
    assert find_impossible_tasks(relax(problem, Limits(10))) == ()


def test_sequences_prove_no_cost_beside_changes() -> None:
    """A step may need one fact at its start and another at its end, after a change: no sequence has it."""
    problem = day(ANY_ORDER, *open_at("shop", (12, 30)), *open_at("bank", (0, 90)))
    problem = replace(problem, classical=replace(problem.classical, metric=Metric.COST))
    reported: list[Progress] = []
    result = solve(problem, time_limit=4, on_progress=reported.append)
    assert result.plan is not None
    assert result.lower_bound is None
    assert reported
    assert {each.lower_bound for each in reported} == {None}


@pytest.mark.parametrize(("due", "cost"), [(30, 1), (16, 9), (11, None)])
def test_a_deadline_of_a_goal_is_met_by_a_dearer_method(due: Number, cost: Number | None) -> None:
    """A walk to the shop takes 20 s and costs 1, a cab takes 10 s and costs 9; buying takes 5 s."""
    go = CLASSICAL.domain.actions["go"]
    moves = {"walk": replace(go, name="walk", duration=20, cost=(1,)), "cab": replace(go, name="cab", cost=(9,))}
    classical = replace(CLASSICAL.domain, actions={"buy": CLASSICAL.domain.actions["buy"], **moves})
    place, here = Variable("?p", ("place",)), Variable("?a", ("place",))
    ways = [
        Method(f"by-{name}", Atom("visit", ("?p",)), (place, here), network=sequence(*steps))
        for name in moves
        for steps in [(Atom(name, ("?a", "?p")), Atom("buy", ("?p",)))]
    ]
    domain = HtnDomain(classical, {"visit": Task("visit", (place,))}, {each.name: each for each in ways})
    done = Atom("done", ("shop",))
    errand = replace(
        CLASSICAL,
        domain=classical,
        initial=(*CLASSICAL.initial, Atom("open", ("shop",))),
        goal=replace(CLASSICAL.goal, hard=done),
        metric=Metric.COST,
        due=(GoalDeadline(done, due),),
    )
    result = solve(HtnProblem(domain, errand, sequence(VISITS[0])), time_limit=20)
    assert result.status is (Status.UNKNOWN if cost is None else Status.OPTIMAL)
    assert result.cost == cost
