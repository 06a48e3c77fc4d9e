"""Goals, plans and rooms that are kept beside the runs: each saving is a row, and the newest of a name counts."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

Sort = Literal["goal", "plan", "room"]
_INSERT: Final = "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)"
_NEXT: Final = "SELECT * FROM documents WHERE number > ? ORDER BY number LIMIT 1"


class Document(NamedTuple):
    """A goal or a plan as it was saved last; `time` is in seconds since 1970."""

    name: str
    time: float
    status: str
    data: str


def insert(connection: sqlite3.Connection, sort: Sort, document: Document) -> int:
    """Append `document` within a transaction; return its number; raises `sqlite3.Error`, `UnicodeEncodeError`."""
    ((last,),) = connection.execute("SELECT ifnull(max(number), 0) FROM documents")
    number: int = last + 1
    connection.execute(_INSERT, (number, sort, *document, _checksum(number, sort, document)))
    return number


def newest(connection: sqlite3.Connection, sort: Sort) -> tuple[list[int], int] | None:
    """Return the numbers of the newest of each name, in the order in which the names were saved first, and of the last.

    Returns None where one of all the documents is missing or changed; the last ones may be missing.
    """
    found: dict[str, int] = {}
    last = 0
    for number, kind, document, checksum in _rows(connection):
        last += 1
        if number != last or checksum != _checksum(number, kind, document):
            return None
        if kind == sort:
            found[document.name] = number
    return list(found.values()), last


def document_at(connection: sqlite3.Connection, number: int) -> Document:
    """Return the document with this `number`, which is there."""
    return Document(*connection.execute(_NEXT, (number - 1,)).fetchone()[2:-1])


def _rows(connection: sqlite3.Connection) -> Iterator[tuple[int, Sort, Document, int]]:
    """Yield all rows, one at a time: they may be large, and who reads for long keeps the log from being emptied."""
    number = 0
    while row := connection.execute(_NEXT, (number,)).fetchone():
        number, sort, *document, checksum = row
        yield number, sort, Document(*document), checksum


def _checksum(number: int, sort: Sort, document: Document) -> int:
    name, time, status, data = document
    return zlib.crc32(f"{number} {sort} {time!r} {status} {name} {data}".encode())
