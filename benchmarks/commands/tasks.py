"""The tasks that options select."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.commands.options import Track
from planner.cli.output import tell

if TYPE_CHECKING:
    from benchmarks.suite import BenchmarkTask


def tasks_of(
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
    from benchmarks.suite import Selection, load_suite  # noqa: PLC0415 - each command loads only what it runs
    from planner.errors import DocumentError, Location  # noqa: PLC0415 - as above

    chosen = Selection(track.value if track else None, domains or (), names or (), sample, seed)
    found = sound(chosen.of(load_suite(suite)))
    if not found:
        asked: dict[str, list[str]] = {
            "--track": [track.value] if track else [],
            "--domain": domains or [],
            "--name": names or [],
        }
        options = " ".join(f"{option} '{pattern}'" for option, patterns in asked.items() for pattern in patterns)
        raise DocumentError(f"no task fits {options}", Location(str(suite)), "`bench suites` lists the domains")
    return found


def sound(tasks: list[BenchmarkTask]) -> list[BenchmarkTask]:
    """Return those of `tasks` whose files are what they should be; the others are told of."""
    faults = {task.name: task.fault() for task in tasks}
    for name, fault in faults.items():
        if fault is not None:
            tell(f"{name} is left out: {fault}")
    return [task for task in tasks if faults[task.name] is None]
