"""Who may ask, and how much: keys of clients with their quotas, from a TOML file or the environment.

A request carries its key as a bearer token, or as the password of HTTP basic authentication, which clients send for a
URL such as `http://me:KEY@host:8000/package`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import os
import re
import time
import tomllib
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from executor.listening.addresses import check_token, read_secret
from executor.service.questions import PRIORITIES
from planner.errors import ForethoughtError, InputError, Location, did_you_mean
from planner.lightweight import dataclass, field

KEY_VARIABLE: Final = "FORETHOUGHT_SERVE_KEY"
"""The environment variable with the key that clients must send, where there is one for all."""
MINUTE: Final = 60.0
HOUR: Final = 3600.0


class Busy(ForethoughtError):
    """A question is not taken now; `reason` is "quota", "queue" or "stopping", and `retry_after` in seconds."""

    def __init__(self, reason: str, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.retry_after = max(1, math.ceil(retry_after))


@dataclass(frozen=True, slots=True)
class Quota:
    """What the holder of a key may ask; None is no limit.

    `per_minute` questions may begin in a minute, `at_once` of them are at work at once, and they may take
    `seconds_per_hour` of processes. `time_limit`, in seconds, is the most for one question, and `priority` the highest.
    """

    per_minute: int | None = None
    at_once: int | None = None
    seconds_per_hour: float | None = None
    time_limit: float | None = None
    priority: int = PRIORITIES


@dataclass(slots=True, eq=False)
class Client:
    """The holder of a key: its name, its quota, what it has used of that, and its requests that are not answered.

    `arriving_bytes` are those of bodies of which the rest has not arrived.
    """

    name: str
    quota: Quota = field(default_factory=Quota)
    running: int = 0
    open_requests: int = 0
    arriving_bytes: int = 0
    _begun: deque[float] = field(default_factory=deque)
    _spent: deque[tuple[float, float]] = field(default_factory=deque)

    @property
    def may_run(self) -> bool:
        """Whether one more question may be at work."""
        return self.quota.at_once is None or self.running < self.quota.at_once

    def begin(self) -> None:
        """Count a question; raises `Busy` where the quota is used up."""
        now = time.monotonic()
        self._check_seconds(now)
        most = self.quota.per_minute
        if most is None:
            return
        while self._begun and now - self._begun[0] >= MINUTE:
            self._begun.popleft()
        if len(self._begun) >= most:
            raise Busy("quota", f"more than {most} questions in a minute", MINUTE - (now - self._begun[0]))
        self._begun.append(now)

    def _check_seconds(self, now: float) -> None:
        most = self.quota.seconds_per_hour
        while self._spent and now - self._spent[0][0] >= HOUR:
            self._spent.popleft()
        if most is not None and sum(seconds for _, seconds in self._spent) >= most:
            message = f"{most:g} seconds of processes in an hour are used up"
            raise Busy("quota", message, HOUR - (now - self._spent[0][0]))

    def spend(self, seconds: float) -> None:
        """Count the seconds that a question has taken."""
        if self.quota.seconds_per_hour is not None:
            self._spent.append((time.monotonic(), seconds))


ANYONE: Final = "anyone"
"""The name of the client where no key is needed."""


class Clients:
    """Finds clients by their keys, of which only digests are kept; without any key, everyone is one client."""

    def __init__(self, clients: Iterable[tuple[bytes, Client]] = ()) -> None:
        self._known = list(clients)
        self._anyone = Client(ANYONE)

    def __len__(self) -> int:
        """Return the number of clients with a key."""
        return len(self._known)

    @property
    def need_keys(self) -> bool:
        """Whether a request needs a key."""
        return bool(self._known)

    def find(self, authorization: str | None) -> Client | None:
        """Return the client that sends this header, or None for a stranger."""
        if not self._known:
            return self._anyone
        digest = digest_of(read_authorization(authorization or ""))
        found = None
        for each, client in self._known:  # compares with every key, so that time tells nothing
            if hmac.compare_digest(each, digest):
                found = client
        return found


def read_authorization(header: str) -> str:
    """Return the key in a header `Authorization`; an empty text where there is none."""
    scheme, _, value = header.strip().partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def digest_of(key: str) -> bytes:
    """Return the SHA-256 of a key."""
    return hashlib.sha256(key.encode()).digest()


def read_clients(path: Path | None) -> Clients:
    """Read the keys of the file at `path`, or else the one of the environment; raises `InputError`."""
    if path is not None:
        return Clients(_read_file(path))
    key = os.environ.get(KEY_VARIABLE)
    return Clients() if key is None else Clients([(digest_of(check_token(key, KEY_VARIABLE)), Client("client"))])


def _read_file(path: Path) -> list[tuple[bytes, Client]]:
    place = Location(str(path))
    try:
        data = tomllib.loads(read_secret(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the file of keys is no TOML: {error}", place) from None
    hint = 'it has a table for each client: [alice] with key = "…"'
    if not data or not all(isinstance(each, dict) for each in data.values()):
        raise InputError("the file has no keys", place, hint)
    found = [_read_client(name, table, str(path)) for name, table in data.items()]
    if len({digest for digest, _ in found}) < len(found):
        raise InputError("two clients have the same key", place)
    return found


def _read_client(name: str, table: Mapping[str, Any], path: str) -> tuple[bytes, Client]:
    place = f"{path}, [{name}]"
    rest = dict(table)
    key, digest = rest.pop("key", None), rest.pop("sha256", None)
    for each, value in rest.items():
        _check_quota(each, value, place)
    client = Client(name, Quota(**rest))
    if isinstance(key, str) and digest is None:
        return digest_of(check_token(key, place)), client
    if key is None and isinstance(digest, str) and re.fullmatch(r"[0-9a-fA-F]{64}", digest):
        return bytes.fromhex(digest), client
    raise InputError('a client has one of key = "…" and sha256 = "…" (64 hexadecimal digits)', Location(place))


def _check_quota(name: str, value: Any, place: str) -> None:
    if name not in Quota.__slots__:
        known = ["key", "sha256", *Quota.__slots__]
        raise InputError(f"there is no {name!r}", Location(place), did_you_mean(name, known) or ", ".join(known))
    whole = name in ("per_minute", "at_once", "priority")
    least = 0 if name == "priority" else 1 if whole else 0.001
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or value < least:
        raise InputError(f"{name} must be a number, {least} or more, got {value!r}", Location(place))
