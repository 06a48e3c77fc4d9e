"""Clients that mean no good: they keep connections, send what is no text, and ask for more than their share."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import asynccontextmanager
from io import BytesIO

import httpx
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from executor.listening import bounded_http
from executor.listening.addresses import Address, listen
from executor.listening.bounded_http import BoundedProtocol
from executor.service import guard as guard_module
from executor.service.bodies import read_json
from executor.service.guard import Guard
from executor.service.keys import Client, Clients, digest_of
from executor.service.messages import least_limit
from executor.service.metrics import Metrics
from executor.service.questions import Question, read_request
from executor.service.refusals import Refusal
from executor.service.worker import Replies, handle
from planner.errors import InputError

LAMPS = "(define (domain lamps) (:predicates (lit ?l)) (:action light :parameters (?l) :effect (lit ?l)))"
EVENING = "(define (problem evening) (:domain lamps) (:objects a) (:init) (:goal (lit a)))"


@asynccontextmanager
async def served(application):
    """Serve an application by our protocol, and give the port."""
    with listen(Address("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(application, http=BoundedProtocol, ws="none", log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None
        serving = asyncio.ensure_future(server._serve(sockets=[listening]))
        while not server.started:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
        yield listening.getsockname()[1]
        server.should_exit = True
        await serving


async def answer_later(scope, receive, send):
    await asyncio.sleep(float(scope["query_string"] or 0))
    await PlainTextResponse("here")(scope, receive, send)


async def drip(reader, writer, text, pause):
    """Send a text byte by byte until the server closes; return the seconds until then."""
    began = time.monotonic()
    closed = asyncio.ensure_future(reader.read())
    for byte in text:
        if closed.done():
            break
        writer.write(bytes([byte]))
        await asyncio.sleep(pause)
    await asyncio.wait_for(asyncio.wait([closed]), 60)
    closed.exception()
    writer.close()
    return time.monotonic() - began


@pytest.mark.anyio
@pytest.mark.parametrize("beginning", [b"", b"GET / HTTP/1.1\r\nHost: here\r\n" + 10_000 * b"X: y\r\n"])
async def test_who_sends_no_request_is_let_go(beginning, monkeypatch):
    monkeypatch.setattr(bounded_http, "REQUEST_SECONDS", 0.5)
    async with served(answer_later) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert 0.3 < await drip(reader, writer, beginning, 0.02) < 30


@pytest.mark.anyio
async def test_who_drips_a_second_request_is_let_go(monkeypatch):
    monkeypatch.setattr(bounded_http, "REQUEST_SECONDS", 0.5)
    async with served(answer_later) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert b"200" in await reader.readline()
        assert await drip(reader, writer, 10_000 * b"G", 0.02) < 30


@pytest.mark.anyio
async def test_a_request_is_answered():
    async with served(answer_later) as port, httpx.AsyncClient(timeout=60) as client:
        assert [(await client.get(f"http://127.0.0.1:{port}/?{seconds}")).text for seconds in (0.5, 0)] == 2 * ["here"]


class Cycle:
    """A request, and whether it has been answered."""

    response_complete = False


class Transport:
    """A connection that is open until it is broken off."""

    is_open = True

    def is_closing(self):
        return not self.is_open

    def abort(self):
        self.is_open = False


class Loop:
    """Calls nothing later."""

    def call_later(self, seconds, function):
        assert seconds == bounded_http.REQUEST_SECONDS
        assert function


def test_only_connections_that_stay_idle_are_broken_off():
    protocol = BoundedProtocol.__new__(BoundedProtocol)
    protocol.loop, protocol.transport, protocol.cycle = Loop(), Transport(), Cycle()
    for _ in range(3):
        protocol._look()  # the answer takes long
    protocol.cycle.response_complete = True
    protocol._look()
    assert protocol.transport.is_open
    protocol.cycle = Cycle()  # another request has come
    protocol._look()
    protocol.cycle.response_complete = True
    protocol._look()
    assert protocol.transport.is_open
    protocol._look()
    assert not protocol.transport.is_open
    protocol._look()


@pytest.mark.anyio
async def test_headers_have_an_end():
    async with served(answer_later) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n" + b"X: " + 100_000 * b"y")
        assert b"400" in await reader.readline()
        writer.close()


def ask(guard, key, path="/v1/jobs/x"):
    """Send a request through a guard; return the task that ends with its response's code."""

    async def send():
        codes = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def take(message):
            codes.extend([message["status"]] if message["type"] == "http.response.start" else [])

        headers = [(b"authorization", f"Bearer {key}".encode())] if key else []
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
        await guard(scope, receive, take)
        return codes[0]

    return asyncio.ensure_future(send())


@pytest.mark.anyio
async def test_one_client_cannot_take_all_connections(monkeypatch):
    monkeypatch.setattr(guard_module, "MOST_OPEN", 2)
    go_on = asyncio.Event()

    async def application(scope, receive, send):
        if scope["path"] != "/health":
            await go_on.wait()
        await PlainTextResponse("here")(scope, receive, send)

    clients = Clients([(digest_of(name), Client(name)) for name in ("alice", "bob")])
    guard = Guard(application, clients, Metrics())
    open_ones = [ask(guard, "alice") for _ in range(2)]
    await asyncio.sleep(0)
    assert await ask(guard, "alice") == 429
    assert await ask(guard, "alice", "/health") == 200
    assert await ask(guard, "", "/health") == 200
    assert await ask(guard, "mallory") == 401
    of_bob = ask(guard, "bob")
    go_on.set()
    assert await asyncio.gather(of_bob, *open_ones) == [200, 200, 200]
    assert await ask(guard, "alice") == 200


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("body", "says"),
    [
        (rb'{"domain": "(define \ud800"}', "half of a surrogate pair"),
        (rb'{"domain": "(define \uDFFF"}', "half of a surrogate pair"),
        (b"[" * 100_000, "nested too deeply|no JSON"),
        (b'{"domain": ' + b"9" * 100_000 + b"}", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"\x1f\x8b\x08\x00bomb", "no JSON"),
    ],
)
async def test_bodies_that_are_no_text_are_refused(body, says):
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    request = Request({"type": "http", "method": "POST", "path": "/v1/solve", "headers": []}, receive)
    with pytest.raises(Refusal, match=says) as refused:
        await read_json(request, 4_000_000, Client("c"))
    assert refused.value.code == 400


@pytest.mark.anyio
async def test_one_client_cannot_fill_the_memory_with_slow_bodies():
    client, go_on, refused = Client("c"), asyncio.Event(), []

    def make_request():
        parts = [{"type": "http.request", "body": b" " * 900, "more_body": True}]

        async def receive():
            if parts:
                return parts.pop()
            await go_on.wait()
            return {"type": "http.request", "body": b"{}", "more_body": False}

        return Request({"type": "http", "method": "POST", "path": "/v1/solve", "headers": []}, receive)

    reading = [asyncio.ensure_future(read_json(make_request(), 1000, client)) for _ in range(20)]
    await asyncio.sleep(0.01)
    go_on.set()
    for each in reading:
        try:
            assert await each == {}
        except Refusal as refusal:
            refused.append(refusal.code)
    assert refused == [429] * 3
    assert client.arriving_bytes == 0


@pytest.mark.anyio
async def test_whole_pairs_are_text():
    async def receive():
        return {"type": "http.request", "body": rb'{"domain": "\ud83d\ude00"}', "more_body": False}

    request = Request({"type": "http", "method": "POST", "path": "/v1/solve", "headers": []}, receive)
    assert await read_json(request, 1000, Client("c")) == {"domain": "\N{GRINNING FACE}"}


def test_a_question_may_have_less_memory():
    asked = read_request("solve", {"domain": LAMPS, "problem": EVENING, "memory_limit": 0.5}).question
    plain = read_request("solve", {"domain": LAMPS, "problem": EVENING}).question
    assert asked.memory_limit == 0.5
    assert asked.content_hash != plain.content_hash
    assert Question(**json.loads(json.dumps(asked.to_dict()))) == asked
    with pytest.raises(InputError, match="`memory_limit` must be a number of GiB"):
        read_request("solve", {"domain": LAMPS, "memory_limit": 0})


def test_the_memory_limit_of_a_question_holds():
    question = Question("solve", LAMPS, EVENING, memory_limit=0.01)
    reply = handle({"question": question.to_dict(), "time_limit": 50.0}, 4.0, Replies(BytesIO()))
    assert "memory" in json.dumps(reply)
    assert least_limit(None, 2.0, 1.0) == 1.0
    assert least_limit(None, None) is None
