"""Writes results to stdout and to files, messages for people to stderr, and turns errors into messages and exit codes.

A mistake of the user never gives a traceback.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from enum import IntEnum
from pathlib import Path

from planner.errors import EngineError, ForethoughtError, InputError, Location, NoPlan, UnsupportedError, printable
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import STOPS, LimitReached
from planner.plan import Result, Status, StoppedBy

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from planner.validation.verdict import Verdict


class Exit(IntEnum):
    """The exit codes of the command."""

    OK = 0
    """A plan was found or is valid, or nothing is wrong."""
    INTERNAL = 1
    """A bug in Forethought."""
    USAGE = 2
    """Bad input or usage."""
    NEGATIVE = 10
    """A negative verdict: proved unsolvable, an invalid plan, findings."""
    NO_VERDICT = 11
    """A limit was reached without a plan."""
    UNSUPPORTED = 12
    """The input is correct, but uses a construct that is not supported."""
    INTERRUPTED = 130
    """Interrupted from the keyboard, or asked to terminate."""


OWN_PACKAGES: Final = ("planner", "htn", "executor", "domains", "benchmarks")
"""The packages of Forethought: a module that is missing there is a bug, elsewhere an incomplete environment."""
ANY_MAY_WRITE: Final = 0o222
"""The permissions to write in the mode of a file: root may write without, but an author has said no."""
MAX_CAUSES: Final = 20
"""Number of causes that are followed back from an exception."""


def exit_of(result: Result) -> Exit:
    """Return the exit code for `result`."""
    if result.stopped_by is StoppedBy.CANCELLED:
        return Exit.INTERRUPTED
    match result.status:
        case Status.OPTIMAL | Status.SOLVED:
            return Exit.OK
        case Status.UNSOLVABLE:
            return Exit.NEGATIVE
        case Status.UNKNOWN:
            return Exit.NO_VERDICT
        case Status.UNSUPPORTED:
            return Exit.UNSUPPORTED


def exit_of_verdict(verdict: Verdict) -> Exit:
    """Return the exit code for `verdict`."""
    if verdict.stopped_by is StoppedBy.CANCELLED:
        return Exit.INTERRUPTED
    if verdict.stopped_by is not None:
        return Exit.NO_VERDICT
    return Exit.OK if verdict.valid else Exit.NEGATIVE


def tell_error(error: BaseException) -> Exit:
    """Print the message for `error` on stderr, and return its exit code."""
    code, message = judge(error)
    tell(message)
    if os.environ.get("FORETHOUGHT_DEBUG"):
        import traceback

        tell("".join(traceback.format_exception(error)))
    return code


def judge(error: BaseException) -> tuple[Exit, str]:
    """Return the exit code and the message for `error`."""
    match error:
        case KeyboardInterrupt():
            return Exit.INTERRUPTED, "interrupted"
        case MemoryError() | OSError(errno=errno.ENOMEM):
            return Exit.NO_VERDICT, "no verdict: stopped by the memory limit (--memory-limit)"
        case LimitReached(stopped_by=StoppedBy.CANCELLED):
            return Exit.INTERRUPTED, "interrupted"
        case LimitReached(stopped_by=stopped_by):
            return Exit.NO_VERDICT, f"no verdict: stopped by {stopped_by.value}"
        case UnsupportedError():
            return Exit.UNSUPPORTED, str(error)
        case NoPlan(result=result):
            return exit_of(result), str(error)
        case EngineError():
            return Exit.NO_VERDICT, f"no verdict: {error}"
        case ForethoughtError():
            return Exit.USAGE, f"Error: {error}"
        case OSError(filename=str(name), strerror=str(reason)):
            return Exit.USAGE, f"Error: {name}: {reason}"
        case UnicodeDecodeError():
            return Exit.USAGE, f"Error: a file that should be UTF-8 text is not: {error}"
        case _ if (stop := _find_interruption(error)) is not None:
            return judge(stop)
        case ModuleNotFoundError(name=str(name)) if name.partition(".")[0] not in OWN_PACKAGES:
            return Exit.USAGE, f"Error: this needs {name}, which is not installed; 'pip install forethought' brings it"
        case _:
            return Exit.INTERNAL, (
                f"Internal error: {type(error).__name__}: {error}\n"
                "This is a bug in Forethought and no mistake of yours. Please report it with the command and its"
                " files;\nthe same command with FORETHOUGHT_DEBUG=1 in the environment also prints the traceback."
            )


def _find_interruption(error: BaseException) -> BaseException | None:
    """Return the limit or signal that caused `error`; None for any other cause.

    Python wraps an exception that arrives while it creates a class (`__set_name__`), and so do libraries.
    """
    found: BaseException | None = error
    for _ in range(MAX_CAUSES):
        found = found and (found.__cause__ or found.__context__)
        if found is None or isinstance(found, STOPS):
            return found
    return None


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
        _write_whole(stream, text.rstrip("\n") + "\n")
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # swallows the rest of the buffer
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from None


def _write_whole(stream: TextIO, text: str) -> None:
    """Write all of `text`: without a buffer (`PYTHONUNBUFFERED`), a signal cuts off what is being written."""
    if isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        with open(stream.fileno(), "w", encoding=stream.encoding, errors=stream.errors, closefd=False) as buffered:
            buffered.write(text)
    else:
        stream.write(text)
        stream.flush()


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


def write_atomically(path: Path, text: str, alike: bytes = b"") -> None:
    """Write `text` to a temporary file and rename it to `path`, so that no reader sees a part of it.

    It has the encoding of the text `alike`, or else UTF-8. Pipes, devices and the streams of this process
    (`/dev/stdout`) are written directly.
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
        if alike:
            from planner.language.pddl.syntax import encode_alike

            temporary.write_bytes(encode_alike(text, alike))
        else:
            temporary.write_text(text, encoding="utf-8")
        if real.exists():
            temporary.chmod(real.stat().st_mode & 0o777)
        temporary.replace(real)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def overwrite_sources(texts: Mapping[Path, str]) -> None:
    """Write the `texts` over files that an author keeps, each as a whole: none where one of them is read-only.

    Each keeps its encoding. A rename asks nobody whether a file may be written: raises `InputError` where no permission
    says so.
    """
    for path in texts:
        if path.is_file() and not (path.stat().st_mode & ANY_MAY_WRITE and os.access(path, os.W_OK)):
            raise InputError("the file is read-only", Location(str(path)), f"to let it change, 'chmod u+w {path}'")
    for path, text in texts.items():
        write_atomically(path, text, path.read_bytes() if path.is_file() else b"")


def number_file(path: Path, number: int) -> Path:
    """Return the file of a plan by its number, named as by Fast Downward: `FILE.1` is the first."""
    return path.with_name(f"{path.name}.{number}")


def is_stream(path: Path) -> bool:
    """Return whether `write_atomically` writes to `path` directly: a pipe, a device or a stream of this process."""
    return _is_special(path) or any(_is_file_of(stream, path) for stream in (sys.stdout, sys.stderr))


def _is_special(path: Path) -> bool:
    """Return whether `path` is no regular file, or names an open one as in /dev/fd."""
    return path.absolute().parts[1:2] in (("dev",), ("proc",)) or (path.exists() and not path.is_file())


def _is_file_of(stream: TextIO | None, path: Path) -> bool:
    """Return whether `path` is the file that `stream` writes to."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, no file at all, or nothing there yet
        return stream is not None and path.samefile(f"/dev/fd/{stream.fileno()}")
    return False
