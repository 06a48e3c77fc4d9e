"""What SQLite and the operating system report, in words that say what to do."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Final

from executor.errors import DamagedError, JournalError

BUSY: Final = 10.0
"""Seconds to wait for another process that is writing."""
RESTORE: Final = "restore it from a copy; what can still be read is read by the sqlite3 command"
_ROOM: Final = "make room and try again: what was appended before is kept, what was being appended is not"
FOUND: Final = {
    sqlite3.SQLITE_FULL: ("the disk is full", _ROOM),
    sqlite3.SQLITE_IOERR: (
        "the operating system refused to read or write it",
        "look for a failing disk, a full one, and limits on file sizes (ulimit -f); what was appended before is kept",
    ),
    sqlite3.SQLITE_READONLY: ("it cannot be written", "it and its folder must be writable by this user"),
    sqlite3.SQLITE_CANTOPEN: (
        "it cannot be opened",
        "it must be a file that this user may write, in such a folder: SQLite keeps two more beside it",
    ),
    sqlite3.SQLITE_BUSY: (
        f"another process kept it locked for {BUSY:.0f} s",
        "look for a program that holds it open, such as the sqlite3 command within a transaction",
    ),
    sqlite3.SQLITE_TOOBIG: ("an event is larger than SQLite keeps (1 GB)", "keep large results in files of their own"),
    sqlite3.SQLITE_CONSTRAINT: (
        "somebody else has appended to it what was about to be appended",
        "two processes are writing one run, which the lock beside it prevents unless that was deleted; end one of them",
    ),
}
"""What was found, and what to do, for SQLite's primary result codes."""
_DAMAGE: Final = {
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", RESTORE),
    sqlite3.SQLITE_ERROR: ("the file is damaged: our statements do not fit its tables", RESTORE),
    sqlite3.SQLITE_NOTADB: (
        "this is no SQLite database, or its beginning is damaged",
        "name another file, or restore it",
    ),
    None: ("the file is damaged: there is something else where text should be", RESTORE),
}


def told(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> JournalError:
    """Return `error`, which `sqlite3` raised while the journal in `path` was used, as one of ours."""
    code = getattr(error, "sqlite_errorcode", None)
    code = None if code is None else code & 0xFF  # the rest are details, which the name tells
    name = getattr(error, "sqlite_errorname", "")
    if code in _DAMAGE:
        found, hint = _DAMAGE[code]
        return DamagedError(path, f"{found} ({error})", hint)
    found, hint = FOUND.get(code or 0, ("SQLite gave up", RESTORE))
    return JournalError(path, f"{found} ({name}: {error})", hint)


def told_by_system(path: Path, error: OSError) -> JournalError:
    """Return `error`, which came up while the file `path` was used, as one of ours."""
    hint = _ROOM if error.errno in (errno.ENOSPC, errno.EDQUOT) else FOUND[sqlite3.SQLITE_CANTOPEN][1]
    return JournalError(path, f"it cannot be used ({error.strerror})", hint)


def unkeepable(path: Path, error: UnicodeEncodeError) -> JournalError:
    """Return that a text has half a character, which no file can keep."""
    piece = ascii(error.object[max(error.start - 20, 0) : error.end])
    return JournalError(path, f"a text to be kept has half a character near {piece}", "nothing was appended; repair it")
