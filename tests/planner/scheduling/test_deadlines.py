"""Deadlines on a problem in which two carriers may work at once, and which of them do decides how long it takes."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from planner import Domain, Step, read_documents
from planner.model.actions import Action, Constraint, ConstraintKind
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import And, Atom, Not, Object, Variable
from planner.model.problem import COST, Goal, Problem, SoftGoal
from planner.plan import Status
from planner.scheduling.schedule import makespan
from planner.solve import solve
from planner.validation.validate import validate

WHO, WHAT = Variable("?who", ("carrier",)), Variable("?what", ("parcel",))
HERE, THERE = Atom("here", ("?what",)), Atom("there", ("?what",))


def parcels(number, deadline, **rest):
    """Return the problem to bring so many parcels there; each takes the van 10 seconds, the bike 30."""
    actions = [
        Action(
            f"{name}-brings",
            (WHAT,),
            And((Atom("here", ("?what",)), Atom("free", (name,)))),
            (THERE, Not(HERE)),
            (Atom("free", (name,)),),
            cost=(cost,),
            duration=Decimal(seconds),
        )
        for name, cost, seconds in (("van", 3, 10), ("bike", 1, 30))
    ]
    predicates = {
        "here": Predicate("here", (WHAT,)),
        "there": Predicate("there", (WHAT,)),
        "free": Predicate("free", (WHO,)),
    }
    domain = DomainModel(
        "parcels",
        {"carrier": ("object",), "parcel": ("object",)},
        predicates=predicates,
        actions={each.name: each for each in actions},
    )
    carriers = (Object("van", ("carrier",)), Object("bike", ("carrier",)))
    objects = tuple([Object(f"p{each}", ("parcel",)) for each in range(number)])
    initial = (*[Atom("here", (each.name,)) for each in objects], *[Atom("free", (each.name,)) for each in carriers])
    goal = And(tuple([Atom("there", (each.name,)) for each in objects]))
    return Problem("parcels", domain, (*carriers, *objects), initial, Goal(goal), deadline=deadline, **rest)


@pytest.mark.parametrize(("deadline", "cost"), [(120, 4), (90, 6), (60, 8), (40, 10), (30, 10), (None, 4)])
def test_the_sooner_it_must_be_done_the_more_it_costs(deadline, cost):
    problem = parcels(4, deadline)
    result = solve(problem, time_limit=None)
    assert result.status is Status.OPTIMAL
    assert result.cost == cost
    assert validate(problem, result.plan).valid
    assert deadline is None or makespan(result.plan) <= deadline


@pytest.mark.parametrize(
    ("deadline", "reason"),
    [
        (9, "every plan takes 10 seconds or more, and the deadline is 9"),
        (Decimal("9.5"), "every plan takes 10 seconds or more, and the deadline is 9.5"),
        (29, "no plan meets the deadline of 29 seconds"),
    ],
)
def test_a_deadline_that_no_plan_meets(deadline, reason):
    result = solve(parcels(4, deadline), time_limit=None)
    assert result.status is Status.UNSOLVABLE
    assert result.reason == reason


def test_budgets_and_deadlines_go_together():
    assert solve(parcels(4, 60, budgets={COST: 8}), time_limit=None).cost == 8
    result = solve(parcels(4, 60, budgets={COST: 7}), time_limit=None)
    assert result.status is Status.UNSOLVABLE
    assert result.reason == "no plan meets the deadline of 60 seconds and keeps the budgets"


@pytest.mark.parametrize(
    "options", [{"search": "astar"}, {"search": "uniform"}, {"search": "astar", "heuristic": "hmax"}]
)
def test_searches_that_count_can_be_named(options):
    result = solve(parcels(3, 30), **options, time_limit=None)
    assert result.status is Status.OPTIMAL
    assert result.cost == 7
    assert result.statistics.search == "timed"


def test_with_estimates_that_may_be_too_high_nothing_is_proved():
    result = solve(parcels(3, 30), search="astar", heuristic="hadd", time_limit=None)
    assert result.status is Status.SOLVED
    assert result.lower_bound == 0


def test_the_first_plan_is_in_time():
    result = solve(parcels(6, 60), mode="first")
    assert makespan(result.plan) <= 60


def test_without_any_plan_no_deadline_is_blamed():
    problem = parcels(2, 60)
    stuck = replace(problem, initial=tuple([fact for fact in problem.initial if fact.args != ("p0",)]))
    result = solve(stuck, time_limit=None)
    assert result.status is Status.UNSOLVABLE
    assert "deadline" not in result.reason


def test_other_searches_are_refused():
    result = solve(parcels(2, 60), search="greedy")
    assert result.status is Status.UNSUPPORTED
    assert "deadline" in result.reason


@pytest.mark.parametrize(
    ("deadline", "status", "action"),
    [(30, Status.OPTIMAL, "write"), (5, Status.SOLVED, "print"), (4, Status.UNKNOWN, None)],
)
def test_created_objects_are_made_by_the_deadline(deadline, status, action):
    office = Domain("office", types=["label"])
    for name, duration, cost in (("print", 5, 3), ("write", 30, 1)):
        office.action(name, provides="ready(l)", creates={"l": "label"}, duration=duration, cost=cost)
    result = solve(office.problem(goal="(exists (?l - label) (ready ?l))", deadline=deadline), time_limit=5)
    assert result.status is status
    assert (result.plan and result.plan.steps[0].action) == action


def test_wishes_and_deadlines_go_together():
    problem = parcels(3, 30)
    first, *others = problem.goal.hard.parts
    wishing = replace(problem, goal=Goal(first, (SoftGoal(others[0], 4), SoftGoal(others[1], 2))))
    result = solve(wishing, time_limit=None)
    assert result.status is Status.OPTIMAL
    assert (result.cost, result.plan.charge) == (4, 6)
    assert makespan(result.plan) == 30


def test_with_wishes_and_constraints_steps_are_taken_in_turn_and_the_bound_is_without_the_deadline():
    problem = parcels(2, 40)
    first, other = problem.goal.hard.parts
    before = Constraint(ConstraintKind.BEFORE, first, other)
    both = replace(problem, goal=Goal(first, (SoftGoal(other, 9),)), constraints=(before,))
    result = solve(both, time_limit=None)
    assert result.status is Status.SOLVED
    assert result.lower_bound == 2
    assert result.cost == 4
    assert makespan(result.plan) <= 40


def test_what_is_looked_at_delays_the_steps_that_rest_on_it():
    house = Domain("house")
    house.action("look", senses=["open"], duration=3)
    house.action("enter", requires=["open"], provides=["inside"], duration=4, tags=["irreversible"])
    for deadline, is_met in ((7, True), (6, False)):
        problem = house.problem(goal=["inside"], unknown=["open"], deadline=deadline)
        result = solve(problem)
        assert (result.plan is not None) is is_met
        verdict = validate(problem, [Step("look"), Step("enter")])
        assert verdict.valid is is_met
        if is_met:
            assert [step.action for step in result.plan.steps] == ["look", "enter"]
            assert [each.seen for each in result.plan.suppositions] == [1]
        else:
            assert result.status is Status.UNKNOWN
            assert verdict.reason == "the plan takes 7 seconds, and the deadline is 6"


BESIDE_NUMBERS = """\
domain: d
types: {item: object}
functions: {level: {parameters: {}}}
actions:
  slow: {provides: [on], modifies: ["level += 2"], duration: 8}
  quick: {parameters: {x: item}, requires: ["new(x)"], provides: ["not new(x)"], modifies: ["level += 1"], duration: 5}
---
problem: p
objects: {a: item, b: item}
initial: ["new(a)", "new(b)"]
values: {level: 0}
goal: ["level >= 2"]
deadline: LIMIT
"""


@pytest.mark.parametrize(("limit", "expected"), [(4, None), (6, ["quick", "quick"]), (8, ["slow"])])
def test_steps_overlap_where_the_deadline_beside_numbers_asks_for_it(limit: int, expected: list[str] | None) -> None:
    """The cheapest plan is late, and so is every plan whose steps are taken in turn."""
    (problem,) = read_documents(BESIDE_NUMBERS.replace("LIMIT", str(limit))).problems
    assert isinstance(problem, Problem)
    result = solve(problem, time_limit=5)
    if expected is None:
        assert result.status is Status.UNKNOWN
        return
    plan = result.expect_plan()
    assert [step.action for step in plan.steps] == expected
    assert validate(problem, plan).valid
    assert makespan(plan) <= limit
    assert result.status is (Status.OPTIMAL if result.lower_bound == plan.cost else Status.SOLVED)
