"""`forethought worker`: take up the runs of a journal that nobody drives."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from executor.cli.places import journal_place
from executor.cli.run import seconds_of
from planner.cli.output import Exit, tell

if TYPE_CHECKING:
    from executor.journal import Place
    from executor.worker import Worker

app = typer.Typer()


@app.command()
def worker(
    domain: Annotated[str, typer.Argument(metavar="WORLD", help="A Python file with handlers of a domain.")],
    *,
    journal: Annotated[
        Any, typer.Option(parser=journal_place, metavar="PLACE", help="A file, or postgresql://user@host/database.")
    ],
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Drive at most so many runs at once.")] = 16,
    poll: Annotated[
        float, typer.Option(parser=seconds_of, metavar="SECONDS", help="Ask the journal for runs so often.")
    ] = 1.0,
    deaths: Annotated[
        int, typer.Option("--give-up-after", min=1, metavar="N", help="Give a run up that so many processes died of.")
    ] = 5,
    once: Annotated[bool, typer.Option("--once", help="End when no run is due any more.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Approve all that needs approval.")] = False,
    seed: Annotated[int, typer.Option(help="Determines the jitter of pauses.")] = 0,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No messages, only errors.")] = False,
) -> None:
    """Take up the runs in a journal that were enqueued, and those whose process has died.

    Workers on several hosts share the journal in a PostgreSQL database. SIGTERM and Ctrl-C stop a worker when the steps
    at work have ended; its runs are free at once.
    """
    say: Callable[[str], None] = (lambda _: None) if quiet else tell
    code = asyncio.run(_work(domain, journal, seed, say, once=once, yes=yes, most=(concurrency, poll, deaths)))
    raise typer.Exit(code)


async def _work(
    domain: str,
    journal: Place,
    seed: int,
    say: Callable[[str], None],
    *,
    once: bool,
    yes: bool,
    most: tuple[int, float, int],
) -> int:
    from executor.cli.execute import RunOptions, find_world
    from executor.executor import Executor
    from executor.worker import Worker
    from planner.cli.options import name_source
    from planner.language.loading.load import open_source
    from planner.problem_kinds import classical_of

    source = open_source(domain)
    with name_source(domain, None):
        found = source.domain()
        entities: dict[str, object] = {}
        for each in source.problems().values():
            entities |= classical_of(each).entities
    world = find_world(RunOptions(domain, is_real=True), source, found)
    executor = Executor(world, journal, approve=(lambda _: True) if yes else None, ask="later", seed=seed)
    concurrency, poll, deaths = most
    try:
        made = Worker(executor, concurrency, poll, deaths, entities, say)
        say(f"waiting for runs of {world.model.name} in {executor.journal.place}")
        return await _serve(made, once=once)
    finally:
        executor.journal.close()


async def _serve(made: Worker, *, once: bool) -> int:
    """Work until a signal, or until nothing is due; return the exit code."""
    signals: list[int] = []

    def stop(number: int) -> None:
        signals.append(number)
        made.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    await made.work(once=once)
    return Exit.INTERRUPTED if signal.SIGINT in signals else Exit.OK
