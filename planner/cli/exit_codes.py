"""Turns results, verdicts and errors into exit codes and messages; a mistake of the user never gives a traceback."""

from __future__ import annotations

import errno
import os
from enum import IntEnum

from planner.cli.output import tell
from planner.errors import EngineError, ForethoughtError, NoPlan, UnsupportedError
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import STOPS, LimitReached
from planner.plan import Result, Status, StoppedBy

if TYPE_CHECKING:
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
        case _:
            return Exit.INTERNAL, (
                f"Internal error: {type(error).__name__}: {error}\n"
                "This is a bug in Forethought and no mistake of yours. Please report it with the command and its"
                " files;\nthe same command with FORETHOUGHT_DEBUG=1 in the environment also prints the traceback."
            )


def _find_interruption(error: BaseException) -> BaseException | None:
    """Return the limit or signal that caused `error`, None where something else did.

    Python wraps an exception that arrives while it creates a class (`__set_name__`), and so do libraries.
    """
    found: BaseException | None = error
    for _ in range(MAX_CAUSES):
        found = found and (found.__cause__ or found.__context__)
        if found is None or isinstance(found, STOPS):
            return found
    return None
