"""Connections to endpoints that nobody vouches for: how much they may send, in which form, and from where.

They are clients of whichever HTTP library openai's package is made with (`httpx`, `httpx2`), of which nothing is used
but hooks and streams. An answer is taken as it was sent: what a few compressed bytes unfold to cannot be bounded
before it is there. Nor may it have many parts: what checks answers takes a thousand times the room for each.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

IDENTITY: Final = frozenset({"", "identity"})
MOST_PARTS: Final = 2_000
"""Values in an answer: a real one has some dozens around its text."""
SHOWN: Final = 200
"""Characters of what an endpoint says that are shown."""


class Refused(Exception):  # noqa: N818 - it names what it says
    """An endpoint sent what is not taken."""


def connection(most_bytes: int, timeout: float) -> Any:
    """Return an HTTP client for openai's package whose answers have `most_bytes` bytes at most; close it: `aclose()`.

    Reading more, what is compressed, JSON of many parts, and redirections raise `Refused`. Cookies are not kept. Raises
    `ImportError` where the package is not there.
    """
    from openai import DefaultAsyncHttpxClient  # noqa: PLC0415 - takes seconds to import

    async def bound(response: Any) -> None:
        _check(response)
        response.stream = _counted(response.stream, most_bytes)
        if response.is_success:
            _check_parts(await response.aread())

    return DefaultAsyncHttpxClient(
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bound]},
        follow_redirects=False,
        timeout=timeout,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )


def _check(response: Any) -> None:
    """Raise `Refused` for an answer that is compressed, or is elsewhere."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in IDENTITY:
        raise Refused(f"the endpoint sent an answer packed as {encoding[:SHOWN]!r}, though it was asked not to")
    if response.is_redirect:
        where = response.headers.get("location", "")[:SHOWN]
        status = response.status_code
        raise Refused(f"status {status}: the endpoint sends on to {where!r}, where nothing is sent; set the url anew")


def _check_parts(body: bytes) -> None:
    """Raise `Refused` for JSON of too many values; what is no JSON is for others to refuse."""
    try:
        left: list[object] = [json.loads(body)]
    except (ValueError, RecursionError):
        return
    parts = 0
    while left:
        each = left.pop()
        inner: Iterable[object] = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        left += inner
        parts += 1
        if parts + len(left) > MOST_PARTS:
            raise Refused(f"the endpoint sent an answer of more than {MOST_PARTS:,} parts")


def _counted(stream: Any, most: int) -> Any:
    """Return `stream`, an asynchronous one of the HTTP library, which raises `Refused` after `most` bytes."""
    base = next(each for each in type(stream).__mro__ if each.__name__ == "AsyncByteStream")

    class Counted(base):  # type: ignore[misc,valid-type] # known when a stream is there
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = most
            async for each in stream:
                left -= len(each)
                if left < 0:
                    raise Refused(
                        f"the endpoint sent more than {most:,} bytes; 'most_bytes' in the settings says how many"
                    )
                yield each

        async def aclose(self) -> None:
            await stream.aclose()

        def __getattr__(self, name: str) -> Any:
            return getattr(stream, name)

    return Counted()
