"""Runs of problems of which facts are unknown, in every world that there may be: what can be reached is."""

from __future__ import annotations

import asyncio
import random
from itertools import combinations

import pytest
from brute_force import brute_force

from executor import Executor, RunStatus
from executor.testing import SimulatedWorld
from executor.testing.simulated_observers import ALL, NOBODY
from planner import Domain
from planner.testing import enumerate_worlds


def maze(seed):
    """Return a problem of rooms between which some doors may be locked, and a parcel that may be in some of them."""
    rng = random.Random(seed)
    domain = Domain("maze", types=["room"])
    there = ["at(a)", "door(a, b)"]
    rooms = {"a": "room", "b": "room"}
    go = [*there, "not locked(a, b)"]
    domain.action("go", rooms, requires=go, provides=["at(b)"], modifies=["at(_)"], cost=rng.randint(1, 4))
    if rng.random() < 0.7:
        domain.action("look", rooms, requires=there, senses=["locked(a, b)"], cost=rng.randint(0, 2))
    if rng.random() < 0.3:
        domain.action("ask", senses=["locked(_, _)"], cost=rng.randint(0, 5))
    where = ["in(room)", "at(room)"]
    domain.action(
        "take", {"room": "room"}, requires=where, provides=["had"], modifies=["in(_)"], cost=rng.randint(1, 2)
    )
    domain.action("search", {"room": "room"}, requires=["at(room)"], senses=["in(room)"], cost=1)
    rooms = [f"r{number}" for number in range(4)]
    doors = [(one, other) for one, other in combinations(rooms, 2) if rng.random() < 0.7]
    unsure = [each for each in doors if rng.random() < 0.5][:3]
    facts = [f"door({one}, {other})" for pair in doors for one, other in (pair, pair[::-1])]
    unknown = [f"locked({one}, {other})" for one, other in unsure]
    goal = ["at(r3)"] if rng.random() < 0.5 else ["had", "at(r0)"]
    places = ["in(_)"] if rng.random() < 0.3 else [f"in({room})" for room in rng.sample(rooms, 2)]
    return domain.problem(
        objects=dict.fromkeys(rooms, "room"),
        initial=["at(r0)", *facts],
        goal=goal,
        unknown=[*unknown, *places],
        likely={each: rng.choice(["0.1", "0.5", "0.8"]) for each in unknown if rng.random() < 0.5},
    )


@pytest.mark.parametrize("observe", [ALL, NOBODY], ids=["observed", "unobserved"])
@pytest.mark.parametrize("model", [None, "dag", "policy"])
def test_what_can_be_reached_is_reached_in_every_world(observe, model) -> None:
    reached = {True: 0, False: 0}
    for seed in range(4):
        problem = maze(seed)
        for _, world in enumerate_worlds(problem):
            simulated = SimulatedWorld(world, observe=observe)
            possible = brute_force(world) is not None
            outcome = asyncio.run(Executor(simulated.world, model=model).run(problem))
            assert (outcome.status in (RunStatus.SUCCEEDED, RunStatus.UNVERIFIED)) is possible, (seed, outcome.reason)
            assert simulated.holds(problem.goal.hard) is possible
            reached[possible] += 1
    assert min(reached.values()) > 5
