"""Commands that make environments of peers, and list them."""

from __future__ import annotations

from typing import Annotated

import typer

from benchmarks.commands import options
from planner.cli.output import Exit, give, tell

app = typer.Typer(invoke_without_command=True, help="List the peers and their environments; `install` makes these.")


@app.callback()
def peers(context: typer.Context) -> None:
    """List the peers: version, licence, where they are installed, and which planners run them."""
    if context.invoked_subcommand is not None:
        return
    from benchmarks.peer_installation import PEERS, find_installation
    from benchmarks.planners.environments import find_peers_folder, unfinished_mark_of
    from benchmarks.report import format_table

    rows = []
    for package in PEERS:
        found = find_installation(package)
        where = {"own": "in its own environment", "here": "with Forethought"}.get(found.where, "not installed")
        unfinished = found.where != "own" and unfinished_mark_of(package).exists()
        rows.append((package, found.version, found.licence, where + ", unfinished" * unfinished, found.users))
    give(format_table(["peer", "version", "licence", "installed", "runs as"], rows))
    tell(f"environments lie in {find_peers_folder()}; `forethought bench peers install NAME` makes one")


@app.command()
def install(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]…", help="Peers to install; by default all.")
    ] = None,
    *,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make environments anew that are there.")] = False,
) -> None:
    """Make environments of peers with venv and pip, from the package index; start again to continue."""
    from benchmarks.peer_installation import PEERS, install_peer

    options.check_choices("peer", names or (), PEERS)
    failed = []
    for name in dict.fromkeys(names or PEERS):
        found = install_peer(name, tell, fresh=fresh)
        if found.failure:
            failed.append(name)
            tell(f"{name}: not installed: {found.failure}")
            continue
        beside = f", with {', '.join(found.beside)}" if found.beside else ""
        there = " was there already" if found.already else ""
        give(f"{name} {found.version} ({found.licence}){there}{beside}")
    if failed:
        tell(f"{len(failed)} not installed: {', '.join(failed)}")
        raise typer.Exit(Exit.NEGATIVE)
