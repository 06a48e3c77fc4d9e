"""A checksum for each event that counts in all before it: what is missing or changed between shows at the next one.

SQLite finds damage to the structure of its file, not to what is in it. CRC-32 (Peterson and Brown, 1961) costs about
a microsecond an event and misses one accidental change in 4 billion; it is no protection against forgery. That the
last events are missing cannot show in a chain; `locks.py` keeps how many there were.
"""

from __future__ import annotations

import zlib


def beginning(number: int, name: str, created: float) -> int:
    """Return the checksum of a run that has no events yet; raises `UnicodeEncodeError` for half a character."""
    return zlib.crc32(f"{number} {created!r} {name}".encode())


def link(previous: int, seq: int, time: float, event: tuple[str, str, str]) -> int:
    """Return the checksum of an event (kind, data, status) that follows the one with the checksum `previous`.

    Raises `UnicodeEncodeError` as `beginning`.
    """
    kind, data, status = event
    return zlib.crc32(f"{seq} {time!r} {kind} {status} {data}".encode(), previous)
