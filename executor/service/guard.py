"""Who may ask: requests with a key, if there are keys, and none from pages of other sites."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from executor.listening.addresses import names_this_machine
from executor.service.keys import Client, Clients
from executor.service.metrics import Metrics
from executor.service.refusals import Refusal

OPEN: Final = "/health"
"""The one path that needs no key."""
CHALLENGE: Final = 'Bearer realm="forethought", Basic realm="forethought"'
MOST_OPEN: Final = 256
"""Most requests of one client that may be open at once, streams among them: a share of the server's connections."""


class Guard:
    """Lets through what may pass, and counts responses by code."""

    def __init__(self, app: ASGIApp, clients: Clients, metrics: Metrics) -> None:
        self._app = app
        self._clients = clients
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.count("http_responses", code=str(message["status"]))
            await send(message)

        scope["path"] = "/" + scope["path"].lstrip("/")  # clients of planutils write two slashes before `check`
        request = Request(scope)
        try:
            client = self._admit(request)
        except Refusal as refusal:
            await refusal.respond()(scope, receive, count)
            return
        request.state.client = client
        client.open_requests += 1
        try:
            await self._app(scope, receive, count)
        finally:
            client.open_requests -= 1

    def _admit(self, request: Request) -> Client:
        """Return who sends a request; raises `Refusal`."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if origin is not None and split_host(origin)[0] != host:
            raise Refusal(403, "origin", "pages of other sites may not ask")
        if not self._clients.need_keys and not names_this_machine(host):
            raise Refusal(403, "host", "without keys, only names of this machine are answered")
        if request.url.path == OPEN:
            return Client("")
        client = self._clients.find(request.headers.get("authorization"))
        if client is None:
            headers = {"WWW-Authenticate": CHALLENGE}
            raise Refusal(401, "key", "the request has no valid key", "Authorization: Bearer KEY", headers=headers)
        if client.open_requests >= MOST_OPEN:
            raise Refusal(429, "busy", f"{MOST_OPEN} requests of this client are open", retry_after=1)
        return client


def split_host(url: str) -> tuple[str, str]:
    """Return the host of `url` with and without its port; empty texts where there is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.netloc, parts.hostname or ""
