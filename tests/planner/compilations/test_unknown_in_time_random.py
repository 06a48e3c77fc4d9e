"""Plans in time on suppositions, against all short plans whose steps begin when others begin or end, in all cases."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import product

import pytest
from effort import share
from unknown_combined import OBJECTS, Draw

from planner import Domain, Plan, Status, Step, solve, validate
from planner.plan import StepTime
from planner.problem_kinds import resolve_problem
from planner.testing import enumerate_worlds
from planner.validation.timed_replay import TimedReplay

EPSILON = Decimal("0.001")


def draw_timed(seed):
    """Return a tiny random problem in time with unknown facts."""
    rng = random.Random(seed)
    draw, domain = Draw(rng, numbers=False), Domain("tiny", types=["o"])
    for name in ("p", "q"):
        domain.predicate(name, "o")
    domain.predicate("r")
    for number in range(rng.randint(2, 3)):
        requires = [draw.literal("a")] if rng.random() < 0.7 else []
        more = {"throughout": [draw.literal("a")]} if rng.random() < 0.3 else {}
        domain.action(
            f"act{number}", {"a": "o"}, requires=requires, provides=[draw.literal("a")], cost=rng.randint(1, 3),
            duration=rng.randint(1, 4), tags=["irreversible"] if rng.random() < 0.2 else [],
            modifies=["q(_)"] if rng.random() < 0.2 else [], **more,
        )  # fmt: skip
    if rng.random() < 0.7:
        domain.action("see", {"a": "o"}, senses=[rng.choice(["p(a)", "p(_)", "q(a)"])], cost=1, duration=1)
    unknown = rng.choice([["p(_)"], ["q(x)"], ["p(x)", "q(y)"], ["p(x)", "r"]])
    hidden = {name for pattern in unknown for name in (pattern, *(pattern.replace("_", each) for each in OBJECTS))}
    known = [f"{name}({each})" for name in ("p", "q") for each in OBJECTS if rng.random() < 0.4]
    goal = list(dict.fromkeys(draw.literal(rng.choice(OBJECTS)) for _ in range(2)))
    goal = [each for each in goal if f"not {each}" not in goal]
    more = rng.choice(
        [{"objective": "makespan"}, {"objective": "makespan", "deadline": rng.randint(2, 8)},
         {"timed": {rng.randint(1, 5): draw.literal("x")}}, {"due": {goal[0]: rng.randint(2, 8)}}]
    )  # fmt: skip
    return domain.problem(
        objects=dict.fromkeys(OBJECTS, "o"), initial=[each for each in known if each not in hidden], goal=goal,
        unknown=unknown, **more,
    )  # fmt: skip


def find_costs(world, most=2):
    """Yield the cost of each plan of at most so many steps that begin when others begin or end, or just after."""
    ground = [
        Step(name, args)
        for name, each in world.domain.actions.items()
        for args in product(OBJECTS, repeat=len(each.parameters))
    ]
    for size in range(most + 1):
        for steps in product(ground, repeat=size):
            lasts = [world.domain.actions[step.action].duration for step in steps]
            for times in find_times(lasts, [each.time for each in world.timed]):
                order = sorted(range(size), key=lambda place, times=times: times[place].start)
                replay = TimedReplay(world, [steps[at] for at in order], [times[at] for at in order])
                if replay.judge(None).valid:
                    yield replay.price().cost


def find_times(lasts, events, times=()):
    """Yield the choices of times for steps that last so long."""
    if len(times) == len(lasts):
        yield times
        return
    moments = [0, *events, *(moment for each in times for moment in (each.start, each.end))]
    for start in dict.fromkeys(Decimal(moment) + late for moment in moments for late in (0, EPSILON)):
        yield from find_times(lasts, events, (*times, StepTime(start, lasts[len(times)])))


@pytest.mark.drawn
@pytest.mark.parametrize("part", share(range(12), 1))
def test_plans_in_time_work_wherever_what_they_suppose_holds(part) -> None:
    for seed in range(2 * part, 2 * part + 2):
        problem = resolve_problem(draw_timed(seed))
        check_timed(problem, solve(problem, time_limit=4))


def check_timed(problem, result) -> bool:
    """Check what `result` claims, and return whether its plan supposes anything."""
    worlds = [world for _, world in enumerate_worlds(problem)]
    costs = [cost for world in worlds for cost in find_costs(world)]
    assert not (result.status is Status.UNSOLVABLE and costs)
    assert result.status is not Status.UNSUPPORTED
    if costs and result.lower_bound is not None:
        assert result.lower_bound <= min(costs)
    if result.plan is None:
        return False
    supposed = result.plan.suppositions
    fitting = [world for world in worlds if all((each.fact in world.initial) is each.holds for each in supposed)]
    assert fitting
    for world in fitting:
        assert validate(
            world, Plan(result.plan.steps, world, times=result.plan.times, time_cost=result.plan.time_cost)
        ).valid
    if result.status is Status.OPTIMAL:
        assert not supposed
        assert result.cost <= min(costs, default=result.cost)
    verdict = validate(problem, result.plan)
    assert (verdict.valid, verdict.suppositions) == (True, supposed)
    return bool(supposed)
