"""The two streams: results go to stdout, messages to people go to stderr."""

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
    """Write a result to stdout: as it is to a file or a pipe, as it may be shown to a terminal."""
    _write(sys.stdout, printable(text) if is_terminal(sys.stdout) else text)


def tell(text: str) -> None:
    """Write a message for people to stderr, as it may be shown."""
    _write(sys.stderr, printable(text))


def _write(stream: TextIO | None, text: str) -> None:
    """Write a line; a reader that has gone away is no error, and the exit code still tells the verdict."""
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # what is still to be flushed goes there
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from None


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether somebody looks at `stream`; a closed one is None."""
    return stream is not None and stream.isatty()


def check_writable(path: Path) -> None:
    """Raise `OSError` where `write_atomically` could not write to `path`: better now than after hours of search."""
    folder = path.parent
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path if _is_special(path) else path.resolve().parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` so that nobody ever sees half of it: the old file is there until the new one is whole.

    Pipes and devices are written straight, and so is a stream of this process (`/dev/stdout`), whatever file it is.
    """
    for stream in (sys.stdout, sys.stderr):
        if _is_file_of(stream, path):
            _write(stream, printable(text) if is_terminal(stream) else text)
            return
    if _is_special(path):
        try:
            with path.open("w", encoding="utf-8") as file:
                file.write(printable(text) if file.isatty() else text)
        except OSError as error:  # one that shows when the rest is written out names no file
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
    """Return whether `path` is no plain file, or an open one under another name, as in /dev/fd."""
    return path.absolute().parts[1:2] in (("dev",), ("proc",)) or (path.exists() and not path.is_file())


def _is_file_of(stream: TextIO | None, path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, no file at all, or nothing there yet
        return stream is not None and path.samefile(f"/dev/fd/{stream.fileno()}")
    return False
