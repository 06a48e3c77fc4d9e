"""Runs that are given another goal on the way, or interrupted: what can still be reached is reached."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from itertools import islice

import pytest
from brute_force import brute_force
from effort import share

from benchmarks.random_problems import random_problem, reachable
from executor import Executor, Recovery, RunStatus
from executor.events.events import Rung, StepEnded
from executor.testing import SimulatedWorld
from planner import solve
from planner.model import And, Goal

LADDER = Recovery(rungs=(Rung.PATCH, Rung.REPLAN), time_limit=5)
MODELS = ("sequential", "parallel", "dag", "reactive")


def tasks(seeds):
    """Yield random problems with plans of some steps, each with another goal, which holds in a state near by."""
    for seed in seeds:
        rng = random.Random(seed)
        problem = random_problem(rng)
        found = solve(problem, time_limit=5)
        if found.has_plan and len(found.plan.steps) > 1 and not problem.goal.soft:
            states = list(islice(reachable(problem), 40))
            facts = sorted(rng.choice(states).facts, key=str)
            wanted = And(tuple(rng.sample(facts, min(len(facts), 2))))
            yield seed, found.plan, replace(problem, goal=Goal(wanted))


async def disturbed(executor, plan, number, disturb):
    """Carry `plan` out, and disturb it when so many steps are over."""
    run, over = executor.start(plan), 0
    async for event in run.events():
        over += isinstance(event, StepEnded)
        if isinstance(event, StepEnded) and over == number:
            disturb(run)
    return run.id, await run


@pytest.mark.parametrize("model", MODELS)
def test_another_goal_is_reached_where_it_can_be(model) -> None:
    reached = {True: 0, False: 0}
    for seed, plan, other in tasks(range(60)):
        simulated = SimulatedWorld(plan.problem)
        executor = Executor(simulated.world, model=model, recovery=LADDER)
        changed = disturbed(executor, plan, 1, lambda run, other=other: run.change_goal(other))
        _, outcome = asyncio.run(changed)
        succeeded = outcome.status is RunStatus.SUCCEEDED
        reached[succeeded] += 1
        if succeeded:
            assert simulated.holds(other.goal.hard), seed
        else:
            now = replace(other, initial=tuple(simulated.facts), ran=outcome.state.beliefs.problem.ran)
            assert brute_force(now) is None, (seed, outcome.reason)
    assert reached[True] > 5
    assert reached[False] > 0


@pytest.mark.parametrize("model", MODELS)
def test_an_interrupted_run_does_what_it_would_have_done(model) -> None:
    stopped = 0
    for seed, plan, _ in tasks(share(range(60, 100), 4)):
        simulated = SimulatedWorld(plan.problem)
        executor = Executor(simulated.world, model=model, recovery=LADDER)

        async def story(executor=executor, plan=plan):
            run, outcome = await disturbed(executor, plan, 1, lambda each: each.interrupt())
            return outcome, outcome if outcome.status.is_over else await executor.resume(run)

        first, last = asyncio.run(story())
        stopped += not first.status.is_over
        assert last.status is RunStatus.SUCCEEDED, seed
        assert simulated.holds(plan.problem.goal.hard), seed
        assert all(times == 1 for key, times in simulated.applied.items() if "/" in str(key)), seed
    assert stopped
