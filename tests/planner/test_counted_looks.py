"""Every stage of planning looks at its limits after a bounded count of work, and what was known is returned."""

from __future__ import annotations

from functools import cache

import pytest
from counted_looks import MOST_LINES, CountedLooks, solve_counted

from planner import Domain, validate
from planner.limits import LimitReached, Limits, enforce, look, under_limits
from planner.model import Problem
from planner.plan import Result, StoppedBy


def depots(*, wide: bool = False, numbers: bool = False, time: bool = False, rules: bool = False) -> Problem:
    """Return a problem with some 10,000 steps: trucks that bring parcels from place to place.

    If it is `wide`, steps have many conditional effects.
    """
    domain, lasting = Domain("depots", types=["truck", "parcel", "place"]), {"duration": 3} if time else {}
    if numbers:
        domain.function("load", "truck")
    if rules:
        domain.derive("seen(parcel, place)", {"parcel": "parcel", "place": "place"}, "lies(parcel, place)")
    there = "seen(parcel, place)" if rules else "lies(parcel, place)"
    domain.action(
        "drive",
        {"truck": "truck", "here": "place", "there": "place"},
        requires=["at(truck, here)", "road(here, there)"],
        provides=["at(truck, there)"],
        modifies=["at(truck, _)" if wide else "at(truck, here)"],
        **lasting,
    )
    domain.action(
        "load",
        {"truck": "truck", "parcel": "parcel", "place": "place"},
        requires=["at(truck, place)", there, *(["load(truck) <= 7"] if numbers else [])],
        provides=["in(parcel, truck)"],
        modifies=["lies(parcel, place)", *(["load(truck) += 1"] if numbers else [])],
        **lasting,
    )
    domain.action(
        "unload",
        {"truck": "truck", "parcel": "parcel", "place": "place"},
        requires=["at(truck, place)", "in(parcel, truck)"],
        provides=["lies(parcel, place)"],
        modifies=["in(parcel, truck)"],
        **lasting,
    )
    sizes = {"truck": 4 if wide or time else 8, "parcel": 8 if time else 16, "place": 30}
    trucks, parcels, places = ([f"{kind}{number}" for number in range(size)] for kind, size in sizes.items())
    return domain.problem(
        objects={f"{kind}{number}": kind for kind, size in sizes.items() for number in range(size)},
        initial=[f"road({one}, {other})" for one in places for other in places if one != other]
        + [f"at({each}, place{number})" for number, each in enumerate(trucks)]
        + [f"lies({each}, place{number})" for number, each in enumerate(parcels)],
        values={f"load({each})": 0 for each in trucks} if numbers else {},
        goal=["lies(parcel0, place3)", f"lies({parcels[-1]}, place0)"],
        metric="makespan" if time else "cost",
    )


KINDS: dict[str, dict[str, bool]] = {
    "classical": {},
    "conditional effects": {"wide": True},
    "rules": {"rules": True},
    "numbers": {"numbers": True},
    "time": {"time": True},
    "numbers in time": {"numbers": True, "time": True},
}


STAGES = {
    "classical": [
        "grounding/reachability",
        "grounding/joins",
        "grounding/instantiate",
        "grounding/action_tables",
        "grounding/relevance",
        "grounding/mutex_groups",
        "grounding/ground",
        "task/successor_generator",
        "heuristics/relaxation",
        "heuristics/hplus",
        "heuristics/lmcut",
    ],
    "conditional effects": ["grounding/simplify", "pruning/h2", "task/finite_domain", "task/packed_task_compiled"],
    "rules": ["grounding/simplify", "task/ground_task"],
    "numbers": [
        "grounding/ground_numeric",
        "grounding/numeric_meaning",
        "grounding/numeric_scaling",
        "task/packed_task_compiled",
        "task/numeric_task_compiled",
        "task/numeric_ranges",
        "task/numbers_as_facts",
        "heuristics/numeric_relaxation_compiled",
        "pruning/symmetries",
        "pruning/numeric_symmetries",
        "pruning/numeric_dominance",
        "search/numeric_action_elimination",
        "search/astar_compiled",
    ],
    "time": [
        "grounding/ground_temporal",
        "grounding/temporal_relevance",
        "grounding/lasting_facts",
        "heuristics/critical_path_in_time",
        "search/temporal_search_compiled",
        "search/timed_sequences_compiled",
    ],
    "numbers in time": ["grounding/numeric_scaling", "grounding/temporal_relevance", "task/packed_task_compiled"],
}
"""The stages that the problem of each kind takes, by their modules."""


@cache
def run(kind: str) -> tuple[CountedLooks, Result]:
    """Solve the problem of this kind while looks are counted."""
    return solve_counted(depots(**KINDS[kind]))


@pytest.mark.parametrize(("kind", "stage"), [(kind, stage) for kind, stages in STAGES.items() for stage in stages])
def test_each_stage_looks_at_its_limit(kind: str, stage: str) -> None:
    counted, _ = run(kind)
    assert 0 < counted.by_module[stage] <= MOST_LINES


@pytest.mark.parametrize("kind", KINDS)
def test_stages_together_look_at_their_limit(kind: str) -> None:
    counted, result = run(kind)
    assert counted.worst <= MOST_LINES, counted.where.most_common(5)
    assert result.stopped_by in (StoppedBy.CANCELLED, StoppedBy.EXHAUSTED)


@pytest.mark.parametrize("kind", ["classical", "conditional effects", "rules", "numbers", "time"])
def test_a_known_plan_is_returned(kind: str) -> None:
    _, result = run(kind)
    plan = result.expect_plan()
    assert validate(plan.problem, plan).valid


def test_looks_are_at_the_limits_in_force() -> None:
    look()
    with enforce(Limits(0.0)):
        with pytest.raises(LimitReached):
            look()
        with pytest.raises(LimitReached):
            list(under_limits([1]))
        with enforce(Limits()):
            assert list(under_limits(range(1000))) == [*range(1000)]
    look()
