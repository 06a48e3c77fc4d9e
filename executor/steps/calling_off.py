"""Waiting, but no longer than until the run is called off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any


async def came(what: Awaitable[Any], aborted: asyncio.Event) -> bool:
    """Wait for something until the run is `aborted`; return whether it came; raises what it raises.

    What has not come by then is cancelled.
    """
    waits = asyncio.ensure_future(what)
    stop = asyncio.ensure_future(aborted.wait())
    try:
        await asyncio.wait({waits, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()
        has_come = waits.done()
        waits.cancel()
    if has_come:
        waits.result()
    return has_come
