"""Plans for an agent's requests, searched for in a thread while the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from planner.model import Problem
from planner.plan import Result
from planner.solve import solve


async def searched(problem: Problem, **options: Any) -> Result:
    """Return what `planner.solve` gives; where the caller is cancelled, the search ends, too."""
    called_off = threading.Event()
    try:
        return await asyncio.to_thread(solve, problem, cancel=called_off, **options)
    except asyncio.CancelledError:
        called_off.set()
        raise
