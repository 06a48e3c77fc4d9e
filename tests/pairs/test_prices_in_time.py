"""Proofs in time of what plans pay, on random tiny problems, against the enumeration of all happenings.

Costs of steps, the makespan and numbers count together, between windows, deadlines of goals and of the plan, and
budgets. The enumeration takes no step twice, so a plan that does may be better.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from pairs.enumeration import optimum

from planner import Problem, Status, read_documents, solve, validate

FACTS = ("a", "b", "c")


def draw(seed: int) -> Problem:
    """Draw a problem with two or three steps, and some of what a problem in time may have."""
    random = Random(seed)
    actions = {f"act{number}": draw_action(random) for number in range(random.choice((2, 3, 3)))}
    stated: dict[str, Any] = {
        "initial": random.sample((*FACTS, "d"), random.choice((0, 1, 2))),
        "values": {"n": random.choice((0, 2))},
    }
    goal = random.sample(FACTS, random.choice((1, 2)))
    stated["goal"] = [each if random.random() < 0.85 else f"not {each}" for each in goal]
    stated["objective"] = random.choice(
        ["cost", "cost", "makespan", "makespan + 2 * cost", "n + total-cost", "2 * n + total-time"]
    )
    if random.random() < 0.4:
        stated["due"] = {goal[0]: random.choice((1, 2, 4))}
    if random.random() < 0.3:
        stated["deadline"] = random.choice((2, 4, 6))
    if random.random() < 0.4:
        stated["timed"] = {random.choice((1, 3)): [random.choice(("d", "not d", "c", "not a"))]}
    if random.random() < 0.2:
        stated["budgets"] = {"cost": random.choice((2, 3))}
    domain = {
        "domain": "tiny",
        "predicates": {each: {"parameters": {}} for each in (*FACTS, "d")},
        "functions": {"n": {"parameters": {}, **random.choice(({}, {"low": 0}, {"low": 0, "high": 4}))}},
        "actions": actions,
    }
    (problem,) = read_documents(json.dumps([domain, {"problem": "p", "domain": "tiny", **stated}])).problems
    assert isinstance(problem, Problem)
    return problem


def draw_action(random: Random) -> dict[str, Any]:
    made, needed = random.sample(FACTS, 2)
    action: dict[str, Any] = {"provides": [made], "cost": random.choice((0, 1, 2, 3))}
    duration = random.choice((None, 1, 2, 3, "1..3"))
    if duration is not None:
        action["duration"] = duration
    requires = [[], [], [needed], [f"not {needed}"], ["d"], ["n >= 1"]]
    action["requires"] = random.choice(requires)
    if random.random() < 0.3:
        action["provides"].append(f"not {random.choice(FACTS)}")
        action["provides"] = list(dict.fromkeys(each for each in action["provides"] if each != f"not {made}"))
    if random.random() < 0.3:
        action["modifies"] = [random.choice(("n += 1", "n += 2", "n -= 1", needed))]
    if duration is not None and random.random() < 0.3:
        action["throughout"] = [random.choice(("d", "not d", needed))]
    if duration is not None and random.random() < 0.2:
        action["at_start"] = {"provides": [random.choice(("d", *FACTS))]}
    return action


def compare(seed: int) -> str:
    """Compare the answer with the optimum; return the status."""
    problem = draw(seed)
    truth, found = optimum(problem), solve(problem, time_limit=2)
    least = None if truth is None else truth.charge
    what = f"{seed}: {found.describe()}, {found.plan}; the optimum is {truth}"
    if found.plan is None:
        assert least is None or found.status is not Status.UNSOLVABLE, what
        return found.status.name
    assert validate(problem, found.plan).valid, what
    repeats = len(set(found.plan.steps)) < len(found.plan.steps)
    assert least is not None or repeats, what
    if least is None:
        return found.status.name
    assert Fraction(found.plan.cost) >= least or repeats, what
    assert found.status is not Status.OPTIMAL or Fraction(found.plan.cost) <= least, what
    assert found.lower_bound is None or Fraction(found.lower_bound) <= least, what
    return found.status.name


@pytest.mark.parametrize("block", range(24))
def test_what_is_proved_in_time_agrees_with_the_enumeration(block: int) -> None:
    seen = Counter(compare(seed) for seed in range(20 * block, 20 * block + 20))
    assert seen["OPTIMAL"] + seen["UNSOLVABLE"] >= 10
