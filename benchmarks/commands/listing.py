"""Commands that list what there is: suites, planners, validators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.commands.options import DomainFilter, NameFilter, TrackFilter
from benchmarks.commands.tasks import tasks_of
from planner.cli.output import give

if TYPE_CHECKING:
    from benchmarks.suite import BenchmarkTask


def suites(
    folders: Annotated[list[Path], typer.Argument(metavar="SUITE…")],
    *,
    track: TrackFilter = None,
    domain: DomainFilter = None,
    name: NameFilter = None,
) -> None:
    """Print the domains of suites: how many tasks, of which tracks, with which features."""
    for folder in folders:
        give(suite_table(tasks_of(folder, track=track, domains=domain, names=name)))


def planners() -> None:
    """Print the named planners and the validators, and which of them are not installed."""
    from benchmarks.planners import NAMED, missing, planner_of  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.tables import markdown  # noqa: PLC0415 - as above
    from benchmarks.validators import VALIDATORS  # noqa: PLC0415 - as above

    rows = [(label, f"`{text}`", missing(planner_of(label)) or "") for label, text in NAMED.items()]
    give(markdown(["planner", "configuration", "not installed"], rows))
    checks = [
        (label, ", ".join(sorted(one.lacks)) or "nothing", "" if one.available else one.package)
        for label, one in VALIDATORS.items()
    ]
    give(markdown(["validator", "does not cover", "not installed"], checks))


def suite_table(tasks: Sequence[BenchmarkTask]) -> str:
    """Return the domains of `tasks`: how many, of which tracks, with which features in any of them."""
    from benchmarks.pddltext import task_features  # noqa: PLC0415 - each command loads only what it runs
    from benchmarks.tables import markdown  # noqa: PLC0415 - as above

    domains: dict[str, list[BenchmarkTask]] = {}
    for task in tasks:
        domains.setdefault(task.domain, []).append(task)
    rows = []
    for domain, members in domains.items():
        tracks = sorted({track for task in members for track in task.tracks})
        found = {feature for task in members for feature in task_features(task.domain_path, task.problem_path)}
        rows.append((domain, len(members), " ".join(tracks), ", ".join(sorted(found)) or "STRIPS"))
    return markdown(["domain", "tasks", "tracks", "features"], [*rows, ("**total**", len(tasks), "", "")])
