"""Runs in which an action is broken keep the constraints of their problems, and succeed where that is possible."""

from __future__ import annotations

import asyncio
import random

import pytest
from constraint_twin import is_kept
from effort import share

from executor import Executor, Recovery, RunStatus
from executor.events.events import Rung
from executor.testing import Fault, FaultKind, SimulatedWorld
from planner import Domain, at_most, before, done, mandatory, never_after, solve, sometime
from planner.plan import Step
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import Simulation

LADDER = Recovery(rungs=(Rung.PATCH, Rung.REPLAN), time_limit=5)


def switches(rng):
    """Return a problem of facts that may each be had in two ways and ended, with demands on the way."""
    domain, names = Domain("switches"), []
    for number in range(3):
        fact = f"on{number}"
        for way, cost in (("press", 1), ("push", 2)):
            names.append(f"{way}{number}")
            domain.action(names[-1], {}, requires=[f"not {fact}"], provides=[fact], cost=cost)
        names.append(f"end{number}")
        domain.action(names[-1], {}, requires=[fact], provides=[f"not {fact}"])

    def happening():
        return done(rng.choice(names)) if rng.random() < 0.7 else f"on{rng.randrange(3)}"

    demands = [mandatory(rng.choice(names))]
    for _ in range(rng.randint(1, 3)):
        kinds = (at_most(1, happening()), before(happening(), happening()), never_after(happening(), happening()))
        demands.append(rng.choice((*kinds, sometime(happening()))))
    return domain.problem(goal=[f"on{number}" for number in range(3)], constraints=demands)


def possible(problem, steps, broken):
    """Return whether some way on from `steps` keeps all constraints and reaches the goal without what is `broken`."""
    start = Simulation(problem)
    watches = ConstraintMonitors(start)
    for step in steps:
        start.apply(step)
        watches.look(start, step)
        watches.look(start)
    queue, seen = [(start, watches)], {(start.facts, watches.key)}
    for state, so_far in queue:
        if so_far.broken is None and state.holds(problem.goal.hard) and not any(so_far.unmet):
            return True
        for step in state.applicable() if so_far.broken is None else ():
            after, then = state.copy(), so_far.copy()
            after.apply(step)
            then.look(after, step)
            then.look(after)
            if step.action != broken and (after.facts, then.key) not in seen:
                seen.add((after.facts, then.key))
                queue.append((after, then))
    return False


@pytest.mark.parametrize("model", ["sequential", "dag"])
def test_what_is_demanded_on_the_way_is_kept_when_plans_are_patched(model) -> None:
    ended = {True: 0, False: 0}
    for seed in share(range(60), 3):
        problem = switches(random.Random(seed))
        found = solve(problem, time_limit=5)
        if not found.has_plan:
            continue
        broken = random.Random(seed).choice(found.plan.steps).action
        simulated = SimulatedWorld(problem, faults=[Fault(FaultKind.FAILS, broken, times=None)])
        outcome = asyncio.run(Executor(simulated.world, model=model, recovery=LADDER).run(found))
        steps, states = [Step(act.step.predicate, act.step.args) for act in simulated.acts], [Simulation(problem)]
        for step in steps:
            states.append(states[-1].copy())
            states[-1].apply(step)
        succeeded = outcome.status is RunStatus.SUCCEEDED
        ended[succeeded] += 1
        if succeeded:
            assert all(is_kept(each, steps, states) for each in problem.constraints), seed
        else:
            assert not possible(problem, steps, broken), (seed, outcome.reason)
    assert min(ended.values()) > 0
