"""Where servers listen: by default for this machine alone, and beyond it only for clients that send a secret."""

from __future__ import annotations

import ipaddress
import os
import shlex
import socket
import stat
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

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


def read_secret(file: Path) -> str:
    """Read a file with keys or a token; raises `OSError`, and `InputError` where others may read it, or it is no text.

    As ssh does, this refuses a file of this user that its group may read. A group may lend one of another user, as
    Kubernetes does.
    """
    with file.open("rb") as stream:
        _check_mode(os.fstat(stream.fileno()), file)
        try:
            return stream.read().decode()
        except UnicodeDecodeError:
            raise InputError("a file with a secret is a text in UTF-8", Location(str(file))) from None


def _check_mode(found: os.stat_result, file: Path) -> None:
    if os.name != "posix" or not stat.S_ISREG(found.st_mode):
        return
    is_own = found.st_uid == os.geteuid()
    if found.st_mode & (stat.S_IRWXO | (stat.S_IRWXG if is_own else 0)):
        what = f"others may read this secret: its mode is {stat.S_IMODE(found.st_mode):04o}"
        raise InputError(what, Location(str(file)), f"chmod {'600' if is_own else 'o='} {shlex.quote(str(file))}")


def read_token(file: Path | None, variable: str) -> str | None:
    """Read a token from `file`, or else from the environment; return None without either.

    Raises `InputError` for one that can be guessed, or that others may read.
    """
    if file is not None:
        return check_token(read_secret(file), str(file))
    found = os.environ.get(variable)
    return None if found is None else check_token(found, variable)


def names_this_machine(host: str) -> bool:
    """Return whether a header `Host` names a loopback address: a page that rebinds its own name does not."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and Address(name, 0).is_loopback


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
