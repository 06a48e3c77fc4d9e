"""`forethought worker`: take up the runs of a journal that nobody drives."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from executor.cli.places import journal_place, read_age
from executor.cli.run import seconds_of
from planner.cli.output import Exit, tell
from planner.errors import InputError

if TYPE_CHECKING:
    from executor.events.events import RunStatus
    from executor.journal import Place
    from executor.listening.addresses import Address
    from executor.workers.worker import Worker

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
    kept: Annotated[
        str | None,
        typer.Option(
            "--keep-finished",
            metavar="AGE",
            help="Delete runs so long after they were over, such as 30d.",
            show_default="keep them",
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="Answer /health and /metrics here.", show_default="nowhere"),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The token that readers of /metrics send; else FORETHOUGHT_WORKER_TOKEN."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Approve all that needs approval.")] = False,
    seed: Annotated[int, typer.Option(help="Determines the jitter of pauses.")] = 0,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No messages, only errors.")] = False,
) -> None:
    """Take up the runs in a journal that were enqueued, and those whose process has died.

    Workers on several hosts share the journal in a PostgreSQL database. SIGTERM and Ctrl-C stop a worker when the steps
    at work have ended; its runs are free at once.

    With --once, the exit code is 0 if all runs that were driven succeeded, 10 if one failed or is impossible, and
    otherwise 11: one waits, is in doubt or unverified, or could not be driven here.
    """
    from executor.events.stored_runs import Retention

    say: Callable[[str], None] = (lambda _: None) if quiet else tell
    retention = None if kept is None else Retention(over=read_age("--keep-finished", kept))
    listening = _read_listening(at, token_file)
    options = {"concurrency": concurrency, "poll": poll, "deaths": deaths, "tell": say, "retention": retention}
    code = asyncio.run(_work(domain, journal, seed, options, listening, once=once, yes=yes))
    raise typer.Exit(code)


def _read_listening(at: str | None, token_file: Path | None) -> tuple[Address, str | None] | None:
    """Read where to listen, and the token to ask for; raises `InputError` where other machines would need none."""
    if at is None:
        if token_file is not None:
            raise InputError("--token-file is for --listen", hint="add --listen 127.0.0.1:8001")
        return None
    try:
        import starlette  # noqa: F401 - looked for before anything starts
        import uvicorn  # noqa: F401 - as above
    except ModuleNotFoundError as error:
        hint = "pip install 'forethought[serve]'"
        raise InputError(f"--listen needs {error.name}, which is not installed", hint=hint) from None
    from executor.listening.addresses import check_access, read_address, read_token
    from executor.workers.health import TOKEN_VARIABLE

    address, token = read_address(at, "--listen"), read_token(token_file, TOKEN_VARIABLE)
    hint = f"put one into {TOKEN_VARIABLE}, or into a file: --token-file FILE"
    check_access(address, has_token=token is not None, hint=hint)
    return address, token


async def _work(
    domain: str,
    journal: Place,
    seed: int,
    options: dict[str, Any],
    listening: tuple[Address, str | None] | None,
    *,
    once: bool,
    yes: bool,
) -> int:
    from executor.cli.execute import RunOptions, find_world
    from executor.executor import Executor
    from executor.workers.health import serve_health
    from executor.workers.worker import Worker
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
    try:
        made = Worker(executor, entities=entities, **options)
        with nullcontext() if listening is None else serve_health(made.health, *listening) as url:
            told = "" if url is None else f"; its health is at {url}/health"
            made.tell(f"waiting for runs of {world.model.name} in {executor.journal.place}{told}")
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
    if signal.SIGINT in signals:
        return Exit.INTERRUPTED
    return judge_runs(made.open.values()) if once else Exit.OK


def judge_runs(ends: Iterable[RunStatus | None]) -> Exit:
    """Return the exit code for runs that did not succeed, by their statuses; None is a run that broke off."""
    from executor.cli.outcome import exit_of_status

    codes = {Exit.NO_VERDICT if each is None else exit_of_status(each) for each in ends}
    return Exit.NEGATIVE if Exit.NEGATIVE in codes else Exit.NO_VERDICT if codes else Exit.OK
