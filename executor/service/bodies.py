"""Read the bodies of requests: JSON within a size and a time, whatever a client sends."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any, Final

from starlette.requests import Request

from executor.service.keys import Client
from executor.service.refusals import Refusal

BODY_SECONDS: Final = 30.0
"""Most seconds in which the body of a request must arrive."""
MOST_ARRIVING: Final = 16
"""Most bytes of a client's bodies that arrive, as a multiple of the longest body: slow ones take memory meanwhile."""


async def read_json(request: Request, most_bytes: int, client: Client) -> Any:
    """Read the body of a request of `client`, of so many bytes at most, as JSON; raises `Refusal`."""
    try:
        body = await asyncio.wait_for(_read_body(request, most_bytes, client), BODY_SECONDS)
    except TimeoutError:
        raise Refusal(408, "time", f"the body did not arrive within {BODY_SECONDS:g} s") from None
    try:
        return parse_json(body)
    except RecursionError:
        raise Refusal(400, "input", "the body is nested too deeply") from None
    except UnicodeEncodeError:
        raise Refusal(400, "input", "the body has half of a surrogate pair") from None
    except RepeatedName as error:
        raise Refusal(400, "input", f"an object of the body has {str(error)!r:.80} twice") from None
    except ValueError as error:  # no JSON, or no UTF-8
        raise Refusal(400, "input", f"the body is no JSON: {error}") from None


async def _read_body(request: Request, most_bytes: int, client: Client) -> bytes:
    found = bytearray()
    try:
        async for part in request.stream():
            found += part
            client.arriving_bytes += len(part)
            if len(found) > most_bytes:
                raise Refusal(413, "size", f"the body is longer than {most_bytes:,} bytes")
            if client.arriving_bytes > MOST_ARRIVING * most_bytes:
                raise Refusal(429, "busy", "too many long bodies of this client arrive", retry_after=1)
    finally:
        client.arriving_bytes -= len(found)
    return bytes(found)


class RepeatedName(ValueError):
    """An object in JSON has a name twice, of which parsers silently take the first or the last."""


def parse_json(body: bytes) -> Any:
    """Parse JSON; raises `RecursionError` and `ValueError`, also for half of a character, which no answer could show.

    No garbage is collected meanwhile: of a million values, collections would take most of the time.
    """
    gc.disable()
    try:
        found = json.loads(body, object_pairs_hook=make_object)
        if rb"\ud" in body.lower():
            json.dumps(found, ensure_ascii=False).encode()
    finally:
        gc.enable()
    return found


def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raises `RepeatedName`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise RepeatedName(next(name for name in names if names.count(name) > 1))
    return found
