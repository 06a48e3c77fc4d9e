"""The two streams: results go to stdout, messages to people go to stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO


def give(text: str) -> None:
    """Write a result to stdout."""
    _write(sys.stdout, text)


def tell(text: str) -> None:
    """Write a message for people to stderr."""
    _write(sys.stderr, text)


def _write(stream: TextIO | None, text: str) -> None:
    """Write a line; a reader that has gone away is no error, and the exit code still tells the verdict."""
    if stream is None:
        return
    try:
        encoding = getattr(stream, "encoding", None) or "utf-8"
        stream.write((text.rstrip("\n") + "\n").encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether somebody looks at `stream`; a closed one is None."""
    return stream is not None and stream.isatty()


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` so that nobody ever sees half of it: the old file is there until the new one is whole."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
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
