"""The errors of carrying out plans, all of them below `planner.errors.ForethoughtError`.

ForethoughtError
├── JournalError         a journal cannot be opened, read or written; has `place`, `found` and `hint`
│   ├── DamagedError     ... because kept data are missing or changed
│   │   └── ReplacedError   ... because its file was deleted, moved or replaced
│   ├── DrivenError      ... because another process, or another part of this one, drives the run
│   │   ├── FencedError  ... because another process has taken over a run that was driven here
│   │   └── MovingError  ... because the run is on its way from one journal to another
│   ├── NoRunError       ... because the run does not exist, or was deleted
│   └── RunExists        ... because there is a run of this name already; a `RunError`, too
└── ModelError           a language model gives no valid answer
    ├── NoAnswer         ... its answers did not pass their checks; has the `objections`
    ├── Unreachable      ... the endpoint does not answer, or refuses
    └── Unpaid           ... the allowance is used up

`RunError`, an `InputError`: a run does not exist or cannot be resumed. `RunExists` is one: a run of this name exists
already, and another goal or other values were asked for, or it was not to be joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.errors import ForethoughtError, InputError


class JournalError(ForethoughtError):
    """A journal cannot be used: `place` is its file or address, `found` the problem, and `hint` says what to do."""

    def __init__(self, place: Path | str, found: str, hint: str) -> None:
        super().__init__(place, found, hint)
        self.place = place
        self.found = found
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.place}: {self.found}; {self.hint}"


class DamagedError(JournalError):
    """Data that the journal kept are missing or changed."""


class ReplacedError(DamagedError):
    """The file of a journal was deleted, moved or replaced while it was open."""


class DrivenError(JournalError):
    """Another process, or another part of this one, drives the run."""


class FencedError(DrivenError):
    """Another process has taken over a run that was driven here: nothing more of it may be done or recorded here."""


class MovingError(DrivenError):
    """The run is on its way from one journal to another: nobody drives it until the move is finished."""


class NoRunError(JournalError):
    """The journal has no such run: it never had one, or the run was deleted."""


class RunError(InputError):
    """A run does not exist, or cannot be resumed here."""


class RunExists(RunError, JournalError):
    """There is a run of this name already, which the request does not join: `found` says why not.

    `place` is that of the journal, "" without one.
    """

    hint: str

    def __init__(self, run: str, why: str = "", *, place: Path | str = "", hint: str = "take another name") -> None:
        found = f"there is already a run {run!r}{f', {why}' if why else ''}"
        ForethoughtError.__init__(self, run, why)
        self.message, self.location = found, None
        self.run, self.place, self.found, self.hint = run, place, found, hint

    def __str__(self) -> str:
        return f"{self.place}: {self.found}; {self.hint}" if self.place else f"{self.found}; {self.hint}"


class ModelError(ForethoughtError):
    """A language model gives no valid answer."""


class NoAnswer(ModelError):
    """No answer of a language model passed the checks; `objections` are those to the last answer."""

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
    """The endpoint of a language model does not answer, or refuses."""


class Unpaid(ModelError):
    """The allowance of a run for language models is used up."""
