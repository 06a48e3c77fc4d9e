"""The two streams: results go to stdout, messages to people go to stderr."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def give(text: str) -> None:
    """Write a result to stdout; a reader that has gone away is no error, and the exit code still tells the verdict."""
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Write a message for people to stderr."""
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is the one place that does
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


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
