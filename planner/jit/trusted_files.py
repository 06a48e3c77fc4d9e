"""Opens files of machine code only through folders that nobody but the user and the system can change."""

from __future__ import annotations

import os
import stat
from binascii import crc32
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from planner.errors import ForethoughtError

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
SYSTEM_GROUPS: Final = 1000
"""The number from which on groups are those of users, on Linux."""


class Untrusted(ForethoughtError):
    """Somebody else could change a file or a folder."""


@contextmanager
def open_folder(path: Path, *, to_make: bool = False) -> Iterator[int]:
    """Open the folder at `path`, from the root through folders that are checked one by one, and yield its descriptor.

    A folder on the way in which everybody may make files, such as `/tmp`, must be sticky: there, nobody can replace
    what belongs to somebody else. The last may be such a folder only `to_make` one in it. Raises `Untrusted` for a
    folder that others own or may write to, and `OSError`.
    """
    real = Path(os.path.realpath(path))
    found = os.open(real.anchor, _FOLDER)
    try:
        _check(found, Path(real.anchor), may_be_sticky=True)
        for at, name in enumerate(real.parts[1:], start=1):
            inner = os.open(name, _FOLDER, dir_fd=found)
            os.close(found)
            found = inner
            here = Path(*real.parts[: at + 1])
            _check(found, here, may_be_sticky=to_make or here != real)
        yield found
    finally:
        os.close(found)


@contextmanager
def open_file(folder: int, name: str) -> Iterator[int]:
    """Open a plain file in an open folder and yield its descriptor; raises `Untrusted` and `OSError`."""
    found = os.open(name, _FILE, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(found).st_mode):
            raise Untrusted(f"{name} is not a plain file")
        _check(found, Path(name), may_be_sticky=False)
        yield found
    finally:
        os.close(found)


def read_descriptor(descriptor: int) -> bytes:
    """Return the contents of an open file."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


@contextmanager
def open_code(folder: int, module: str) -> Iterator[tuple[str, int, bytes] | None]:
    """Open the machine code of a module of kernels: yield its file's name, descriptor and content; None if damaged.

    Raises `OSError` where there is none, and `Untrusted`.
    """
    with open_file(folder, f"{module}.sum") as file:
        written = read_descriptor(file)
    name = written.decode("ascii", "replace").partition(" ")[0]
    if name not in {f"{module}.so", f"{module}.o"}:
        yield None
        return
    with open_file(folder, name) as file:
        content = read_descriptor(file)
        yield (name, file, content) if written == make_checksum(name, content) else None


def make_checksum(name: str, content: bytes) -> bytes:
    """Return the line that states the length and the checksum of a file."""
    return f"{name} {len(content)} {crc32(content):08x}\n".encode()


@cache
def is_own_group(group: int) -> bool:
    """Return whether nobody but the user and the system is in a group: many systems give each user such a group.

    Where their umask is 002, all that the user installs may be written to by it. Not all members of a group can be
    listed where users are kept in a directory service: the group must also have the name of the user, or be the
    system's.
    """
    import grp
    import pwd

    try:
        found = grp.getgrgid(group)
        members = {pwd.getpwnam(name).pw_uid for name in found.gr_mem}
        private = found.gr_name == pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    members |= {user.pw_uid for user in pwd.getpwall() if user.pw_gid == group}
    return (private or group < SYSTEM_GROUPS) and members <= {os.getuid(), 0}


def _has_access_list(descriptor: int) -> bool:
    """Return whether an access list (POSIX ACL) gives rights beyond those that the mode tells."""
    if not hasattr(os, "listxattr"):
        return False
    try:
        return "system.posix_acl_access" in os.listxattr(descriptor)
    except OSError:  # the file system has none
        return False


def _check(descriptor: int, path: Path, *, may_be_sticky: bool) -> None:
    """Raise `Untrusted` where somebody besides the user and the system owns what is open, or may write to it."""
    status = os.fstat(descriptor)
    if status.st_uid not in (os.getuid(), 0):
        raise Untrusted(f"{path} belongs to the user {status.st_uid}: machine code is loaded from folders of your own")
    writers = status.st_mode & _OTHERS
    if writers == stat.S_IWGRP and is_own_group(status.st_gid) and not _has_access_list(descriptor):
        writers = 0
    if writers and not (may_be_sticky and status.st_mode & stat.S_ISVTX):
        raise Untrusted(f"others may write to {path}; chmod go-w {path}, or name another folder with FORETHOUGHT_CACHE")
