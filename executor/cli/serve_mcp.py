"""`forethought mcp`: serve a domain to agents over MCP, on stdin and stdout or over HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from executor.cli.places import journal_place
from executor.cli.run import Memory, seconds_of
from planner.cli.interrupt import MEMORY_SHARE, available_gibibytes, finite_limit, limit_memory
from planner.cli.output import Exit, tell
from planner.errors import InputError
from planner.language.loading.load import open_source

if TYPE_CHECKING:
    from executor.mcp_server.run_tools import RunTools

app = typer.Typer()
INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM)


@app.command()
def mcp(
    domain: Annotated[str, typer.Argument(help="A .py, .yaml, .json, .pddl or .hddl file, or a shipped domain.")],
    problem: Annotated[
        str | None, typer.Argument(help="A file, or the name of a problem: what calls are about by default.")
    ] = None,
    *,
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve over HTTP there; by default over stdin and stdout."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The token that clients must send, over HTTP; else that of FORETHOUGHT_MCP_TOKEN."
        ),
    ] = None,
    real: Annotated[bool, typer.Option("--real", help="Runs call the handlers that are bound to the domain.")] = False,
    journal: Annotated[
        Any,
        typer.Option(
            parser=journal_place, metavar="PLACE", help="Keep runs in a file, or at postgresql://user@host/name."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Approve all steps that need approval, unasked.")] = False,
    seed: Annotated[int, typer.Option(help="Determines what is random in the simulated world.")] = 0,
    time_limit: Annotated[
        float, typer.Option(parser=seconds_of, metavar="SECONDS", help="For each search; 'none' for no limit.")
    ] = 60.0,
    memory_limit: Memory = None,
    concurrent: Annotated[int, typer.Option(min=1, metavar="N", help="Calls at work at once; others wait.")] = 4,
    rate: Annotated[int | None, typer.Option(min=1, metavar="N", help="Calls that may begin in a minute.")] = None,
    size: Annotated[int, typer.Option(min=1000, metavar="BYTES", help="Longest call.")] = 4_000_000,
) -> None:
    """Serve planning and runs of a domain to agents, as tools over MCP."""
    try:
        from executor.mcp_server.build_server import build_server
        from executor.mcp_server.http_endpoint import (
            PATH,
            TOKEN_VARIABLE,
            check_mcp_access,
            make_http_server,
            security_options,
        )
    except ModuleNotFoundError as error:
        raise InputError(
            f"this needs {error.name}, which is not installed", hint="pip install 'forethought[mcp]'"
        ) from None
    from executor.cli.execute import RunOptions
    from executor.listening.addresses import listen, name_url, read_address, read_token
    from executor.mcp_server.call_limits import CallLimits

    memory = _find_memory_limit(memory_limit, real=real)
    limits = CallLimits(concurrent, rate=rate, size=size, time_limit=finite_limit(time_limit), memory_limit=memory)
    options = RunOptions(domain, problem, is_real=real, journal=journal, approves=yes, seed=seed, quiet=True)
    source = open_source(domain)
    if http is None:
        if token_file is not None:
            raise InputError("--token-file is for HTTP", hint="add --http 127.0.0.1:8000")
        server, runs = build_server(source, problem, options, limits)
        code = asyncio.run(_serve(server.run_stdio_async(), runs))
    else:
        address, token = read_address(http, "--http"), read_token(token_file, TOKEN_VARIABLE)
        check_mcp_access(address, token)
        server, runs = build_server(source, problem, options, limits, **security_options(token))
        listening = listen(address)
        asked = "" if token else " (no token: any program on this machine may call)"
        tell(f"serving {name_url(listening, address, PATH)}{asked}")
        http_server = make_http_server(server, address, size)
        code = asyncio.run(_serve(http_server.serve(sockets=[listening]), runs))
    raise typer.Exit(code)


def _find_memory_limit(limit: float | None, *, real: bool) -> float | None:
    """Return the limit of searches, in GiB; the process is limited too, unless it calls handlers and nobody asked."""
    if limit is None and real:
        return available_gibibytes() * MEMORY_SHARE
    return limit_memory(limit)


async def _serve(work: Coroutine[Any, Any, Any], runs: RunTools) -> int:
    """Serve until the client leaves, or until a signal; then let steps at work end. Return the exit code."""
    loop, serving = asyncio.get_running_loop(), asyncio.ensure_future(work)
    asked_to_stop = asyncio.Event()
    for number in INTERRUPTS:
        loop.add_signal_handler(number, asked_to_stop.set)
    stopping = asyncio.ensure_future(asked_to_stop.wait())
    await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
    await runs.interrupt_all()
    if not serving.done():  # a thread may go on reading stdin, which nothing can interrupt
        sys.stderr.flush()
        os._exit(Exit.INTERRUPTED)
    stopping.cancel()
    await serving
    return Exit.OK
