"""`forethought runs`: list and delete the runs in a journal, one by one or by age."""

from __future__ import annotations

import time
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from executor.errors import DrivenError
from planner.cli.output import Exit, give, tell
from planner.errors import InputError

if TYPE_CHECKING:
    from executor.journal import Journal

app = typer.Typer(no_args_is_help=True, help="List and delete the runs in a journal.")
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
"""Seconds in each unit of time."""
_LISTED: Final = ("run", "plan", "created", "updated", "events")
File = Annotated[Path, typer.Argument(metavar="JOURNAL", help="The file that --journal named.")]
Age = Annotated[str | None, typer.Option(metavar="AGE", help="Such as 30d; units are s, m, h, d and w.")]


@app.command("list")
def list_runs(
    journal: File, *, as_json: Annotated[bool, typer.Option("--json", help="Print the runs as JSON.")] = False
) -> None:
    """List the runs, the oldest first: id, status, time of the last event, events, plan."""
    from executor.events.stored_runs import load_runs

    with _open_journal(journal) as opened:
        found = load_runs(opened).values()
    if as_json:
        give(dumps([{name: getattr(each, name) for name in _LISTED} | {"status": each.status.name} for each in found]))
        return
    for each in found:
        last = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(each.updated))
        give(f"{each.run}  {each.status.name}  {last} UTC  {each.events} events  {each.plan}")


@app.command()
def delete(
    journal: File,
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Ids of runs that no process drives.")],
) -> None:
    """Delete runs with all their events."""
    driven = False
    with _open_journal(journal) as opened:
        for run in runs:
            try:
                opened.delete(run)
            except DrivenError as error:
                driven = True
                tell(str(error))
            else:
                give(f"deleted {run}")
    raise typer.Exit(Exit.NEGATIVE if driven else Exit.OK)


@app.command()
def prune(journal: File, *, over: Age = None, unfinished: Age = None) -> None:
    """Delete the runs whose last event is older: those that are over, and those that wait or are in doubt."""
    from executor.events.stored_runs import Retention, delete_expired

    if over is None and unfinished is None:
        raise InputError("nothing says which runs expire", hint="such as --over 30d")
    retention = Retention(_read_age("--over", over), _read_age("--unfinished", unfinished))
    with _open_journal(journal) as opened:
        for run in delete_expired(opened, retention):
            give(f"deleted {run}")


def _open_journal(path: Path) -> Journal:
    """Open the journal in the file `path`; raises `InputError` where there is none."""
    from executor.journal import Journal

    if not path.is_file():
        raise InputError(f"there is no journal {path}", hint="forethought run … --journal FILE makes one")
    return Journal(path)


def _read_age(option: str, age: str | None) -> float | None:
    """Read an age such as 30d in seconds; raises `InputError` for any other text."""
    if age is None:
        return None
    number, unit = age[:-1], UNITS.get(age[-1:])
    if unit is None or not number.isdecimal():
        raise InputError(f"{option} takes a number and a unit of time, not {age!r}", hint=f"such as {option} 30d")
    return int(number) * float(unit)
