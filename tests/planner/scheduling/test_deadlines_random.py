"""Plans that meet a deadline, on random problems, against all sequences of steps of some length and their schedules."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal

import pytest
from effort import share

from benchmarks.random_problems import ALL, STRIPS, random_problem, successors
from planner.model.actions import Action, Constraint, ConstraintKind, Done
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import And, Atom, Not, Object, Variable
from planner.model.problem import Goal, Problem, SoftGoal
from planner.plan import Plan, Status
from planner.resources import resources
from planner.scheduling.schedule import makespan
from planner.semantics.simulation import Simulation
from planner.solve import solve
from planner.validation.validate import validate

DURATIONS = (None, Decimal(0), Decimal(1), Decimal("2.5"), Decimal(7))
LENGTH, MOST = 4, 300


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
        plan = Plan(steps, replace(problem, deadline=None, budgets={}))
        if state.holds(problem.goal.hard) and validate(plan.problem, plan).valid:
            yield plan
        if len(steps) < LENGTH:
            queue += [(after, (*steps, step)) for step, after in successors(state) if matters(state, step)]


def matters(state, step):
    """Return whether the step changes a fact; what it only writes in place helps no plan."""
    found = state.changes(step)
    return bool(found.added or found.removed)


def cheapest_in_time(problem):
    """Return the least charge of these plans that keeps budgets and deadline, None without one; "?" for too many."""
    best = None
    for plan in plans(problem):
        if plan is None:
            return "?"
        forgone = validate(plan.problem, plan).forgone
        charge = plan.cost + sum(wish.utility for wish in forgone)
        if best is not None and charge >= best:
            continue
        within = all(resources(plan)[name] <= budget for name, budget in problem.budgets.items())
        if within and makespan(plan) <= problem.deadline:
            best = charge
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


def wishing(rng):
    """Return a workshop in which some of the goal is only wished for."""
    problem = workshop(rng)
    first, *others = problem.goal.hard.parts
    wishes = [SoftGoal(each, rng.randint(1, 9)) for each in (*others, Not(Atom("made", ("a",))))]
    return replace(problem, goal=Goal(first, tuple(wishes)))


def constrained(rng):
    """Return a workshop with a constraint on the way."""
    problem = workshop(rng)
    names = rng.sample(sorted(problem.domain.actions), 2)
    facts = [Atom("made", (name,)) for name in rng.sample("abcd", 2)]
    one, other = [Done(Atom(name)) if rng.random() < 0.4 else fact for name, fact in zip(names, facts, strict=True)]
    kind = rng.choice(list(ConstraintKind)[1:])
    relates = kind in (ConstraintKind.BEFORE, ConstraintKind.NEVER_AFTER)
    constraint = Constraint(kind, one, other if relates else None)
    return replace(problem, constraints=(constraint,), deadline=rng.randint(2, 12))


@pytest.mark.parametrize(
    ("draw", "seeds"),
    [
        (lambda rng: timed_problem(rng, ALL), range(40)),
        (lambda rng: timed_problem(rng, STRIPS), range(3000, 3080)),
        (workshop, range(40)),
        (wishing, range(40)),
        (constrained, range(40)),
    ],
    ids=["adl", "strips", "workshop", "wishes", "constraints"],
)
def test_plans_are_in_time_and_what_is_proved_holds(draw, seeds):
    seen, solved, undecided = 0, 0, 0
    for seed in share(seeds, 4):
        problem = draw(random.Random(seed))
        best = cheapest_in_time(problem)
        if best == "?":
            continue
        seen += 1
        result = solve(problem, mode=("anytime", "optimal")[seed % 2], time_limit=None)
        if result.plan is not None:
            solved += 1
            charge = result.plan.charge
            assert validate(problem, result.plan).valid
            assert makespan(Plan(result.plan.steps, problem)) <= problem.deadline
        if result.status is Status.OPTIMAL and best is not None:
            assert charge <= best, seed
        if result.status is Status.UNSOLVABLE:
            assert best is None, (seed, result.reason)
        if best is not None:
            assert result.plan is not None, seed
            assert result.lower_bound <= best <= charge or charge < best, seed
        undecided += result.status not in (Status.OPTIMAL, Status.UNSOLVABLE)
    assert seen > 5
    assert solved > 1
    assert undecided < seen / 5, undecided
