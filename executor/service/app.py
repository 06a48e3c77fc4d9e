"""The HTTP interface: questions, jobs, streams of better plans, kept answers, health and metrics."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from executor.listening.prometheus import CONTENT_TYPE
from executor.service import planutils
from executor.service.bodies import read_json
from executor.service.desk import Desk
from executor.service.guard import OPEN, Guard
from executor.service.jobs import Job, State, join_json
from executor.service.keys import Busy, Client, Clients
from executor.service.messages import write_json
from executor.service.questions import OPTIONS, read_request
from executor.service.questions import Request as Asked
from executor.service.refusals import Refusal, refuse_input, refuse_path
from executor.service.tracing import Tracing
from planner.errors import InputError
from planner.lightweight import dataclass

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


@dataclass(frozen=True, slots=True)
class Service:
    """What the handlers of requests share: the desk, and how requests are read and answered."""

    desk: Desk
    tracing: Tracing
    most_bytes: int

    async def read_json(self, request: Request) -> Any:
        """Read the body of a request as JSON; raises `Refusal`."""
        return await read_json(request, self.most_bytes, client_of(request))

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
        try:
            await wait_beside(request, job.wait_for_end())
            if not job.state.is_end:
                raise ClientDisconnect
        finally:
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
                return stream_response(self.stream(request, job, cancels=asked.wait))
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
            await wait_beside(request, job.wait_for_end(), seconds)
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


def client_of(request: Request) -> Client:
    """Return who sends a request."""
    client: Client = request.state.client
    return client


async def wait_beside(request: Request, event: Coroutine[Any, Any, None], seconds: float | None = None) -> None:
    """Wait for `event`, but no longer than the client stays, nor than so many seconds."""
    waiting, gone = asyncio.ensure_future(event), asyncio.ensure_future(wait_until_gone(request))
    try:
        await asyncio.wait({waiting, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        gone.cancel()


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
