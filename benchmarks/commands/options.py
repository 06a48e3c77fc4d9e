"""Arguments and options that several commands share, and the tasks and planners that they select."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from planner.cli.output import tell
from planner.errors import DocumentError, InputError, Location

if TYPE_CHECKING:
    from benchmarks.planners import Planner
    from benchmarks.suite import BenchmarkTask


PROGRAMS: Final = {"java": "install a Java runtime, such as Debian's package default-jre-headless"}
"""What to do where a program is missing that a peer needs."""


class Track(StrEnum):
    """The tracks of the planning competitions that a task belongs to: classical, hierarchical and numeric ones."""

    OPT = "opt"
    SAT = "sat"
    TOTAL_ORDER = "total-order"
    PARTIAL_ORDER = "partial-order"
    SIMPLE = "simple"
    LINEAR = "linear"
    NONLINEAR = "nonlinear"


def parse_positive(text: str | float) -> float:
    """Read a limit: a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise typer.BadParameter(f"{text!r} is not a finite number above 0")
    return value


def check_choices(option: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise `BadParameter` for the first value of `option` that is not `known`."""
    for name in given:
        if name not in known:
            message = f"there is no {option.removeprefix('--')} {name!r}; there are {', '.join(known)}"
            raise typer.BadParameter(message, param_hint=option)


def parse_integers(option: str, text: str, example: str) -> list[int]:
    """Read integers that are separated by commas."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        message = f"write numbers with commas between, such as {example}"
        raise typer.BadParameter(message, param_hint=option) from None


@dataclass(frozen=True, slots=True)
class Processors:
    """Numbers of processors; a class of its own because typer takes bare tuples for options with several values."""

    numbers: tuple[int, ...] = ()


def parse_processors(text: str) -> Processors:
    """Read numbers of processors that this process may run on, with commas between, `2-5` for all from 2 to 5."""
    try:
        known = sorted(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        known = list(range(os.cpu_count() or 1))
    places = {str(number): place for place, number in enumerate(known)}
    found: list[int] = []
    for word in text.split(","):
        first, _, last = word.partition("-")
        for end in (first, last or first):
            if end not in places:
                raise typer.BadParameter(f"{end!r} is not a processor here; there are {', '.join(places)}")
        range_of = known[places[first] : places[last or first] + 1]
        if not range_of:
            raise typer.BadParameter(f"{word!r} is empty; write the lower number first")
        found += range_of
    return Processors(tuple(dict.fromkeys(found)))


SuiteFolder = Annotated[
    Path, typer.Argument(metavar="SUITE", help="Folder with tasks.tsv, or with PDDL or HDDL files.")
]
ResultFile = Annotated[
    Path, typer.Argument(metavar="RESULTS", help="File of results (JSON lines).", exists=True, dir_okay=False)
]
Results = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        help="File of results (JSON lines), or properties of downward-lab or their folder.",
        exists=True,
    ),
]
ResultFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="RESULTS…",
        help="Files of results (JSON lines), or properties of downward-lab or their folders.",
        exists=True,
    ),
]
TrackFilter = Annotated[Track | None, typer.Option("--track", help="Use tasks of this track only.")]
DomainFilter = Annotated[
    list[str] | None, typer.Option("--domain", help="Use domains that match this pattern, e.g. 'blocks*'.")
]
NameFilter = Annotated[
    list[str] | None, typer.Option("--name", help="Use tasks that match this pattern, e.g. '*/p01.pddl'.")
]
Sample = Annotated[int | None, typer.Option("--sample", min=1, help="Use a random sample of so many tasks.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the sample.")]
Out = Annotated[Path, typer.Option("--out", help="File to append results to; runs that it has are skipped.")]
CpuSeconds = Annotated[
    float,
    typer.Option(
        "--time-limit", parser=parse_positive, metavar="SECONDS", help="CPU time limit of a task, in seconds."
    ),
]
MemoryGib = Annotated[
    float, typer.Option("--memory-limit", parser=parse_positive, metavar="GiB", help="Memory limit of a task, in GiB.")
]
Cores = Annotated[
    Processors | None,
    typer.Option(
        "--core",
        parser=parse_processors,
        metavar="NUMBERS",
        help="Run on these processors only, e.g. 0 or 2,4-7; each job has its own share of them.",
    ),
]
Proved = Annotated[bool, typer.Option("--proved", help="Count proofs only: optimal plans and unsolvability.")]
Check = Annotated[
    list[str] | None,
    typer.Option("--check", help="Validator of plans, 'foreign' for all but ours, or 'none'; see `bench planners`."),
]
Without = Annotated[
    list[str] | None,
    typer.Option(
        "--without", metavar="FEATURE", help="Leave out tasks with this feature, e.g. axioms; may be repeated."
    ),
]
SupportedBy = Annotated[
    list[str] | None,
    typer.Option(
        "--supported-by", metavar="PLANNER", help="Leave out tasks that this planner does not support; may be repeated."
    ),
]
Only = Annotated[list[str] | None, typer.Option("--planner", help="Use results of this planner only; may be repeated.")]
BestKnown = Annotated[
    Path | None,
    typer.Option(
        "--best-known",
        exists=True,
        dir_okay=False,
        help="Best known costs for the satisficing score: lines with a task's name, a tab, and a cost.",
    ),
]


def check_output(out: Path, results: Iterable[Path]) -> None:
    """Raise `BadParameter` if writing `out` would replace a file of `results`, or one in a folder of these."""
    for path in results:
        if out.is_file() and any(out.samefile(file) for file in (path, path / out.name) if file.is_file()):
            raise typer.BadParameter(f"{out} has the results that are read; write elsewhere", param_hint="--out")


def select_planners(names: list[str]) -> list[Planner]:
    """Return the planners of these names, whether they are installed or not; raises `InputError` for equal labels."""
    from benchmarks.planners import planner_of

    found: list[Planner] = []
    for one in map(planner_of, dict.fromkeys(names)):
        if any(one.label == other.label for other in found):
            raise InputError(f"two planners are labelled '{one.label}'", hint="give one of them another label")
        found.append(one)
    return found


def select_installed(names: list[str]) -> list[Planner]:
    """Return the planners of these names that are installed; the others are told of and left out."""
    from benchmarks.planners import find_missing

    found: list[Planner] = []
    for one in select_planners(names):
        lacking = find_missing(one)
        if lacking is None:
            found.append(one)
        else:
            tell(f"{one.label} is left out: {lacking} is not installed; {hint_at_installation(lacking)}")
    return found


def hint_at_installation(package: str) -> str:
    """Return what installs `package`, which is a peer, comes with Forethought, or is a program that a peer needs."""
    from benchmarks.peer_installation import PEERS

    if package in PROGRAMS:
        return PROGRAMS[package]
    command = "forethought bench peers install" if package in PEERS else "pip install"
    return f"`{command} {package}` installs it"


def select_tasks(
    suite: Path,
    *,
    track: Track | None,
    domains: list[str] | None,
    names: list[str] | None,
    sample: int | None = None,
    seed: int = 0,
) -> list[BenchmarkTask]:
    """Return the selected tasks of the suite in a folder, without those whose files cannot be tasks: these are told of.

    Raises `DocumentError` where there are none.
    """
    from benchmarks.suite import Selection, load_suite

    chosen = Selection(track.value if track else None, domains or (), names or (), sample, seed)
    found = drop_faulty_tasks(chosen.of(load_suite(suite)))
    if not found:
        asked: dict[str, list[str]] = {
            "--track": [track.value] if track else [],
            "--domain": domains or [],
            "--name": names or [],
        }
        options = " ".join(f"{option} '{pattern}'" for option, patterns in asked.items() for pattern in patterns)
        raise DocumentError(f"no task fits {options}", Location(str(suite)), "`bench suites` lists the domains")
    return found


def drop_faulty_tasks(tasks: list[BenchmarkTask]) -> list[BenchmarkTask]:
    """Return those of `tasks` whose files are what they should be; the others are told of."""
    faults = {task.name: task.fault() for task in tasks}
    for name, fault in faults.items():
        if fault is not None:
            tell(f"{name} is left out: {fault}")
    return [task for task in tasks if faults[task.name] is None]
