"""Where journals are: files, and databases by their addresses; opening either.

An address is `postgresql://user:password@host:port/database?schema=…`. Its password stays out of every message: texts
of an address leave it out.
"""

from __future__ import annotations

import getpass
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from executor.journal.interface import AnyJournal
from executor.journal.journal import Journal
from executor.journal.records import NO_JOURNAL, Durability
from executor.journal.store import is_empty
from planner.errors import InputError, did_you_mean

SCHEMES: Final = ("postgresql://", "postgres://")
PORT: Final = 5432
LEASE: Final = 15.0
"""Default lease, in seconds: the longest time until the runs of a host that is cut off can be taken over."""
PATIENCE: Final = 30.0
"""Default time to wait for a database that does not answer, in seconds."""
_OPTIONS: Final = ("host", "schema", "lease", "patience", "sslmode")
_SSL: Final = ("disable", "prefer", "require", "verify-full")
_FORM: Final = "write postgresql://user@host:5432/database, and the password in the variable PGPASSWORD"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """The address of a PostgreSQL database, with options for its journal.

    `host` is a name, or the folder of a socket. `schema` holds the tables. `lease` is how long a process keeps its runs
    without renewing its lease, `patience` how long it waits for a database that does not answer, both in seconds.
    """

    user: str
    host: str
    port: int
    database: str
    password: str | None = field(default=None, repr=False)
    schema: str = "forethought"
    lease: float = LEASE
    patience: float = PATIENCE
    sslmode: str = "prefer"

    @classmethod
    def parse(cls, text: str) -> DatabaseAddress:
        """Parse an address; what it leaves out comes from libpq's variables (PGUSER, PGPASSWORD, …).

        Raises `InputError` for a wrong one, without its password.
        """
        try:
            parts = urlsplit(text)
            port = parts.port or _read_port(os.environ.get("PGPORT", ""))
            pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        except ValueError as error:
            found = str(error).partition(" as ")[0] if "ort " in str(error) else "it cannot be read"
            raise InputError(f"the address of the journal's database is wrong: {found}", hint=_FORM) from None
        options = dict(pairs)
        for name in options:
            if name not in _OPTIONS:
                hint = did_you_mean(name, _OPTIONS) or f"there are {', '.join(_OPTIONS)}"
                raise InputError(f"the address of a journal has no option {name!r}", hint=hint)
        user = unquote(parts.username or "") or os.environ.get("PGUSER") or getpass.getuser()
        database = unquote(parts.path.removeprefix("/")) or os.environ.get("PGDATABASE") or user
        given = unquote(parts.hostname or "") if parts.hostname else options.get("host")
        password = unquote(parts.password) if parts.password else os.environ.get("PGPASSWORD")
        return cls(
            user,
            given or os.environ.get("PGHOST") or "localhost",
            port,
            database,
            password,
            _read_schema(options.get("schema", "forethought")),
            _read_seconds("lease", options, LEASE),
            _read_seconds("patience", options, PATIENCE),
            _read_ssl(options.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer"),
        )

    def __str__(self) -> str:
        """Return the address without its password."""
        is_folder = self.host.startswith("/")
        options: dict[str, str] = {"host": self.host} if is_folder else {}
        for name, default in (("schema", "forethought"), ("sslmode", "prefer")):
            value = getattr(self, name)
            options |= {name: value} if value != default else {}
        for name, seconds in (("lease", LEASE), ("patience", PATIENCE)):
            value = getattr(self, name)
            options |= {name: f"{value:g}"} if value != seconds else {}
        host = "" if is_folder else f"[{self.host}]" if ":" in self.host else quote(self.host)
        port = "" if self.port == PORT else f":{self.port}"
        query = f"?{urlencode(options, safe='/')}" if options else ""
        return f"postgresql://{quote(self.user, safe='')}@{host}{port}/{quote(self.database, safe='')}{query}"

    __repr__ = __str__


def _read_port(text: str) -> int:
    """Read the variable PGPORT; raises `ValueError`."""
    if text and not text.isdecimal():
        raise ValueError("Port in PGPORT is no number")
    return int(text or PORT)


def _read_schema(name: str) -> str:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name):
        raise InputError(f"{name!r} is no name of a schema", hint="use lower-case letters, digits and underscores")
    return name


def _read_seconds(name: str, options: Mapping[str, str], default: float) -> float:
    try:
        seconds = float(options.get(name, default))
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InputError(f"{name} is a number of seconds above 0, not {options[name]!r}", hint=f"such as {name}=10")
    return seconds


def _read_ssl(mode: str) -> str:
    if mode not in _SSL:
        raise InputError(f"there is no sslmode {mode!r}", hint=f"there are {', '.join(_SSL)}")
    return mode


Place = Path | DatabaseAddress
"""A file, or the address of a database."""


def read_place(text: str | Path | DatabaseAddress) -> Place:
    """Read the place of a journal; raises `InputError` for a wrong address."""
    if isinstance(text, DatabaseAddress | Path):
        return text
    if text.startswith(SCHEMES):
        return DatabaseAddress.parse(text)
    if not text.strip():
        raise InputError("the journal has no name", hint="name a file, such as runs.db, or a database: postgresql://…")
    if text.strip().startswith((":", "file:")):
        hint = "name a plain file; run without a journal to keep nothing"
        raise InputError(f"{text!r} names no file: SQLite would read it as options", hint=hint)
    if "://" in text:
        form = (
            "'runs list', 'runs ledger' and 'view' read runs on Temporal" if text.startswith("temporal://") else _FORM
        )
        raise InputError(f"a journal is not kept at {text.split('://')[0]}://…", hint=form)
    return Path(text)


def open_journal(
    place: str | Path | DatabaseAddress, durability: Durability = "process", *, makes: bool = True
) -> AnyJournal:
    """Open the journal in a file or at the address of a database; where there is none, make it only if it `makes` one.

    Raises `JournalError`, and `InputError` for a wrong address or where its driver is not installed.
    """
    read = read_place(place)
    if isinstance(read, Path):
        if not makes and (not read.is_file() or is_empty(read)):
            why = ": the file is empty" if read.is_file() else ""
            raise InputError(f"there is no journal {read}{why}", hint=NO_JOURNAL)
        return Journal(read, durability)
    from executor.journal.postgres.postgres_journal import PostgresJournal

    return PostgresJournal(read, durability, makes=makes)
