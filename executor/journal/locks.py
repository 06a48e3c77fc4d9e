"""Keep the lock file beside a journal, and convert errors of SQLite and the operating system to `JournalError`.

The lock file records which process drives each run, and how many events each run has.

Each run has a byte-range lock (POSIX `fcntl`): the kernel frees it when the process ends in any way, and a thousand
runs need one file descriptor. These locks belong to the process and end when it closes *any* descriptor of the file;
therefore all journals of a process share one descriptor, and a set records the runs that the process drives.

Named locks, such as those of steps that must not run at once, are on bytes far behind all slots.

The counts of events are written after the events. A run with fewer events than its count has lost some: SQLite silently
ignores the end of a log that was damaged or deleted.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import socket
import sqlite3
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Final

from executor.errors import DamagedError, DrivenError, JournalError

BUSY: Final = 10.0
"""Time to wait for another process that is writing, in seconds."""
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
"""Problem and hint by SQLite's primary result codes."""
_DAMAGE: Final = {
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", RESTORE),
    sqlite3.SQLITE_ERROR: ("the file is damaged: our statements do not fit its tables", RESTORE),
    sqlite3.SQLITE_NOTADB: (
        "this is no SQLite database, or its beginning is damaged",
        "name another file, or restore it",
    ),
    None: ("the file is damaged: there is something else where text should be", RESTORE),
}


def convert_sqlite_error(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> JournalError:
    """Convert an error of `sqlite3` about the journal in `path`."""
    code = getattr(error, "sqlite_errorcode", None)
    code = None if code is None else code & 0xFF  # the rest are details, which the name tells
    name = getattr(error, "sqlite_errorname", "")
    if code in _DAMAGE:
        found, hint = _DAMAGE[code]
        return DamagedError(path, f"{found} ({error})", hint)
    found, hint = FOUND.get(code or 0, ("SQLite gave up", RESTORE))
    return JournalError(path, f"{found} ({name}: {error})", hint)


def convert_system_error(path: Path, error: OSError) -> JournalError:
    """Convert an error of the operating system about the file `path`."""
    hint = _ROOM if error.errno in (errno.ENOSPC, errno.EDQUOT) else FOUND[sqlite3.SQLITE_CANTOPEN][1]
    return JournalError(path, f"it cannot be used ({error.strerror})", hint)


def convert_encoding_error(place: Path | str, error: UnicodeEncodeError) -> JournalError:
    """Convert the error of a text with half a surrogate pair, which cannot be encoded."""
    piece = ascii(error.object[max(error.start - 20, 0) : error.end])
    return JournalError(
        place, f"a text to be kept has half a character near {piece}", "nothing was appended; repair it"
    )


_SLOT: Final = struct.Struct("<QQd40s")
"""Slot of a run: number of events, and the process that drives it, with start time and host."""
_COUNT: Final = struct.Struct("<Q")
_TAKEN: Final = (errno.EACCES, errno.EAGAIN)
"""Error numbers for a lock that another process holds."""
_IS_LINUX: Final = sys.platform == "linux"
_FLOCK: Final = struct.Struct("hhqqi4x" if _IS_LINUX else "qqihh")
"""`struct flock`: type, whence, start, length, process; on macOS and the BSDs, the first two come last."""
_NAMED: Final = 1 << 62
"""First byte of named locks; locks on runs are at the number of the run."""
_shared: Final[dict[tuple[int, int] | None, LockFile]] = {}
_guard: Final = threading.Lock()


class LockFile:
    """The open lock file; `users` counts the journals of this process that share it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.users = 0
        self.process = os.getpid()
        self._descriptor = descriptor
        self._driven: set[int] = set()
        self._held: set[str] = set()
        self.key = identify_file(descriptor)

    def find_last_number(self) -> int:
        """Return the highest number with a slot, 0 without any."""
        return max(os.fstat(self._descriptor).st_size // _SLOT.size - 1, 0)

    def read_count(self, number: int) -> int:
        """Return the recorded count of `number`; 0 without a record."""
        found = os.pread(self._descriptor, _COUNT.size, number * _SLOT.size)
        return int(_COUNT.unpack(found)[0]) if len(found) == _COUNT.size else 0

    def read_counts(self, first: int, many: int) -> list[int]:
        """Return the recorded counts of `many` numbers from `first` on."""
        found = os.pread(self._descriptor, many * _SLOT.size, first * _SLOT.size)
        return [count for count, *_ in _SLOT.iter_unpack(found.ljust(many * _SLOT.size, b"\0"))]

    def set_count(self, number: int, count: int) -> None:
        """Record a count; a failure to write is ignored, as the count is additional evidence only."""
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, _COUNT.pack(count), number * _SLOT.size)

    def add_slot(self, number: int) -> None:
        """Add the slot of run `number`; write only its last byte, as another process may drive the run."""
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, b"\0", (number + 1) * _SLOT.size - 1)

    def take(self, number: int, run: str) -> None:
        """Begin to drive a run; raises `DrivenError` if it is driven already, `JournalError` without locks."""
        with _guard:
            if number in self._driven:
                raise DrivenError(self.path, f"this process drives run {run!r} already", "wait until it is over")
            self._lock(number, run)
            self._driven.add(number)
        who = _SLOT.pack(self.read_count(number), os.getpid(), time.time(), socket.gethostname().encode()[:39])
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, who, number * _SLOT.size)

    def is_free(self, number: int) -> bool:
        """Return whether no process drives the run `number`, without taking its lock for a moment."""
        with _guard:
            return number not in self._driven and not _is_locked(self._descriptor, number)

    def release(self, number: int) -> None:
        """Stop driving the run `number`."""
        with _guard:
            self._driven.remove(number)
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, number)

    def hold(self, name: str) -> bool:
        """Try to take the lock `name` for this process; return whether this process has it.

        Raises `JournalError` if the file cannot be locked. Two names share a lock with a probability of 10^-17.
        """
        with _guard:
            if name in self._held:
                return True
            self._check_file()
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _lock_byte_of(name))
            except OSError as error:
                if error.errno in _TAKEN:
                    return False
                raise self._make_lock_error(error) from error
            self._held.add(name)
            return True

    def let_go(self, name: str) -> None:
        """Release the lock `name`, if this process has it."""
        with _guard:
            if name in self._held:
                self._held.remove(name)
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _lock_byte_of(name))

    def _check_file(self) -> None:
        if identify_file(self.path) != self.key:
            hint = "end all processes that use the journal, then open it again: they do not see each other's locks"
            raise JournalError(self.path, "the file was deleted or replaced while it was open", hint)

    def _make_lock_error(self, error: OSError) -> JournalError:
        return JournalError(self.path, f"it cannot be locked ({error})", "keep it on a local disk")

    def _lock(self, number: int, run: str) -> None:
        self._check_file()
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise self._make_lock_error(error) from error
            hint = "wait until it is over, or end that process: the run is free as soon as it is gone"
            raise DrivenError(self.path, f"run {run!r} is driven by {self._describe_driver(number)}", hint) from None

    def _describe_driver(self, number: int) -> str:
        found = os.pread(self._descriptor, _SLOT.size, number * _SLOT.size)
        _, process, since, host = _SLOT.unpack(found.ljust(_SLOT.size, b"\0"))
        if not process:
            return "another process"
        began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(since))
        return f"process {process} on {host.rstrip(bytes(1)).decode(errors='replace')} since {began}"

    def leave(self) -> None:
        """Close the file for one of its users; the last one closes the descriptor."""
        with _guard:
            self.users -= 1
            if not self.users:
                del _shared[self.key]
                self._held.clear()  # a handler that is still at work releases its lock later
                os.close(self._descriptor)


def _is_locked(descriptor: int, byte: int) -> bool:
    """Return whether another process has locked `byte`."""
    kind, place = (fcntl.F_WRLCK, os.SEEK_SET), (byte, 1, 0)
    asked = _FLOCK.pack(*kind, *place) if _IS_LINUX else _FLOCK.pack(*place, *kind)
    found = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    return bool(found[0 if _IS_LINUX else 3] != fcntl.F_UNLCK)


def _lock_byte_of(name: str) -> int:
    """Return the byte of the lock `name`."""
    return _NAMED + int.from_bytes(hashlib.blake2b(name.encode(errors="replace"), digest_size=7).digest())


def identify_file(file: Path | int) -> tuple[int, int] | None:
    """Return device and inode of a file (a path, or a descriptor); None if there is none; raises `OSError`."""
    try:
        found = file.stat() if isinstance(file, Path) else os.fstat(file)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def open_lock_file(path: Path, mode: int) -> LockFile:
    """Open the lock file `path`, or share the open one; callers `leave` it at the end.

    It is created with `mode` if there is none.

    Raises `JournalError`, also in a process that was forked while the file was open: SQLite would take the locks of the
    parent for its own.
    """
    with _guard:
        try:
            # A second descriptor must not even be opened to look: closing it would drop the locks of the first.
            shared = _shared.get(identify_file(path)) or LockFile(path, os.open(path, os.O_RDWR | os.O_CREAT, mode))
        except OSError as error:
            raise convert_system_error(path, error) from error
        if shared.process != os.getpid():
            found = f"process {shared.process} had the journal open when it forked this one"
            raise JournalError(path, found, "fork first, or start processes with 'spawn' or 'forkserver'")
        _shared[shared.key] = shared
        shared.users += 1
        return shared
