"""`forethought serve`: planning as a service, over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from executor.cli.run import gibibytes_of, seconds_of
from executor.listening.addresses import check_access, listen, name_url, read_address
from planner.cli.interrupt import MEMORY_SHARE, available_gibibytes, finite_limit
from planner.cli.output import Exit, tell
from planner.errors import InputError
from planner.limits import count_processors

if TYPE_CHECKING:
    import socket

    from executor.service.desk import Desk

app = typer.Typer()
MIB: Final = 1024**2
GRACE_SECONDS: Final = 8
"""Seconds that open requests have when the server stops."""
MOST_CONNECTIONS: Final = 1_000
BACKLOG: Final = 1_024
INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM)


@app.command()
def serve(
    *,
    at: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Where to listen; beyond loopback only with keys.")
    ] = "127.0.0.1:8000",
    keys: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keys of clients and their quotas; else FORETHOUGHT_SERVE_KEY for all."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Processes that answer.", show_default="one for each processor"),
    ] = None,
    queue: Annotated[int, typer.Option(min=1, metavar="N", help="Questions that may wait.")] = 64,
    time_limit: Annotated[
        float, typer.Option(parser=seconds_of, metavar="SECONDS", help="Most time for a question.")
    ] = 60.0,
    memory_limit: Annotated[
        float | None,
        typer.Option(
            parser=gibibytes_of,
            metavar="GiB",
            help="Memory for each process; 'none' for no limit.",
            show_default="its share of 80 % of what is available",
        ),
    ] = None,
    size: Annotated[int, typer.Option(min=1000, metavar="BYTES", help="Longest request.")] = 4_000_000,
    kept: Annotated[int, typer.Option("--cache", min=0, metavar="MiB", help="Memory for answers that are kept.")] = 64,
) -> None:
    """Answer questions about planning tasks over HTTP: solve, validate, explain, candidates."""
    try:
        import uvicorn  # noqa: F401 - looked for before anything starts

        from executor.service.app import make_app
    except ModuleNotFoundError as error:
        raise InputError(
            f"this needs {error.name}, which is not installed", hint="pip install 'forethought[serve]'"
        ) from None
    from executor.service.desk import Desk, DeskSettings, share_of_memory
    from executor.service.keys import KEY_VARIABLE, read_clients
    from executor.service.metrics import Metrics
    from executor.service.pool import WorkerSettings
    from executor.service.tracing import Tracing

    if not math.isfinite(time_limit):
        raise InputError("--time-limit must be finite", hint="a question without an end would keep its process")
    address, clients = read_address(at, "--listen"), read_clients(keys)
    hint = f"give --keys FILE, or put a key into {KEY_VARIABLE}"
    check_access(address, has_token=clients.need_keys, hint=hint)
    count = workers or count_processors()
    memory = memory_limit or share_of_memory(available_gibibytes(), count, MEMORY_SHARE)
    pool = WorkerSettings(finite_limit(memory))
    settings = DeskSettings(count, queue, kept * MIB, time_limit, is_shared=len(clients) > 1, worker=pool)
    tracing = Tracing()
    desk = Desk(settings, Metrics(), tracing)
    listening = listen(address)
    asked = "" if clients.need_keys else " (no keys: any program on this machine may ask)"
    tell(f"serving {name_url(listening, address)} by {count} processes with {memory:g} GiB each{asked}")
    application = make_app(desk, clients, tracing, most_bytes=size)
    gc.freeze()  # a collection does not look through what was imported: it took 0.1 s
    asyncio.run(_serve(application, desk, listening))
    raise typer.Exit(Exit.OK)


async def _serve(application: Any, desk: Desk, listening: socket.socket) -> None:
    """Serve until a signal; then let questions at work end with what they have."""
    import uvicorn

    from executor.listening.bounded_http import BoundedProtocol

    config = uvicorn.Config(
        application,
        http=BoundedProtocol,
        ws="none",
        log_level="error",
        access_log=False,
        lifespan="on",
        backlog=BACKLOG,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext

    def stop() -> None:
        desk.interrupt_all()
        server.should_exit = True

    for number in INTERRUPTS:
        asyncio.get_running_loop().add_signal_handler(number, stop)
    await server.serve(sockets=[listening])
