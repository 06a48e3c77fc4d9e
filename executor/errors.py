"""The errors of carrying out plans, all of them below `planner.errors.ForethoughtError`.

ForethoughtError
├── JournalError         a journal cannot be opened, read or written; carries `path`, `found` and `hint`
│   ├── DamagedError     ... because something that was kept is missing or changed
│   ├── DrivenError      ... because somebody else drives the run
│   └── NoRunError       ... because there is no such run, or none any more
└── ModelError           a language model has no answer that counts
    ├── NoAnswer         ... its answers did not pass their checks; carries the `objections`
    ├── Unreachable      ... nobody answers, or the endpoint refuses
    └── Unpaid           ... what it may take is spent

`RunError`, an `InputError`, is a run that does not exist or cannot be taken up.
"""

from __future__ import annotations

from collections.abc import Sequence
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


class NoRunError(JournalError):
    """The journal has no such run: it never had one, or the run was deleted."""


class RunError(InputError):
    """A run does not exist, or cannot be taken up here."""


class ModelError(ForethoughtError):
    """A language model has no answer that counts."""


class NoAnswer(ModelError):
    """None of the answers of a model passed its checks: `objections` are those to the last one."""

    def __init__(self, what: str, objections: Sequence[str], rounds: int) -> None:
        super().__init__(what, objections, rounds)
        self.what = what
        self.objections = tuple(objections)
        self.rounds = rounds

    def __str__(self) -> str:
        return (
            f"the language model was asked {self.rounds} times for {self.what}, in vain: {'; '.join(self.objections)}"
        )


class Unreachable(ModelError):
    """Nobody answers at the endpoint of a language model, or it refuses."""


class Unpaid(ModelError):
    """What a run may spend on language models is spent."""
