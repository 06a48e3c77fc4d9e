"""Writes results to stdout and to files, and messages for people to stderr."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path

from planner.errors import printable
from planner.lightweight import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO


def give(text: str) -> None:
    """Write a result to stdout; on a terminal, without control characters."""
    _write(sys.stdout, printable(text) if is_terminal(sys.stdout) else text)


def tell(text: str) -> None:
    """Write a message for people to stderr, without control characters."""
    _write(sys.stderr, printable(text))


def _write(stream: TextIO | None, text: str) -> None:
    """Write a line. A reader that has gone away is no error: the exit code still tells the verdict."""
    if stream is None:
        return
    try:
        if not text.isascii():
            encoding = getattr(stream, "encoding", None) or "utf-8"
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        stream.write(text.rstrip("\n"))
        stream.write("\n")
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # swallows the rest of the buffer
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from None


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether `stream` is a terminal; a closed stream is None."""
    return stream is not None and stream.isatty()


def check_writable(path: Path) -> None:
    """Raise `OSError` if `write_atomically` could not write to `path`, to find out before hours of search."""
    folder = path.parent
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path if _is_special(path) else path.resolve().parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to a temporary file and rename it to `path`, so that no reader sees a part of it.

    Pipes, devices and the streams of this process (`/dev/stdout`) are written directly.
    """
    for stream in (sys.stdout, sys.stderr):
        if _is_file_of(stream, path):
            _write(stream, printable(text) if is_terminal(stream) else text)
            return
    if _is_special(path):
        try:
            with path.open("w", encoding="utf-8") as file:
                file.write(printable(text) if file.isatty() else text)
        except OSError as error:  # an error of the last flush names no file
            raise OSError(error.errno, error.strerror, str(path)) from error
        return
    real = path.resolve()
    temporary = real.with_name(f".{real.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        if real.exists():
            temporary.chmod(real.stat().st_mode & 0o777)
        temporary.replace(real)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def _is_special(path: Path) -> bool:
    """Return whether `path` is no regular file, or names an open one as in /dev/fd."""
    return path.absolute().parts[1:2] in (("dev",), ("proc",)) or (path.exists() and not path.is_file())


def _is_file_of(stream: TextIO | None, path: Path) -> bool:
    """Return whether `path` is the file that `stream` writes to."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, no file at all, or nothing there yet
        return stream is not None and path.samefile(f"/dev/fd/{stream.fileno()}")
    return False
