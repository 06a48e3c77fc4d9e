"""An endpoint on this machine that answers as it likes: with bytes that need not be HTTP, or without end."""

from __future__ import annotations

import contextlib
import json
import socketserver
import threading
from collections.abc import Callable, Mapping
from typing import Any, Self

Act = Callable[[Callable[[bytes], object]], object]
"""What is done with a connection, given what sends bytes: that raises `OSError` once nobody reads them."""


class RawEndpoint:
    """Does what it was told to with one request after the other, and the last of it with all others.

    `paths` are those that were asked for; `heads` takes what came before each request's body.
    """

    def __init__(self, *acts: Act | bytes, heads: list[bytes] | None = None) -> None:
        left, self.paths, self.closed, endpoint = list(acts), list[str](), threading.Event(), self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    self._handled()
                endpoint.closed.set()

            def _handled(self) -> None:
                endpoint.paths.append(self.rfile.readline().decode().split()[1])
                length, head = 0, b""
                while (line := self.rfile.readline()).strip():
                    name, _, value = line.partition(b":")
                    head += line
                    length = int(value) if name.lower() == b"content-length" else length
                self.rfile.read(length)
                if heads is not None:
                    heads.append(head)
                act = left.pop(0) if len(left) > 1 else left[0]
                if isinstance(act, bytes):
                    self.wfile.write(act)
                else:
                    act(self.wfile.write)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def http(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """Return an HTTP answer."""
    given = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + body


def completion(text: Any = '{"number": 5}', **other: Any) -> Mapping[str, Any]:
    """Return a chat completion that says `text`."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    found = {"id": "1", "object": "chat.completion", "created": 1, "model": "small", "choices": [choice]}
    return found | other


def said(text: Any = '{"number": 5}', **other: Any) -> bytes:
    """Return the HTTP answer of a chat completion."""
    return http(json.dumps(completion(text, **other)).encode())
