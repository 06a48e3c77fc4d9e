"""Exit codes of the command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the process's exit code means."""

    OK = 0
    """A plan was found; valid; clean."""
    INTERNAL = 1
    """A bug in Forethought."""
    USAGE = 2
    """Bad input or usage."""
    NEGATIVE = 10
    """A verdict, and it is no: proved unsolvable, an invalid plan, findings."""
    NO_VERDICT = 11
    """A limit was reached without a plan."""
    UNSUPPORTED = 12
    """The input is understood, and uses what is not supported."""
    INTERRUPTED = 130
    """Interrupted from the keyboard, or asked to terminate."""
