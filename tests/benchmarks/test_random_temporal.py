"""Random tasks in time: what they contain, and our checker of plans against the semantics of their text."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import pytest

from benchmarks.random_temporal import COARSE, FINE, RANGED, TemporalTask, draw_plan, random_temporal_task
from benchmarks.temporal_brute import TooManyStates, find_least_makespan
from benchmarks.temporal_semantics import TemporalSemantics, TimedStep
from planner.language.pddl import parse_domain, parse_problem
from planner.plan import Step, StepTime
from planner.validation.timed_replay import TimedReplay

UNIT = Fraction(1)
KINDS = (FINE, RANGED, COARSE)


def mean(task: TemporalTask) -> TemporalSemantics:
    return TemporalSemantics(*task.write(UNIT), 1)


def test_a_seed_determines_a_task() -> None:
    assert random_temporal_task(7) == random_temporal_task(random.Random(7)) != random_temporal_task(8)


def test_tasks_contain_all_that_is_about_time() -> None:
    text = " ".join(" ".join(random_temporal_task(seed, kind).write()) for seed in range(40) for kind in KINDS)
    for words in (
        "( >= ?duration 0.004 ) :condition",
        "( * ?duration 1000 )",
        "over all",
        "( at 3 (",
        "decrease",
        ">= ?duration",
        ":action",
        "( not (",
        "assign",
    ):
        assert words in text, words


def test_enough_tasks_have_plans_that_take_time() -> None:
    found: Counter[str] = Counter()
    for seed in range(40):
        try:
            least = find_least_makespan(mean(random_temporal_task(seed)), 3000)
        except TooManyStates:
            found["too many"] += 1
        else:
            found["none" if least is None else "some" if least else "nothing to do"] += 1
    assert found["some"] > 15
    assert found["none"] > 2


def mutate(plan: Sequence[TimedStep], rng: random.Random, semantics: TemporalSemantics) -> list[TimedStep]:
    """Move a step by some ticks, leave one out, or add one."""
    changed, number = list(plan), rng.randrange(len(plan))
    kind, step = rng.random(), plan[number]
    if kind < 0.6:
        changed[number] = TimedStep(max(0, step.start + rng.choice([-2, -1, 1, 2])), step.name, step.duration)
    elif kind < 0.75:
        del changed[number]
    else:
        action = rng.choice(semantics.actions)
        changed.append(TimedStep(rng.randint(0, 12), action.name, action.low))
    return changed


@pytest.mark.parametrize("block", range(3))
def test_the_checker_judges_as_the_semantics_does(block: int) -> None:
    verdicts: Counter[bool] = Counter()
    for seed in range(40 * block, 40 * block + 40):
        rng = random.Random(seed)
        task = random_temporal_task(rng, (FINE, RANGED)[seed % 2])
        semantics = mean(task)
        domain, text = task.write()
        problem = parse_problem(text, parse_domain(domain))
        for _ in range(4):
            drawn = draw_plan(semantics, rng, 30)
            for given in [drawn, mutate(drawn, rng, semantics), mutate(drawn, rng, semantics)] if drawn else []:
                plan = sorted(given, key=lambda each: each.start)
                steps = [Step(step.name[0], step.name[1:]) for step in plan]
                times = [StepTime(Decimal(step.start) / 1000, Decimal(step.duration) / 1000) for step in plan]
                verdict = TimedReplay(problem, steps, times).judge(None)
                assert verdict.valid is not bool(wrong := semantics.replay(plan)), (seed, plan, wrong, verdict.reason)
                verdicts[verdict.valid] += 1
    assert min(verdicts[True], verdicts[False]) > 30
