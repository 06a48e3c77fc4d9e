"""Why a call of a language model came to nothing, in words, and whether that may pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from executor.language.connection import Refused
from executor.language.protocol import Failed, Usage
from executor.world.containment import said
from planner.records import replace

LONGEST: Final = 400
"""Characters of a reason."""
PASSING: Final = frozenset({408, 409, 425, 429})
SERVER: Final = 500
"""Status codes from here on are about the server."""
UNSENT: Final = frozenset(
    {
        "ConnectError",
        "ConnectTimeout",
        "LocalProtocolError",
        "PoolTimeout",
        "ProxyError",
        "UnicodeEncodeError",
        "UnsupportedProtocol",
    }
)
"""The names of errors, those of HTTP libraries among them, after which nothing was sent."""


def failure(error: Exception, asked: Usage) -> Failed:
    """Return why there is no answer; `asked` is what the question took, if the endpoint has read it.

    Nobody knows whether it has: it counts, unless nothing was sent, or the endpoint has said that it refuses.
    """
    from pydantic_ai.exceptions import AgentRunError, ModelHTTPError  # noqa: PLC0415 - takes seconds to import

    led = list(_causes(error))
    refused = next((each for each in led if isinstance(each, Refused)), None)
    if refused is not None:
        return Failed(_cut(str(refused)), asked)
    unread = replace(asked, input_tokens=0, money=0.0)
    if isinstance(error, ModelHTTPError):
        passes = error.status_code in PASSING or error.status_code >= SERVER
        why = f"the endpoint answers with status {error.status_code}: {error.body}"
        return Failed(_cut(why), unread, may_pass=passes)
    usage = unread if any(type(each).__name__ in UNSENT for each in led) else asked
    return Failed(_cut(_why(error, led)), usage, may_pass=isinstance(error, AgentRunError | OSError))


def _why(error: Exception, led: list[BaseException]) -> str:
    names, last = {type(each).__name__ for each in led}, led[-1]
    first = said(error)
    found = {
        "UnicodeEncodeError": "the language model's key, or its URL, has characters that are not ASCII",
        "RecursionError": "what the endpoint sent is nested too deeply",
        "RemoteProtocolError": f"the endpoint does not keep to HTTP: {last}",
        "ConnectError": f"nobody answers at the endpoint: {said(last)}",
    }
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if "RemoteProtocolError" in names and "buffer too long" in str(last):
        return "the endpoint sent a header that is too long"
    known = next((found[name] for name in found if name in names), "")
    if not known and isinstance(error, AttributeError | LookupError | TypeError | ValueError):
        return f"what the endpoint sent is no answer: {first}"
    return known or (first if str(last) in first else f"{first} ({said(last)})")


def _cut(text: str) -> str:
    shown = "".join(each if each.isprintable() else " " for each in text[:LONGEST])
    return shown if len(text) <= LONGEST else f"{shown}…"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error`, and what led to it, the nearest first."""
    seen, found = set[int](), error
    while id(found) not in seen:
        yield found
        seen.add(id(found))
        found = found.__cause__ or found.__context__ or found
