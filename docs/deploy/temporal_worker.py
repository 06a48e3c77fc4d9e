"""A worker on Temporal for the world beside this file: `python temporal_worker.py HOST:PORT`."""

import asyncio
import sys

from temporalio.client import Client
from world import world

from executor.temporal import TemporalWorker


async def main(address: str) -> None:
    """Take up runs of the world until the process ends."""
    await TemporalWorker(world, await Client.connect(address)).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
