"""What constraints ask of a plan that goes on is what they ask of the whole, after what has happened."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from constraint_twin import is_kept
from random_tasks import with_random_constraints

from benchmarks.random_problems import ALL, random_problem
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import Simulation

MOST_WALKS = 60
LONGEST = 4


def walks(problem):
    """Yield sequences of steps with the states that they go through."""
    queue = [((), [Simulation(problem)])]
    for steps, states in queue:
        yield steps, states
        if len(steps) < LONGEST and len(queue) < MOST_WALKS:
            for step in states[-1].applicable():
                found = states[-1].copy()
                found.apply(step)
                queue.append(((*steps, step), [*states, found]))


@pytest.mark.parametrize("block", range(4))
def test_the_rest_keeps_what_is_left_where_the_whole_keeps_all(block):
    kept = broken = changed = 0
    for seed in range(40 * block, 40 * block + 40):
        rng = random.Random(seed)
        problem = with_random_constraints(random_problem(rng, ALL), rng, ALL)
        if not problem.constraints:
            continue
        hard = replace(problem, constraints=tuple([replace(each, utility=None) for each in problem.constraints]))
        for steps, states in walks(hard):
            now = rng.randrange(len(states))
            watches = ConstraintMonitors(states[0])
            for step, state in zip(steps[:now], states[1:], strict=False):
                watches.look(state, step)
                watches.look(state)
            if watches.broken is not None:
                continue
            left = watches.progress(states[now])
            whole = all(is_kept(each, steps, states) for each in hard.constraints)
            assert all(is_kept(each, steps[now:], states[now:]) for each in left) is whole, (seed, steps, now)
            kept, broken, changed = kept + whole, broken + (not whole), changed + (left != hard.constraints)
    assert min(kept, broken, changed) > 40
