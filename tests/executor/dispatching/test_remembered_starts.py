"""Runs expect at the end of a step what its conditions and amounts were when it began."""

from __future__ import annotations

from executor import ExecutionPolicy, Executor, RunStatus
from executor.testing import SimulatedWorld, VirtualClock, run_virtual
from planner import Domain, Problem, When, solve, validate


def kitchen() -> Problem:
    """Return a problem in which a dish gets crisp if the oven is hot at its start, and weighs what was there then."""
    domain = Domain("kitchen")
    for name in ("weight", "portions"):
        domain.function(name)
    domain.action("heat", duration=10, at_start={"provides": "hot"}, provides="not hot")
    domain.action(
        "roast", requires="raw", provides=["roasted", "not raw"], modifies="portions += weight",
        when=[When("hot", "crisp"), When("raw", "brown")], duration=30,
    )  # fmt: skip
    domain.action("add", requires="hot", modifies="weight += 1", provides="added", duration=15)
    domain.action("serve", requires=["portions == 2", "crisp", "brown"], provides="served", duration=5)
    return domain.problem(initial=["raw", "weight = 2", "portions = 0"], goal=["served", "added"], objective="makespan")


def test_a_run_remembers_the_start() -> None:
    problem = kitchen()
    plan = solve(problem).expect_plan()
    assert validate(problem, plan).valid
    assert plan.makespan < 41
    world = SimulatedWorld(problem)
    for action in problem.domain.actions:
        world.world.policy(action, ExecutionPolicy(timeout=1000))
    outcome = run_virtual(Executor(world.world, clock=VirtualClock()).run(plan))
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert not world.refusals
    assert {record.status.name for record in outcome.steps} == {"SUCCEEDED"}
