"""Every stage of planning looks at its limits after a bounded count of work, and what was known is returned.

Work is counted in lines of Python that run; a limit object counts those between two looks. Lines of kernels are left
out: machine code counts its own work, and gives up control after so much of it.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import planner
from planner import Domain, solve, validate
from planner.limits import LimitReached, Limits, enforce, look, under_limits
from planner.model import Problem
from planner.plan import Result, StoppedBy

MOST_LINES = 150_000
"""Lines between two looks: some 20 ms."""
ALL_LINES = 12_000_000
"""Lines after which the limit is reached."""
FOLDER = str(Path(str(planner.__file__)).parent)


class CountedLooks:
    """Counts lines of code in `planner`, in all and by module, between two looks at limits."""

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()
        self.total = 0
        self.worst = 0
        self.where: Counter[str] = Counter()
        self.by_module: Counter[str] = Counter()
        self.looks = 0

    def check(self) -> None:
        """Note a look; raise `LimitReached` once all lines are used up."""
        self.looks += 1
        passed = self.lines.total()
        self.total += passed
        if passed > self.worst:
            self.worst, self.where = passed, self.lines.copy()
        for name, lines in self.lines.items():
            self.by_module[name] = max(self.by_module[name], lines)
        self.lines.clear()
        if self.total > ALL_LINES:
            raise LimitReached(StoppedBy.CANCELLED)

    def trace(self, frame: Any, *_: Any) -> Any:
        """Trace the lines of a function of the planner."""
        path = frame.f_code.co_filename
        if not path.startswith(FOLDER) or path.endswith(("_kernel.py", "planner/limits.py")):
            return None
        name, lines = path[len(FOLDER) + 1 : -3], self.lines

        def count(*_: Any) -> Any:
            lines[name] += 1
            return count

        return count


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
    problem, counted = depots(**KINDS[kind]), CountedLooks()
    check = Limits.check
    Limits.check = lambda _: counted.check()  # type: ignore[method-assign]
    sys.settrace(counted.trace)
    try:
        result = solve(problem, time_limit=None)
    finally:
        sys.settrace(None)
        Limits.check = check  # type: ignore[method-assign]
    return counted, result


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
