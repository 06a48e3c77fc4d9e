"""Serve MCP over streamable HTTP: by default to this machine alone, and to nobody without the token if there is one."""

from __future__ import annotations

import hmac
import ipaddress
import os
import socket
from pathlib import Path
from typing import Any, Final

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

from planner.errors import InputError, Location
from planner.lightweight import dataclass

TOKEN_VARIABLE: Final = "FORETHOUGHT_MCP_TOKEN"  # noqa: S105 - a name, no token
"""The environment variable with the token that clients must send."""
SHORTEST_TOKEN: Final = 16
"""Fewest characters of a token: shorter ones can be guessed."""
PATH: Final = "/mcp"
GRACE_SECONDS: Final = 5
"""Seconds that open connections have when the server stops."""
MOST_CONNECTIONS: Final = 256


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_address(text: str) -> Address:
    """Read HOST:PORT, [HOST]:PORT for IPv6, or PORT alone, which means this machine; raises `InputError`."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535) or (":" in host and not text.startswith("[")):
        raise InputError(f"--http takes HOST:PORT, not {text!r}", hint="such as --http 127.0.0.1:8000")
    return Address(host or "127.0.0.1", int(port))


def read_token(file: Path | None) -> str | None:
    """Read the token from `file`, or else from the environment; raises `InputError` for one that can be guessed."""
    if file is None:
        token, place = os.environ.get(TOKEN_VARIABLE), TOKEN_VARIABLE
        if token is None:
            return None
    else:
        try:
            token, place = file.read_text(encoding="utf-8"), str(file)
        except UnicodeDecodeError:
            raise InputError("the file with the token is no text", Location(str(file))) from None
    token = token.strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or any(each.isspace() for each in token):
        hint = "make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        raise InputError(f"a token has {SHORTEST_TOKEN} characters or more, and no blanks", Location(place), hint)
    return token


def check_access(address: Address, token: str | None) -> None:
    """Raise `InputError` where other machines could reach a server that asks for no token."""
    if token is None and not address.is_loopback:
        hint = f"put one into {TOKEN_VARIABLE}, or into a file: --token-file FILE"
        raise InputError(f"{address.host} can be reached from other machines, and there is no token", hint=hint)


@dataclass(frozen=True, slots=True)
class OneToken:
    """Accepts one token."""

    token: str

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what a request with `token` may do; None for a wrong one."""
        if hmac.compare_digest(token.encode(), self.token.encode()):
            return AccessToken(token=token, client_id="client", scopes=[])
        return None


def security_options(token: str | None) -> dict[str, Any]:
    """Return the options of `MCPServer` by which it asks for `token`."""
    if token is None:
        return {}
    settings = AuthSettings(issuer_url="http://localhost", resource_server_url=None)
    return {"token_verifier": OneToken(token), "auth": settings}


def listen(address: Address) -> socket.socket:
    """Return a socket that listens; raises `InputError` where that is impossible."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address.host, address.port))
    except OSError as error:
        found.close()
        raise InputError(f"nothing can be served at {address.host}:{address.port}: {error.strerror or error}") from None
    found.listen()
    return found


def make_http_server(server: MCPServer, address: Address, most_bytes: int) -> uvicorn.Server:
    """Return the HTTP server for `server`; a request may have so many bytes."""
    app = server.streamable_http_app(streamable_http_path=PATH, host=address.host, max_request_body_size=most_bytes)
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            lifespan="on",
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )


def name_url(listening: socket.socket, address: Address) -> str:
    """Return the URL for clients."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"http://{host}:{listening.getsockname()[1]}{PATH}"
