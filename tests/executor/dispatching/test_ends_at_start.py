"""A run notes at its start what a declared step ends: nobody else is given the bed while it is being taken."""

from __future__ import annotations

import pytest

from executor import ExecutionPolicy, Executor, RunStatus
from executor.plans.action_plan import ActionPlan
from executor.testing import SimulatedWorld, VirtualClock, run_virtual
from planner import Domain, Problem, solve
from planner.model import Atom
from planner.plan import Plan, Step, StepTime


def beds() -> Problem:
    """Return a problem with one bed for two patients, one after the other."""
    domain, parameters = Domain("beds", types=["patient", "bed"]), {"x": "patient", "b": "bed"}
    domain.action("admit", parameters, requires="free(b)", provides=["in(x, b)", "not free(b)"], duration=300)
    given = ["free(b)", "well(x)", "not in(x, b)"]
    domain.action("discharge", parameters, requires="in(x, b)", provides=given, duration=100)
    people = {"kim": "patient", "lee": "patient", "b1": "bed"}
    return domain.problem(objects=people, initial="free(b1)", goal=["well(kim)", "well(lee)"], objective="makespan")


def simulate(problem: Problem) -> tuple[SimulatedWorld, Executor]:
    world = SimulatedWorld(problem)
    for action in problem.domain.actions:
        world.world.policy(action, ExecutionPolicy(timeout=1000))
    return world, Executor(world.world, clock=VirtualClock())


@pytest.mark.parametrize("as_data", [False, True])
def test_the_bed_is_taken_by_one_after_the_other(as_data: bool) -> None:
    problem = beds()
    plan = solve(problem).expect_plan()
    world, executor = simulate(problem)
    outcome = run_virtual(executor.run(ActionPlan.of(plan) if as_data else plan))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert not world.refusals
    assert [record.step.action for record in outcome.steps] == ["admit", "discharge"] * 2


def test_a_plan_that_books_the_bed_twice_is_patched_so_that_nobody_does() -> None:
    problem = beds()
    steps = (Step("admit", ("kim", "b1")), Step("admit", ("lee", "b1")))
    world, executor = simulate(problem)
    outcome = run_virtual(executor.run(Plan(steps, problem, times=(StepTime(0, 300), StepTime(0, 300)))))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert not world.refusals
    free = Atom("free", ("b1",))
    taken = [(free in act.added) - (free in act.removed) for act in world.acts if free in (*act.added, *act.removed)]
    assert taken == [-1, 1, -1, 1]
