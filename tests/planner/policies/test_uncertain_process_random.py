"""The decision process of the ground task is that of the declared problem, state by state."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal

import pytest

from benchmarks.random_problems import Features, key_of, random_problem
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import OPEN, Case
from planner.policies.evaluation import Declared
from planner.policies.process_grounding import process_of
from planner.task.ground_task import bits

UNCERTAIN = Features(uncertain=True, after=False)


def image(process, simulation):
    """Return the state of `process` that stands for the simulated one."""
    base = [number for number in range(len(process.task.facts)) if number not in process.task.derived]
    return bits(number for number in base if simulation.holds(process.task.facts[number]))


def told_apart(problem, seed):
    """Return `problem` with other probabilities for steps that have a certain object as their first argument."""
    dice, actions = random.Random(seed), dict(problem.domain.actions)
    for name, action in actions.items():
        if action.parameters:
            weights = [dice.randint(1, 5) for _ in action.outcomes]
            shares = tuple([Decimal(weight) / sum(weights) for weight in weights])
            pattern = (dice.choice(problem.all_objects).name, *[OPEN] * (len(action.parameters) - 1))
            case = Case(pattern, Decimal(dice.choice(["0", "0.25", "0.5"])), shares)
            actions[name] = replace(action, cases=(case,))
    return replace(problem, domain=replace(problem.domain, actions=actions))


@pytest.mark.parametrize(("seed", "cases"), [*((seed, False) for seed in range(150)), *((s, True) for s in range(60))])
def test_every_step_may_come_to_the_same(seed, cases):
    problem = random_problem(seed, UNCERTAIN)
    problem = told_apart(problem, seed) if cases else problem
    process, declared = process_of(problem, Limits()), Declared(problem)
    if process.task.unreachable_goal is not None:
        assert not any(state.holds(problem.goal.hard) for state in reachable(declared))
        return
    assert image(process, declared.initial) == process.initial
    kept = {(choice.step.action, choice.step.arguments) for choice in process.choices}
    for state in reachable(declared, kept):
        current = image(process, state)
        assert process.is_goal(current) is state.holds(problem.goal.hard)
        offered = [process.choices[number] for number in process.applicable(current)]
        steps = {(step.action, step.arguments): step for step in state.applicable()}
        assert {(each.step.action, each.step.arguments) for each in offered} <= steps.keys()
        for number, choice in zip(process.applicable(current), offered, strict=True):
            step = steps[choice.step.action, choice.step.arguments]
            assert step.cost == choice.step.cost
            assert choice.cost == step.cost * process.task.resolution
            expected = Counter()
            for probability, after in declared.outcomes(state, step):
                expected[image(process, after)] += probability
            found = {after: probability for probability, after in process.outcomes(current, number)}
            assert found == pytest.approx(dict(expected))
        done = {(each.step.action, each.step.arguments) for each in offered}
        for key, step in steps.items():
            if key not in done:  # what was left out as irrelevant changes nothing that helps
                assert all(
                    not helps(process, current, image(process, after)) for _, after in declared.outcomes(state, step)
                )


def helps(process, before, after):
    """Return whether `after` has a fact that `before` lacks and that some condition or the goal reads."""
    read = bits(process.task.goal)
    for action in process.task.actions:
        read |= bits(action.precondition)
    return bool(after & ~before & read)


def reachable(declared, kept=None, limit=60):
    """Yield states breadth first; only the `kept` steps are followed: those left out as irrelevant can only do harm."""
    seen, queue = {key_of(declared.initial)}, [declared.initial]
    for state in queue:
        yield state
        for step in state.applicable():
            if kept is not None and (step.action, step.arguments) not in kept:
                continue
            for _, after in declared.outcomes(state, step):
                if key_of(after) not in seen and len(seen) < limit:
                    seen.add(key_of(after))
                    queue.append(after)
