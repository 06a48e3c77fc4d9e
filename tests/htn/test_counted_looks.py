"""Every stage of planning with tasks looks at its limits after a bounded count of work, and returns what was known."""

from __future__ import annotations

from functools import cache

import pytest
from counted_looks import MOST_LINES, CountedLooks, solve_counted

from htn.language.declare import Methods
from htn.model import HtnProblem
from planner import Domain, validate
from planner.plan import Result, StoppedBy

LINES = 2_500_000
"""Lines after which the limit is reached."""
SIZES = {"truck": 4, "parcel": 16, "place": 30}


def deliveries(*, ordered: bool = True, numbers: bool = False) -> HtnProblem:
    """Return a problem with some 60,000 ways to decompose its tasks: trucks that bring parcels from place to place."""
    domain = Domain("deliveries", types=[*SIZES])
    if numbers:
        domain.function("load", "truck")
    domain.action(
        "drive",
        {"truck": "truck", "here": "place", "there": "place"},
        requires=["at(truck, here)", "road(here, there)"],
        provides=["at(truck, there)"],
        modifies=["at(truck, here)"],
    )
    domain.action(
        "load",
        {"truck": "truck", "parcel": "parcel", "place": "place"},
        requires=["at(truck, place)", "lies(parcel, place)", *(["load(truck) <= 7"] if numbers else [])],
        provides=["in(parcel, truck)"],
        modifies=["lies(parcel, place)", *(["load(truck) += 1"] if numbers else [])],
    )
    domain.action(
        "unload",
        {"truck": "truck", "parcel": "parcel", "place": "place"},
        requires=["at(truck, place)", "in(parcel, truck)"],
        provides=["lies(parcel, place)"],
        modifies=["in(parcel, truck)"],
    )
    how = Methods(domain)
    how.task("go", truck="truck", place="place")
    how.task("deliver", parcel="parcel", place="place")
    how.method("stay", {"truck": "truck", "place": "place"}, task="go(truck, place)", requires=["at(truck, place)"])
    how.method(
        "move",
        {"truck": "truck", "here": "place", "place": "place"},
        task="go(truck, place)",
        requires=["at(truck, here)"],
        subtasks=["drive(truck, here, place)"],
    )
    how.method(
        "carry",
        {"truck": "truck", "parcel": "parcel", "here": "place", "place": "place"},
        task="deliver(parcel, place)",
        requires=["lies(parcel, here)"],
        subtasks=["go(truck, here)", "load(truck, parcel, here)", "go(truck, place)", "unload(truck, parcel, place)"],
    )
    trucks, parcels, places = ([f"{kind}{number}" for number in range(size)] for kind, size in SIZES.items())
    return how.problem(
        objects={f"{kind}{number}": kind for kind, size in SIZES.items() for number in range(size)},
        initial=[f"road({one}, {other})" for one in places for other in places if one != other]
        + [f"at({each}, place{number})" for number, each in enumerate(trucks)]
        + [f"lies({each}, place{number})" for number, each in enumerate(parcels)],
        values={f"load({each})": 0 for each in trucks} if numbers else {},
        tasks=["deliver(parcel0, place3)", f"deliver({parcels[-1]}, place0)", "deliver(parcel3, place20)"],
        ordered=ordered,
    )


KINDS: dict[str, dict[str, bool]] = {
    "in order": {},
    "in any order": {"ordered": False},
    "numbers": {"numbers": True},
}
STAGES = {
    "in order": ["lifted/depth_first", "grounding/ground_htn", "grounding/instances", "search/packed_hierarchy"],
    "in any order": ["grounding/ground_htn", "search/packed_hierarchy"],
    "numbers": ["grounding/numeric_hierarchy"],
}
"""The stages that the problem of each kind takes, by their modules."""


@cache
def run(kind: str) -> tuple[CountedLooks, Result]:
    """Solve the problem of this kind while looks are counted."""
    return solve_counted(deliveries(**KINDS[kind]), LINES)


@pytest.mark.parametrize(("kind", "stage"), [(kind, stage) for kind, stages in STAGES.items() for stage in stages])
def test_each_stage_looks_at_its_limit(kind: str, stage: str) -> None:
    counted, _ = run(kind)
    assert 0 < counted.by_module[stage] <= MOST_LINES


@pytest.mark.parametrize("kind", KINDS)
def test_stages_together_look_at_their_limit(kind: str) -> None:
    counted, result = run(kind)
    assert counted.worst <= MOST_LINES, counted.where.most_common(5)
    assert result.stopped_by in (StoppedBy.CANCELLED, StoppedBy.EXHAUSTED)


@pytest.mark.parametrize("kind", KINDS)
def test_a_known_plan_is_returned(kind: str) -> None:
    _, result = run(kind)
    plan = result.expect_plan()
    assert validate(plan.problem, plan).valid
