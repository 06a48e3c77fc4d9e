"""HTTP/1.1 for servers that strangers reach: headers are bounded, and who sends no request is let go.

uvicorn closes connections that are idle between requests, and waits for ever for one that sends a request byte by byte.
With this protocol such a connection ends after some seconds, so that a few clients cannot keep all connections.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS: Final = 15.0
"""Seconds after which a connection ends on which no request has arrived, up to the end of its headers."""
_AT_WORK: Final = object()


class BoundedProtocol(H11Protocol):  # type: ignore[misc] # uvicorn is not looked into
    """The protocol of h11, which bounds headers by 16 KiB, with an end to connections that send no request."""

    _looking: asyncio.TimerHandle | None = None
    _idle_after: Any = None
    """The last request when the connection was last seen idle; None before the first."""

    def connection_made(self, transport: Any) -> None:
        """Begin to look after a connection."""
        super().connection_made(transport)
        self._looking = self.loop.call_later(REQUEST_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        if self._looking is not None:
            self._looking.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """End the connection if it was idle at the last look, and no request has come since."""
        if self.transport.is_closing():
            return
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._idle_after is self.cycle:
            self.transport.abort()
            return
        self._idle_after = self.cycle if is_idle else _AT_WORK
        self._looking = self.loop.call_later(REQUEST_SECONDS, self._look)


def make_bounded_server(app: Any, *, connections: int, grace: int) -> uvicorn.Server:
    """Return the HTTP server of an application, with so many connections at most.

    Open connections have `grace` seconds when the server stops.
    """
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        log_level="error",
        access_log=False,
        lifespan="on",
        limit_concurrency=connections,
        timeout_graceful_shutdown=grace,
    )
    return uvicorn.Server(config)
