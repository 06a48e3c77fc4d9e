"""Plans that meet a deadline, on random problems, against all sequences of steps of some length and their schedules."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from planner.model import Action, And, Atom, DomainModel, Goal, Not, Object, Predicate, Problem, Variable
from planner.order import makespan
from planner.plan import Plan, Status
from planner.solve import solve
from planner.testing import ALL, STRIPS, random_problem
from planner.testing.brute import successors
from planner.validate import Simulation, resources, validate

DURATIONS = (None, Decimal(0), Decimal(1), Decimal("2.5"), Decimal(7))
LENGTH, MOST = 5, 600


def timed_problem(rng, features):
    """Return a random problem whose actions take time, and perhaps money, within a deadline."""
    problem = random_problem(rng, replace(features, actions=4, objects=2))
    actions = {
        name: replace(each, duration=rng.choice(DURATIONS), uses={"money": (rng.randint(0, 2),)})
        for name, each in problem.domain.actions.items()
    }
    budgets = {} if rng.random() < 0.6 else {"money": rng.randint(0, 4)}
    deadline = rng.choice([Decimal("2.5"), 5, 8, 12])
    return replace(problem, domain=replace(problem.domain, actions=actions), budgets=budgets, deadline=deadline)


def plans(problem):
    """Yield all plans of up to `LENGTH` steps; None where there are too many sequences of steps to look at."""
    queue = [(Simulation(problem), ())]
    for state, steps in queue:
        if len(queue) > MOST:
            yield None
            return
        if state.holds(problem.goal.hard):
            yield Plan(steps, replace(problem, deadline=None, budgets={}))
        if len(steps) < LENGTH:
            queue += [(after, (*steps, step)) for step, after in successors(state) if matters(state, step)]


def matters(state, step):
    """Return whether the step changes a fact; what it only writes in place helps no plan."""
    found = state.changes(step)
    return bool(found.added or found.removed)


def cheapest_in_time(problem):
    """Return the least cost of these plans that keeps budgets and deadline, None without one; "?" for too many."""
    best = None
    for plan in plans(problem):
        if plan is None:
            return "?"
        if best is not None and plan.cost >= best:
            continue
        within = all(resources(plan)[name] <= budget for name, budget in problem.budgets.items())
        if within and makespan(plan) <= problem.deadline:
            best = plan.cost
    return best


def workshop(rng):
    """Return a random problem of things to be made, on machines that do one thing at a time, dear and fast or not."""
    things = [Atom("made", (name,)) for name in "abcd"]
    actions = []
    for number, thing in enumerate(things):
        for way in range(rng.randint(1, 3)):
            needed = rng.sample(things[:number], min(number, rng.randint(0, 2)))
            spoiled = [Not(each) for each in needed if rng.random() < 0.2]
            machine = [Atom("machine", (rng.choice("xy"),))] if rng.random() < 0.7 else []
            speed = rng.choice([1, 2, 5])
            actions.append(
                Action(
                    f"way{way}-{thing.args[0]}",
                    requires=And(tuple(needed)),
                    provides=(thing, *spoiled),
                    modifies=tuple(machine),
                    cost=(rng.choice([0, 1, 6 - speed, 6 - speed]),),
                    duration=Decimal(speed),
                )
            )
    one = Variable("?x")
    domain = DomainModel(
        "workshop",
        predicates={name: Predicate(name, (one,)) for name in ("made", "machine")},
        actions={each.name: each for each in actions},
    )
    goal = And(tuple(rng.sample(things, 2)))
    objects = tuple([Object(name) for name in "abcdxy"])
    return Problem("workshop", domain, objects, goal=Goal(goal), deadline=rng.randint(2, 9))


@pytest.mark.parametrize(
    ("draw", "seeds"),
    [
        (lambda rng: timed_problem(rng, ALL), range(80)),
        (lambda rng: timed_problem(rng, STRIPS), range(3000, 3120)),
        (workshop, range(110)),
    ],
    ids=["adl", "strips", "workshop"],
)
def test_plans_are_in_time_and_what_is_proved_holds(draw, seeds):
    seen, solved, excluded, late, undecided = 0, 0, 0, 0, 0
    for seed in seeds:
        problem = draw(random.Random(seed))
        best = cheapest_in_time(problem)
        if best == "?":
            continue
        seen += 1
        result = solve(problem, mode=("anytime", "optimal")[seed % 2], time_limit=None)
        if result.plan is not None:
            solved += 1
            assert validate(problem, result.plan).valid
            assert makespan(Plan(result.plan.steps, problem)) <= problem.deadline
        if result.status is Status.OPTIMAL and best is not None:
            assert result.cost <= best, seed
        if result.status is Status.UNSOLVABLE:
            excluded += 1
            assert best is None, (seed, result.reason)
        if best is not None:
            assert result.plan is not None, seed
            assert result.lower_bound <= best <= result.cost or result.cost < best, seed
            late += best > solve(replace(problem, deadline=None), time_limit=None).cost
        undecided += result.status not in (Status.OPTIMAL, Status.UNSOLVABLE)
    assert seen > 60
    assert solved > 20
    assert excluded > 3
    assert undecided < seen / 20, undecided
