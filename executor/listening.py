"""Where servers listen: by default for this machine alone, and beyond it only for clients that send a secret."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

from planner.errors import InputError, Location
from planner.lightweight import dataclass

SHORTEST_TOKEN: Final = 16
"""Fewest characters of a token: shorter ones can be guessed."""


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


def read_address(text: str, option: str) -> Address:
    """Read HOST:PORT, [HOST]:PORT for IPv6, or PORT alone, which means this machine.

    Raises `InputError` that names the `option`.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535) or (":" in host and not text.startswith("[")):
        raise InputError(f"{option} takes HOST:PORT, not {text!r}", hint=f"such as {option} 127.0.0.1:8000")
    return Address(host or "127.0.0.1", int(port))


def check_token(token: str, place: str) -> str:
    """Return `token`, which stands in `place`; raises `InputError` for one that can be guessed."""
    token = token.strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or any(each.isspace() for each in token):
        hint = "make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        raise InputError(f"a token has {SHORTEST_TOKEN} characters or more, and no blanks", Location(place), hint)
    return token


def check_access(address: Address, *, has_token: bool, hint: str) -> None:
    """Raise `InputError` with `hint` where other machines could reach a server that asks for no token."""
    if not has_token and not address.is_loopback:
        raise InputError(f"{address.host} can be reached from other machines, and there is no token", hint=hint)


def listen(address: Address) -> socket.socket:
    """Return a socket that listens; raises `InputError` where that is impossible."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sends at once on named TCP only
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address.host, address.port))
    except OSError as error:
        found.close()
        raise InputError(f"nothing can be served at {address.host}:{address.port}: {error.strerror or error}") from None
    found.listen()
    return found


def name_url(listening: socket.socket, address: Address, path: str = "") -> str:
    """Return the URL for clients."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"http://{host}:{listening.getsockname()[1]}{path}"
