"""`forethought bench tools`: measure planning with generated tool libraries, or write them as a suite.

Our planner runs in this process, warm, from declarations in memory to a proved optimum. Other planners run as
processes, of which only the time that they state themselves counts. The table shows medians over the seeds.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import typer

from benchmarks.commands.options import parse_integers, select_installed
from benchmarks.planners import Answer, Outcome, Planner
from benchmarks.planners.base import DOMAIN_FILE, PROBLEM_FILE
from benchmarks.process import Limits, run_limited
from benchmarks.report import format_table
from benchmarks.tools.tool_library import (
    Library,
    declare_problem,
    declare_tools,
    describe_tools,
    problem_of,
    write_suite,
)
from benchmarks.tools.tool_profiles import PROFILES, generate
from planner import Result, Status, solve, validate
from planner.errors import ForethoughtError
from planner.language.pddl.export import Export, export
from planner.validation.validate import validate as validate_others

DEFAULT_SIZES = "10,100,1000,10000"


def tools(
    *,
    profile: Annotated[
        list[str] | None, typer.Option("--profile", help="Profile of libraries; may be repeated. By default all.")
    ] = None,
    sizes: Annotated[str, typer.Option("--sizes", help="Numbers of tools, separated by commas.")] = DEFAULT_SIZES,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of libraries of each profile and size.")] = 5,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="Number of rounds for each library; the fastest counts.")
    ] = 1,
    subjects: Annotated[
        int,
        typer.Option(
            "--subjects", min=0, max=3, help="Number of subjects in the goal; with any, tools take parameters."
        ),
    ] = 0,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Time limit of each planner on a library, in seconds.")
    ] = 20.0,
    planner: Annotated[
        list[str] | None, typer.Option("--planner", help="Run this planner too, as in `bench run`; may be repeated.")
    ] = None,
    peers: Annotated[bool, typer.Option("--peers", help="Run the usual peers too.")] = False,
    write: Annotated[
        Path | None, typer.Option("--write", help="Write a suite of PDDL files to this folder, and measure nothing.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to append each measurement to, as a line of JSON.")
    ] = None,
) -> None:
    """Plan with generated libraries of agent tools: milliseconds from declarations in memory to a proved optimum."""
    libraries = _generate_libraries(
        profile or list(PROFILES), parse_integers("--sizes", sizes, "10,100,1000"), seeds, subjects
    )
    if write is not None:
        typer.echo(f"{write_suite(libraries, write)} tasks written to {write}", err=True)
        return

    warm_up(subjects)
    others = select_installed([*(planner or ()), *(PEERS if peers else ())])
    _measure_all(libraries, others, lambda library: measure(library, time_limit, rounds), time_limit, out)


def _measure_all(
    libraries: Iterable[Library],
    others: list[Planner],
    ours: Callable[[Library], Measured],
    time_limit: float,
    out: Path | None,
) -> None:

    measured = []
    for library in libraries:
        for one in (ours(library), *measure_others(library, others, time_limit)):
            measured.append(one)
            typer.echo(f"{library.name}  {one.planner}  {one.outcome}  {one.total:.1f} ms", err=True)
            if out is not None:
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(one.to_dict()) + "\n")
    typer.echo(tools_table(measured))
    if any(one.outcome.startswith("wrong") and one.planner == OURS for one in measured):
        raise typer.Exit(10)


def _generate_libraries(profiles: Sequence[str], sizes: Sequence[int], seeds: int, subjects: int) -> Iterator[Library]:

    return (
        generate(profile, size, seed, subjects=subjects)
        for profile in profiles
        for size in sizes
        for seed in range(seeds)
    )


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
    return min([_measure_library(library, time_limit) for _ in range(rounds)], key=lambda one: one.total)


def _measure_library(library: Library, time_limit: float) -> Measured:
    """Declare the library, ask for a proved optimum within `time_limit` seconds, and check what comes."""
    tools = describe_tools(library)
    gc.collect()
    began = time.perf_counter()
    domain = declare_tools(library, tools)
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
        outcome=judge_result(result, library.optimum),
        optimum=library.optimum,
        cost=None if result.cost is None else float(result.cost),
        total=1000 * (ended - declared),
        cpu=1000 * used,
        declare=1000 * (declared - began),
        compile=1000 * (compiled - declared),
        search=1000 * (ended - compiled),
        expanded=result.statistics.expanded,
    )


def judge_result(result: Result, optimum: int) -> str:
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


PEERS: Final = (
    "kairos=kairos:warm=1",
    "jupyddl-astar-lmcut=jupyddl:search=astar,heuristic=lmcut,warm=1",
    "fd-astar-lmcut",
)
"""What `--peers` stands for."""
MEMORY_GIB: Final = 8.0


def measure_others(library: Library, planners: list[Planner], time_limit: float) -> list[Measured]:
    """Measure each planner from PDDL files to a plan, without interpreter start and imports."""
    if not planners:
        return []
    exported = export(declare_problem(library))
    return [_measure_other(library, planner, exported, Limits(time_limit, MEMORY_GIB)) for planner in planners]


def _measure_other(library: Library, planner: Planner, exported: Export, limits: Limits) -> Measured:
    with TemporaryDirectory(prefix="tools-") as name:
        folder = Path(name)
        (folder / DOMAIN_FILE).write_text(exported.domain, encoding="utf-8")
        (folder / PROBLEM_FILE).write_text(exported.problem, encoding="utf-8")
        job = planner.job(limits)
        run = run_limited(job.command, folder, limits, environment=job.environment)
        answer = planner.read(run, folder, frozenset({"costs"}))
    read, search = answer.translate_seconds, answer.search_seconds
    told = read is not None and search is not None
    return Measured(
        profile=library.profile,
        size=library.size,
        seed=library.seed,
        subjects=library.subjects,
        planner=planner.label,
        outcome=judge_other(answer, exported, library.optimum),
        optimum=library.optimum,
        cost=answer.cost,
        total=1000 * ((read or 0) + (search or 0) if told else run.cpu_seconds),
        compile=None if read is None else 1000 * read,
        search=None if search is None else 1000 * search,
    )


def judge_other(answer: Answer, exported: Export, optimum: int) -> str:
    """Return the outcome in words, after validating the plan and comparing its cost with the certified optimum."""
    if answer.plan is None:
        return "wrong: no plan" if answer.outcome is Outcome.UNSOLVABLE else answer.outcome.value
    try:
        plan = exported.read_plan(answer.plan)
    except ForethoughtError as error:
        return f"wrong: {error}"
    verdict = validate_others(exported.source, plan)
    if not verdict.valid:
        return f"wrong: {verdict.reason}"
    if plan.cost < optimum or (answer.outcome is Outcome.OPTIMAL and plan.cost != optimum):
        return f"wrong: {answer.outcome.value}, cost {plan.cost}, but the optimum is {optimum}"
    return answer.outcome.value


PARTS = ("declare", "compile", "search")
HEAD = ("profile", "tools", "planner", "optimal", *PARTS, "total", "CPU", "with declaring", "not as certified")


def tools_table(measured: Sequence[Measured]) -> str:
    """Return medians in milliseconds for each profile, size and planner, and how many were proved as certified.

    The total is that of compiling and searching. Where fewer than half were proved, it is what it took to give up,
    marked with ">".
    """
    cells: dict[tuple[str, int, str], list[Measured]] = {}
    for one in measured:
        profile = one.profile + (f", {one.subjects} subject(s)" if one.subjects else "")
        cells.setdefault((profile, one.size, one.planner), []).append(one)
    return format_table(HEAD, [_row(*key, members) for key, members in cells.items()])


def _row(profile: str, size: int, planner: str, members: Sequence[Measured]) -> tuple[str, ...]:
    proved = sum(one.outcome == "optimal" for one in members)
    wrong = sum(one.outcome.startswith("wrong") for one in members)
    mark = "" if 2 * proved > len(members) else "> "
    parts = [_median([getattr(one, part) for one in members]) for part in PARTS]
    total = mark + _median([one.total for one in members])
    whole = _median([None if one.declare is None else one.declare + one.total for one in members])
    shown = mark + whole if whole else ""
    cpu = _median([one.cpu for one in members])
    return (profile, f"{size:,}", planner, f"{proved}/{len(members)}", *parts, total, cpu, shown, str(wrong or ""))


def _median(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    middle = median(known)
    return f"{middle:.2f}" if middle < 10 else f"{middle:.1f}" if middle < 100 else f"{middle:,.0f}"
