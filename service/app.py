"""The HTTP interface: questions, jobs, streams of better plans, kept answers, health and metrics."""

from __future__ import annotations

import asyncio
import gc
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from executor.listening import Address
from planner.errors import InputError, did_you_mean
from planner.lightweight import dataclass
from service import planutils
from service.desk import Desk
from service.jobs import Job, State, join_json
from service.keys import Busy, Client, Clients
from service.messages import write_json
from service.metrics import CONTENT_TYPE, Metrics
from service.questions import OPTIONS, read_request
from service.questions import Request as Asked
from service.tracing import Tracing

BODY_SECONDS: Final = 30.0
"""Most seconds in which the body of a request must arrive."""
KEEP_ALIVE_SECONDS: Final = 15.0
"""Seconds of silence after which a stream carries a comment, so that nothing on the way closes it."""
LONGEST_POLL: Final = 300.0
"""Most seconds for which a client may wait for a job in one request."""
CODES: Final = {
    "input": 422,
    "unsupported": 422,
    "memory": 422,
    "time": 422,
    "cancelled": 409,
    "stopping": 503,
}
"""The status codes of questions that fail, by the kind of the error; 500 for others."""
CHALLENGE: Final = 'Bearer realm="forethought", Basic realm="forethought"'
MOST_OPEN: Final = 256
"""Most requests of one client that may be open at once, streams among them: a share of the server's connections."""
OPEN: Final = "/health"
"""The one path that needs no key."""
PATHS: Final = (
    OPEN,
    "/metrics",
    *[f"/v1/{kind}" for kind in OPTIONS],
    "/v1/jobs/ID",
    "/v1/answers/HASH",
    "/package",
    "/solve",
    "/request",
)
"""The paths that are told to who asks for another one."""


class Refusal(Exception):
    """A request that is refused with a status code, and an error for the body."""

    def __init__(self, code: int, kind: str, message: str, hint: str | None = None, retry_after: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.error = {"kind": kind, "message": message, **({"hint": hint} if hint else {})}
        self.headers = {"Retry-After": str(retry_after)} if retry_after else {}

    def respond(self) -> JSONResponse:
        """Return the response."""
        return JSONResponse({"error": self.error}, self.code, self.headers)


@dataclass(frozen=True, slots=True)
class Service:
    """What the handlers of requests share: the desk, and how requests are read and answered."""

    desk: Desk
    tracing: Tracing
    most_bytes: int

    async def read_json(self, request: Request) -> Any:
        """Read the body of a request as JSON; raises `Refusal`."""
        try:
            body = await asyncio.wait_for(self._read_body(request), BODY_SECONDS)
        except TimeoutError:
            raise Refusal(408, "time", f"the body did not arrive within {BODY_SECONDS:g} s") from None
        try:
            found = parse_json(body)
            if rb"\ud" in body.lower():  # half of a character, which no answer could show
                json.dumps(found, ensure_ascii=False).encode()
        except RecursionError:
            raise Refusal(400, "input", "the body is nested too deeply") from None
        except UnicodeEncodeError:
            raise Refusal(400, "input", "the body has half of a surrogate pair") from None
        except RepeatedName as error:
            raise Refusal(400, "input", f"an object of the body has {str(error)!r:.80} twice") from None
        except ValueError as error:  # no JSON, or no UTF-8
            raise Refusal(400, "input", f"the body is no JSON: {error}") from None
        return found

    async def _read_body(self, request: Request) -> bytes:
        found = bytearray()
        async for part in request.stream():
            found += part
            if len(found) > self.most_bytes:
                raise Refusal(413, "size", f"the body is longer than {self.most_bytes:,} bytes")
        return bytes(found)

    def submit(self, request: Request, asked: Asked) -> Job:
        """Return the job for what a request asks; raises `Refusal` where the server is busy."""
        try:
            return self.desk.submit(asked, client_of(request), self.tracing.read_context(request.headers))
        except Busy as busy:
            self.desk.metrics.count("refused", reason=busy.reason)
            code = 503 if busy.reason == "stopping" else 429
            raise Refusal(code, "busy", busy.message, retry_after=busy.retry_after) from None

    async def wait(self, request: Request, job: Job) -> None:
        """Wait for the end of `job`; cancel it, and raise `ClientDisconnect`, where the client goes away."""
        ended, gone = asyncio.ensure_future(job.wait_for_end()), asyncio.ensure_future(wait_until_gone(request))
        try:
            await asyncio.wait({ended, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not job.state.is_end:
                raise ClientDisconnect
        finally:
            ended.cancel()
            gone.cancel()
            self.desk.cancel(job)

    def find(self, request: Request) -> Job:
        """Return the job that a request names; raises `Refusal` where its client has no such job."""
        job = self.desk.find(request.path_params["id"], client_of(request))
        if job is None:
            raise Refusal(404, "unknown", "there is no such job", "jobs that have ended are forgotten after some time")
        return job

    async def stream(self, request: Request, job: Job, *, cancels: bool) -> AsyncIterator[bytes]:
        """Yield server-sent events: `state`, `plan` for each better plan, and `end`; a slow client misses some plans.

        With `cancels`, the job is cancelled where the client goes away.
        """
        gone = asyncio.ensure_future(wait_until_gone(request))
        told: tuple[State | None, Any] = (None, None)
        try:
            while not gone.done():
                version, now = job.version, (job.state, job.progress)
                if now[0] is not told[0] and not job.state.is_end:
                    yield event("state", write_json({"id": job.id, "state": job.state.value}))
                if job.progress is not None and now[1] is not told[1]:
                    yield event("plan", job.progress)
                if job.state.is_end:
                    yield event("end", job.to_json())
                    return
                told = now
                change = asyncio.ensure_future(job.wait_for_change(version))
                await asyncio.wait({change, gone}, timeout=KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if not change.done() and not gone.done():
                    yield b": at work\n\n"
                change.cancel()
        finally:
            gone.cancel()
            if cancels:
                self.desk.cancel(job)

    def respond_to(self, kind: str) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of questions of `kind`."""

        async def handle(request: Request) -> Response:
            asked = read_request(kind, await self.read_json(request))
            job = self.submit(request, asked)
            if "text/event-stream" in request.headers.get("accept", ""):
                return stream_response(self.stream(request, job, cancels=True))
            if not asked.wait:
                return respond(job.to_json(), 202, {"Location": f"/v1/jobs/{job.id}"})
            await self.wait(request, job)
            return respond_with(job)

        return handle

    async def show(self, request: Request) -> Response:
        """Answer with the state of a job, at its end or after `?wait=` seconds."""
        job = self.find(request)
        try:
            seconds = min(float(request.query_params.get("wait", 0)), LONGEST_POLL)
        except ValueError:
            seconds = math.nan
        if math.isnan(seconds):
            raise Refusal(400, "input", "`wait` must be a number of seconds")
        if seconds > 0 and not job.state.is_end:
            with suppress(TimeoutError):
                await asyncio.wait_for(job.wait_for_end(), seconds)
        return respond(job.to_json())

    async def cancel(self, request: Request) -> Response:
        """Cancel a job, and answer with its state once it has ended."""
        job = self.find(request)
        self.desk.cancel(job)
        await job.wait_for_end()
        return respond(job.to_json())

    async def follow(self, request: Request) -> Response:
        """Answer with the events of a job."""
        return stream_response(self.stream(request, self.find(request), cancels=False))

    async def find_answer(self, request: Request) -> Response:
        """Answer with the kept answer to the question with a hash."""
        found = self.desk.answers.find(request.path_params["hash"])
        if found is None:
            raise Refusal(404, "unknown", "no answer to the question with this hash is kept")
        return respond(join_json({"hash": request.path_params["hash"]}, answer=found.text))

    async def health(self, _: Request) -> Response:
        """Answer whether questions are answered."""
        is_well = self.desk.workers > 0 and not self.desk.is_closing
        status = "ok" if is_well else "stopping" if self.desk.is_closing else "starting"
        return JSONResponse({"status": status}, 200 if is_well else 503)

    async def metrics(self, _: Request) -> Response:
        """Answer with counts and times for Prometheus."""
        desk = self.desk
        gauges = {
            "queued": ("Questions that wait.", desk.queued),
            "running": ("Questions at work.", desk.running),
            "workers": ("Processes that are ready or at work.", desk.workers),
            "kept_answers": ("Answers that are kept.", len(desk.answers)),
            "kept_bytes": ("Bytes of answers that are kept.", desk.answers.bytes),
        }
        return Response(desk.metrics.write(gauges), media_type=CONTENT_TYPE)


class RepeatedName(ValueError):
    """An object in JSON has a name twice, of which parsers silently take the first or the last."""


def parse_json(body: bytes) -> Any:
    """Parse JSON; raises `ValueError`.

    No garbage is collected meanwhile: of a million values, collections would take most of the time.
    """
    gc.disable()
    try:
        return json.loads(body, object_pairs_hook=make_object)
    finally:
        gc.enable()


def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raises `RepeatedName`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedName(next(name for name in names if names.count(name) > 1))
    return found


def make_app(desk: Desk, clients: Clients, tracing: Tracing, *, most_bytes: int) -> ASGIApp:
    """Return the application: it opens the desk when it starts, and closes it when it stops."""
    service = Service(desk, tracing, most_bytes)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        desk.open()
        try:
            yield
        finally:
            await desk.close()

    routes = [
        Route(OPEN, service.health),
        Route("/metrics", service.metrics),
        *[Route(f"/v1/{kind}", service.respond_to(kind), methods=["POST"]) for kind in OPTIONS],
        Route("/v1/jobs/{id}", service.show),
        Route("/v1/jobs/{id}", service.cancel, methods=["DELETE"]),
        Route("/v1/jobs/{id}/events", service.follow),
        Route("/v1/answers/{hash}", service.find_answer),
        *planutils.make_routes(service),
    ]
    handlers: dict[Any, Any] = {
        Refusal: lambda _, refusal: refusal.respond(),
        InputError: lambda _, error: refuse_input(error).respond(),
        HTTPException: refuse_path,
        ClientDisconnect: lambda _, __: Response(status_code=499),
        Exception: lambda _, __: Refusal(500, "internal", "internal error").respond(),
    }
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False  # clients that follow no redirection would get an empty answer
    return Guard(app, clients, desk.metrics)


class Guard:
    """Lets through what may pass: requests with a key, if there are keys, and none from pages of other sites."""

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
        refused = self._refuse(request)
        if refused is not None:
            await refused(scope, receive, count)
            return
        client = request.state.client
        if request.url.path == OPEN or client is None:
            await self._app(scope, receive, count)
            return
        client.open_requests += 1
        try:
            await self._app(scope, receive, count)
        finally:
            client.open_requests -= 1

    def _refuse(self, request: Request) -> Response | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return Refusal(403, "origin", "pages of other sites may not ask").respond()
        if not self._clients.need_keys and not _names_this_machine(host):
            return Refusal(403, "host", "without keys, only names of this machine are answered").respond()
        client = self._clients.find(request.headers.get("authorization"))
        if client is None and request.url.path != OPEN:
            response = Refusal(401, "key", "the request has no valid key", "Authorization: Bearer KEY").respond()
            response.headers["WWW-Authenticate"] = CHALLENGE
            return response
        request.state.client = client
        if client is not None and client.open_requests >= MOST_OPEN and request.url.path != OPEN:
            refusal = Refusal(429, "busy", f"{MOST_OPEN} requests of this client are open", retry_after=1)
            return refusal.respond()
        return None


def _names_this_machine(host: str) -> bool:
    """Return whether a header `Host` names a loopback address: a page that rebinds its own name does not."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and Address(name, 0).is_loopback


def client_of(request: Request) -> Client:
    """Return who sends a request."""
    client: Client = request.state.client
    return client


async def wait_until_gone(request: Request) -> None:
    """Wait until the client has closed the connection; the body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def respond(text: str, code: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response with this text in JSON."""
    return Response(text, code, headers, "application/json")


def respond_with(job: Job) -> Response:
    """Return the response to a question that has ended."""
    code = 200 if job.answer is not None or job.error is None else CODES.get(job.error["kind"], 500)
    return respond(job.to_json(), code)


def stream_response(events: AsyncIterator[bytes]) -> StreamingResponse:
    """Return a response of server-sent events."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def event(name: str, text: str) -> bytes:
    """Return a server-sent event with this text in JSON, which is one line."""
    return f"event: {name}\ndata: {text}\n\n".encode()


def refuse_input(error: InputError) -> Refusal:
    """Return the refusal for a mistake in a request."""
    return Refusal(400, "input", error.message, error.hint)


async def refuse_path(request: Request, error: Exception) -> Response:
    """Answer a request for a path or with a method that there is not."""
    assert isinstance(error, HTTPException)
    path, headers = request.url.path, error.headers or {}
    if error.status_code == 405:
        word, hint = "method", f"{path:.200} takes {headers.get('Allow', 'others')}"
    else:
        word, hint = "path", did_you_mean(path, PATHS) or f"there are {', '.join(PATHS)}"
    response = Refusal(error.status_code, word, f"{error.detail}: {request.method} {path:.200}", hint).respond()
    response.headers.update(headers)
    return response
