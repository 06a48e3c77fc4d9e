"""What planning with a library takes, inside a process that is warm: declarations in memory to a proved optimum."""

from __future__ import annotations

import gc
import time
from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.tools.declare import declare, problem_of, said
from benchmarks.tools.library import Library
from benchmarks.tools.profiles import generate
from planner import Result, Status, solve, validate

OURS: Final = "forethought"
WARM: Final = (("groups", 10), ("dense", 100), ("groups", 1000))
WARM_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What one planner took for one library; times in milliseconds, None where they are not known apart.

    `outcome` is "optimal" (claimed, and as certified), "solved", "wrong: …", or what stopped the planner. `total` is
    what an agent waits for that has declared its tools: `compile` (from these declarations to a ground task) and
    `search`. `cpu` is the CPU time of the same; `declare` is what declaring took before that.
    """

    profile: str
    size: int
    seed: int
    subjects: int
    planner: str
    outcome: str
    optimum: int
    cost: float | None = None
    total: float = 0.0
    cpu: float | None = None
    declare: float | None = None
    compile: float | None = None
    search: float | None = None
    expanded: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON-ready data."""
        return asdict(self)


def warm_up(subjects: int) -> None:
    """Load and compile whatever planning needs, so that the first library measured is no exception."""
    for profile, size in WARM:
        measure(generate(profile, size, subjects=subjects), WARM_SECONDS)


def measure(library: Library, time_limit: float, rounds: int = 1) -> Measured:
    """Return the fastest of so many rounds, each with declarations of its own."""
    return min([_measure(library, time_limit) for _ in range(rounds)], key=lambda one: one.total)


def _measure(library: Library, time_limit: float) -> Measured:
    """Declare the library, ask for a proved optimum within `time_limit` seconds, and check what comes."""
    tools = said(library)
    gc.collect()
    began = time.perf_counter()
    domain = declare(library, tools)
    declared = time.perf_counter()
    used = time.process_time()
    problem = problem_of(library, domain)
    stated = time.perf_counter()
    result = solve(problem, mode="optimal", time_limit=time_limit)
    ended = time.perf_counter()
    used = time.process_time() - used
    compiled = stated + result.statistics.ground_seconds
    return Measured(
        profile=library.profile,
        size=library.size,
        seed=library.seed,
        subjects=library.subjects,
        planner=OURS,
        outcome=judged(result, library.optimum),
        optimum=library.optimum,
        cost=None if result.cost is None else float(result.cost),
        total=1000 * (ended - declared),
        cpu=1000 * used,
        declare=1000 * (declared - began),
        compile=1000 * (compiled - declared),
        search=1000 * (ended - compiled),
        expanded=result.statistics.expanded,
    )


def judged(result: Result, optimum: int) -> str:
    """Return the outcome in words: the plan is validated, its cost and bound are compared with the optimum."""
    if result.plan is None:
        return "wrong: no plan" if result.status is Status.UNSOLVABLE else result.stopped_by.name.lower()
    verdict = validate(result.plan.problem, result.plan)
    if not verdict.valid:
        return f"wrong: {verdict.reason}"
    if result.plan.cost < optimum or (result.lower_bound is not None and result.lower_bound > optimum):
        return f"wrong: cost {result.plan.cost}, bound {result.lower_bound}, but the optimum is {optimum}"
    if result.status is Status.OPTIMAL:
        return "optimal" if result.plan.cost == optimum else f"wrong: proved {result.plan.cost}, not {optimum}"
    return "solved"
