"""Endpoints that send too much, too little, or nonsense: each call ends with a reason, and is counted."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
import warnings

import pytest
from endpoint import Endpoint
from pydantic import Field
from raw_endpoint import RawEndpoint, completion, http, said

from executor import Agent, RunStatus
from executor.errors import ModelError, NoAnswer
from executor.language_model import Allowance, Answer, Meter, Part, Purpose, Request, ask_checked
from executor.language_model.client import BLOCKED, Client
from executor.language_model.settings import Settings
from executor.testing import SimulatedWorld
from planner import load

MOST = 200_000
MANY = 1_000
"""Pieces that an endpoint sends, unless nobody reads them any more."""
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
PIECE = b"10000\r\n" + b" " * 0x10000 + b"\r\n"


class Number(Answer):
    number: int = Field(ge=1, le=9)


REQUEST = Request(Purpose.FILL, "Give a number.", (Part("Said", "a small one"),), Number)
ASKED = REQUEST.tokens


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """Import what is imported late: not while memory is traced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(BLOCKED, raising=False)
        with RawEndpoint(said()) as endpoint:
            ask(endpoint, Meter())


@pytest.fixture(autouse=True)
def allowed(monkeypatch) -> None:
    monkeypatch.delenv(BLOCKED, raising=False)


def ask(endpoint: RawEndpoint, meter: Meter, **options):
    async def asked():
        given = {"timeout": 20, "retries": 0, "most_bytes": MOST, "prices": (1.0, 10.0)} | options
        async with Client(Settings("small", endpoint.url, **given)) as client:
            return await ask_checked(client, REQUEST, Number, meter=meter, rounds=2)

    return asyncio.run(asked())


def told(*acts, **options) -> tuple[str, Meter, int]:
    """Return why there was no answer, what was spent, and how many calls the endpoint has got."""
    meter = Meter()
    with RawEndpoint(*acts) as endpoint, pytest.raises(ModelError) as error:
        ask(endpoint, meter, **options)
    return str(error.value), meter, len(endpoint.paths)


def endless(send) -> None:
    send(CHUNKED)
    for _ in range(MANY):
        send(PIECE)


def endless_error(send) -> None:
    send(CHUNKED.replace(b"200 OK", b"500 No"))
    for _ in range(MANY):
        send(PIECE)


def headers(send) -> None:
    send(b"HTTP/1.1 200 OK\r\n")
    for number in range(MANY):
        send(b"X-%d: " % number + b"y" * 10_000 + b"\r\n")


def header(send) -> None:
    send(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(MANY):
        send(b"y" * 10_000)


def trailers(send) -> None:
    send(CHUNKED + b"2\r\n{}\r\n0\r\n")
    for number in range(MANY):
        send(b"X-%d: " % number + b"y" * 10_000 + b"\r\n")


def packed(what: str, body: bytes, status: str = "200 OK") -> bytes:
    return http(body, status, Content_Encoding=what)


BOMB = gzip.compress(b" " * 10_000_000)


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (endless, "more than 200,000 bytes; 'most_bytes' in the settings"),
        (endless_error, "more than 200,000 bytes"),
        (packed("gzip", BOMB), "packed as 'gzip', though it was asked not to"),
        (packed("gzip, gzip", gzip.compress(BOMB), "500 No"), "packed as 'gzip, gzip'"),
        (headers, "a header that is too long"),
        (header, "a header that is too long"),
        (trailers, "a header that is too long"),
        (http(b"", "302 Found", Location="http://127.0.0.1:9/elsewhere"), "sends on to 'http://127.0.0.1:9/elsewhere'"),
        (http(b"", "307 Again", Location="/v1/chat/completions"), "set the url anew"),
        (http(b"{}", "300 Several"), "status 300: "),
        (http(b"", "304 As Before"), "status 304: "),
        (http(b"[" * 150_000), "nested too deeply"),
        (http(json.dumps(completion("@")).encode().replace(b"@", b"\xff\xfe")), "can't decode byte 0xff"),
        (http(json.dumps({**completion(), "choices": [{}] * 2_000}).encode()), "more than 2,000 parts"),
        (said(more=[[0] * 50] * 50), "more than 2,000 parts"),
        (http(b"{}", Content_Length="100"), "does not keep to HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "does not keep to HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\n{}", "does not keep to HTTP"),
        (b"SSH-2.0-other\r\n", "does not keep to HTTP"),
        (http(b"{}"), "Invalid response"),
        (said(7), "Invalid response"),
        (http(json.dumps({**completion(), "choices": []}).encode()), "sent is no answer: IndexError"),
    ],
)
def test_what_no_endpoint_should_send_ends_with_a_reason_and_is_counted(act, reason) -> None:
    tracemalloc.start()
    try:
        why, meter, calls = told(act)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reason in why
    assert (
        (meter.spent.calls, meter.spent.input_tokens, meter.spent.output_tokens) == (calls, ASKED, 0) == (1, ASKED, 0)
    )
    assert peak < 10_000_000


def test_who_sends_without_end_is_hung_up_on() -> None:
    with RawEndpoint(endless) as endpoint:
        with pytest.raises(ModelError):
            ask(endpoint, Meter())
        assert endpoint.closed.wait(20)


def test_what_it_refuses_with_is_cut_and_does_nothing_to_a_terminal() -> None:
    why, meter, _ = told(http(b'{"error": "\x1b[31m' + b"x" * 100_000 + b'"}', "400 No"))
    assert "status 400" in why
    assert why.isprintable()
    assert len(why) < 500
    assert (meter.spent.calls, meter.spent.tokens) == (1, 0)


def test_half_a_character_is_an_objection() -> None:
    half = http(json.dumps(completion("@")).encode().replace(b"@", rb"{\"number\": 5, \"thought\": \"\ud800\"}"))
    why, meter, calls = told(half)
    assert "unable to parse raw data as a unicode string" in why
    assert meter.spent.calls == calls == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompt_tokens": -5},
        {"completion_tokens": -5},
        {"prompt_tokens": float("nan")},
        {"prompt_tokens": 10**400},
        {"total_tokens": float("inf")},
        {"completion_tokens": "many"},
    ],
)
def test_what_nobody_can_have_counted_is_counted_by_characters(wrong) -> None:
    meter, usage = Meter(), {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10} | wrong
    with RawEndpoint(said(usage=usage)) as endpoint, warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask(endpoint, meter).value.number == 5
    assert (meter.spent.input_tokens, meter.spent.output_tokens) == (ASKED, 3)
    assert meter.spent.money == pytest.approx((ASKED + 30) / 1_000_000)


def test_cookies_are_not_kept() -> None:
    asked: list[bytes] = []
    eaten = http(json.dumps(completion("seven")).encode(), Set_Cookie="a=b; Path=/")
    with RawEndpoint(eaten, heads=asked) as endpoint, pytest.raises(NoAnswer):
        ask(endpoint, Meter())
    assert len(asked) == 2
    assert not any(b"cookie" in each.lower() for each in asked)


def test_nothing_packed_is_asked_for() -> None:
    asked: list[bytes] = []
    with RawEndpoint(said(), heads=asked) as endpoint:
        assert ask(endpoint, Meter()).value.number == 5
    assert b"accept-encoding: identity\r\n" in asked[0].lower()


@pytest.mark.parametrize("calls", [None, 3])
def test_a_run_counts_each_attempt_and_keeps_to_its_allowance(calls) -> None:
    problem = load("assistant", "one-page")
    meant = {"meanings": [{"goal": ["summarised(survey)"]}]}
    answers = [meant, {"values": {"query": "heat pumps"}}, {"values": {"words": 200}}]
    goal, query, words = map(json.dumps, answers)

    async def carried(url: str):
        async with Client(Settings("small", url, retries=1)) as client:
            world, allowed = SimulatedWorld(problem).world, Allowance(calls=calls)
            agent = Agent(world, problem, model=client, confirm=lambda _: True, allowance=allowed)
            return await agent.achieve("Sum up the survey in 200 words.")

    with Endpoint(503, goal, query, 503, words) as endpoint:
        outcome = asyncio.run(carried(endpoint.url)).outcome
    assert (outcome.status is RunStatus.SUCCEEDED) == (calls is None)
    assert outcome.state.spent.asked["calls"] == len(endpoint.bodies) == (calls or 5)
    assert outcome.metrics["tokens"] == outcome.state.spent.asked["tokens"] == 110 * (3 if calls is None else 2)
