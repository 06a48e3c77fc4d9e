"""`forethought bench tools`: measure planning with generated tool libraries, or write them as a suite."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.commands.options import present

if TYPE_CHECKING:
    from benchmarks.planners import Planner
    from benchmarks.tools.library import Library
    from benchmarks.tools.measure import Measured

DEFAULT_SIZES = "10,100,1000,10000"


def tools(
    *,
    profile: Annotated[
        list[str] | None, typer.Option("--profile", help="A profile; may be repeated. All, if none.")
    ] = None,
    sizes: Annotated[str, typer.Option("--sizes", help="Numbers of tools, with commas between.")] = DEFAULT_SIZES,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Libraries of each profile and size.")] = 5,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="How often each library; the fastest round counts.")
    ] = 1,
    subjects: Annotated[
        int,
        typer.Option("--subjects", min=0, max=3, help="Tools take parameters, and the goal is for so many subjects."),
    ] = 0,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds a library, for each planner.")] = 20.0,
    planner: Annotated[
        list[str] | None, typer.Option("--planner", help="Another planner too, as for `bench run`; may be repeated.")
    ] = None,
    peers: Annotated[bool, typer.Option("--peers", help="The usual other planners too.")] = False,
    write: Annotated[Path | None, typer.Option("--write", help="Measure nothing; write a suite of PDDL files.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where each measurement goes too, as a line of JSON.")
    ] = None,
) -> None:
    """Plan with generated libraries of agent tools: milliseconds from declarations in memory to a proved optimum."""
    from benchmarks.tools.profiles import PROFILES  # noqa: PLC0415 - the command line starts without generators

    libraries = _libraries(profile or list(PROFILES), _sizes(sizes), seeds, subjects)
    if write is not None:
        from benchmarks.tools.write import write_suite  # noqa: PLC0415 - as above

        typer.echo(f"{write_suite(libraries, write)} tasks written to {write}", err=True)
        return
    from benchmarks.tools.measure import measure, warm_up  # noqa: PLC0415 - as above
    from benchmarks.tools.others import PEERS  # noqa: PLC0415 - as above

    warm_up(subjects)
    others = present([*(planner or ()), *(PEERS if peers else ())])
    _measure(libraries, others, lambda library: measure(library, time_limit, rounds), time_limit, out)


def _measure(
    libraries: Iterable[Library],
    others: list[Planner],
    ours: Callable[[Library], Measured],
    time_limit: float,
    out: Path | None,
) -> None:
    from benchmarks.tools.measure import OURS  # noqa: PLC0415 - as above
    from benchmarks.tools.others import measure_others  # noqa: PLC0415 - as above
    from benchmarks.tools.table import tools_table  # noqa: PLC0415 - as above

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


def _libraries(profiles: Sequence[str], sizes: Sequence[int], seeds: int, subjects: int) -> Iterator[Library]:
    from benchmarks.tools.profiles import generate  # noqa: PLC0415 - as above

    return (
        generate(profile, size, seed, subjects=subjects)
        for profile in profiles
        for size in sizes
        for seed in range(seeds)
    )


def _sizes(text: str) -> list[int]:
    try:
        return [int(word.replace("_", "")) for word in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            "write numbers with commas between, such as 10,100,1000", param_hint="--sizes"
        ) from None
