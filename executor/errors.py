"""The errors of carrying out plans, all of them below `planner.errors.ForethoughtError`.

ForethoughtError
└── JournalError         a journal cannot be opened, read or written; carries `path`, `found` and `hint`
    ├── DamagedError     ... because something that was kept is missing or changed
    └── DrivenError      ... because somebody else drives the run

`RunError`, an `InputError`, is a run that does not exist or cannot be taken up.
"""

from __future__ import annotations

from pathlib import Path

from planner.errors import ForethoughtError, InputError


class JournalError(ForethoughtError):
    """A journal cannot be used: `path` is its file, `found` what was found, and `hint` says what to do."""

    def __init__(self, path: Path, found: str, hint: str) -> None:
        super().__init__(path, found, hint)
        self.path = path
        self.found = found
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.path}: {self.found}; {self.hint}"


class DamagedError(JournalError):
    """Something that the journal kept is missing or changed."""


class DrivenError(JournalError):
    """Another process, or another part of this one, drives the run."""


class RunError(InputError):
    """A run does not exist, or cannot be taken up here."""
