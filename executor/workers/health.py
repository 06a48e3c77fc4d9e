"""What a worker tells about itself: whether its journal answers, and counts for Prometheus; over HTTP if it is to.

The HTTP server has a thread and an event loop of its own: while the database does not answer, that of the runs stands
still, and that is what has to be told.
"""

from __future__ import annotations

import contextlib
import hmac
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from executor.listening.addresses import Address, listen, name_url, names_this_machine
from executor.listening.prometheus import CONTENT_TYPE, Counters, Times, write_gauge, write_histogram

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

TOKEN_VARIABLE: Final = "FORETHOUGHT_WORKER_TOKEN"  # noqa: S105 - a name, no token
"""The environment variable with the token that readers of the metrics must send."""
LATE_SECONDS: Final = 15.0
"""Seconds without an answer of the journal after which a worker is not ready; at least three times its `poll`."""
MOST_CONNECTIONS: Final = 32
GRACE_SECONDS: Final = 2
"""Seconds that open connections have when the worker ends."""
_ABOUT: Final = {
    "runs_taken_up": "Runs that were taken up, by whether their process had died.",
    "runs_ended": "Runs that were driven here until they ended or waited, by status.",
    "runs_broken_off": "Runs that broke off here, by reason.",
    "steps_ended": "Steps that were done here, by status.",
    "journal_errors": "Looks for runs that the journal did not answer.",
    "runs_deleted": "Runs that were deleted as they had expired.",
}
"""The counters, whose names end in `_total`."""
_REASONS: Final = {"runs_broken_off": ("fenced", "journal", "damaged", "version", "means", "input", "internal")}


class WorkerHealth:
    """Counts what a worker does, and notes when its journal answered last; threads may read it."""

    def __init__(self, poll: float) -> None:
        self.late = max(LATE_SECONDS, 3 * poll)
        """Seconds without an answer of the journal after which the worker is not ready."""
        self._counters = Counters(_ABOUT, _REASONS)
        self.count = self._counters.count
        self.at_work = 0
        """Number of runs at work here."""
        self.free: Counter[str] = Counter()
        """Number of runs that nobody drove when they were listed last, by status."""
        self._latency = Times()
        self._answered: float | None = None
        """When the journal answered last, in seconds of the monotonic clock."""

    @contextlib.contextmanager
    def look(self) -> Iterator[None]:
        """Measure how long the journal takes to answer the body."""
        began = time.monotonic()
        yield
        self._answered = time.monotonic()
        self._latency.add(self._answered - began)

    def describe(self) -> dict[str, Any]:
        """Return whether the worker is live and ready, and how many seconds ago the journal answered."""
        ago = None if self._answered is None else round(time.monotonic() - self._answered, 1)
        is_ready = ago is not None and ago < self.late
        status = "ok" if is_ready else "starting" if ago is None else "the journal does not answer"
        return {"live": True, "ready": is_ready, "status": status, "journal_answered_seconds_ago": ago}

    def write(self) -> str:
        """Return all of it in the text format of Prometheus."""
        free = [((("status", status),), count) for status, count in sorted(self.free.items())]
        is_ready = int(self.describe()["ready"])
        lines = [
            *write_gauge("worker_ready", "Whether the journal has answered of late.", [((), is_ready)]),
            *write_gauge("runs_at_work", "Runs that are driven here.", [((), self.at_work)]),
            *write_gauge("runs_free", "Runs in the journal that nobody drives, by status.", free),
            *self._counters.write(),
            *write_histogram("journal_seconds", "Seconds until the journal answered.", [((), self._latency)]),
        ]
        return "\n".join([*lines, ""])


@contextlib.contextmanager
def serve_health(health: WorkerHealth, address: Address, token: str | None) -> Iterator[str]:
    """Answer /health and /metrics at `address` while the body lasts; yield the URL.

    Only /health is answered without the `token`, if there is one. Raises `InputError` where nothing can listen.
    """
    from executor.listening.bounded_http import make_bounded_server

    listening = listen(address)
    server = make_bounded_server(_make_app(health, token), connections=MOST_CONNECTIONS, grace=GRACE_SECONDS)
    server.capture_signals = contextlib.nullcontext
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield name_url(listening, address)
    finally:
        server.should_exit = True
        thread.join(2 * GRACE_SECONDS)
        listening.close()


def _make_app(health: WorkerHealth, token: str | None) -> Any:
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse
    from starlette.routing import Route

    def refuse(request: Request) -> Response | None:
        if token is None and not names_this_machine(request.headers.get("host", "")):
            return JSONResponse({"error": "without a token, only names of this machine are answered"}, 403)
        return None

    async def show_health(request: Request) -> Response:
        found = health.describe()
        return refuse(request) or JSONResponse(found, 200 if found["ready"] else 503)

    async def show_metrics(request: Request) -> Response:
        sent = request.headers.get("authorization", "").encode(errors="replace")
        if token is not None and not hmac.compare_digest(sent, f"Bearer {token}".encode()):
            return JSONResponse({"error": "the request has no valid token"}, 401, {"WWW-Authenticate": "Bearer"})
        return refuse(request) or PlainTextResponse(health.write(), media_type=CONTENT_TYPE)

    return Starlette(routes=[Route("/health", show_health), Route("/metrics", show_metrics)])
