"""What both kinds of journals do alike: driving runs, appending to them, and following the chain of their checksums."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar, Self

from executor.errors import DamagedError, JournalError
from executor.journal.documents import KeptDocuments
from executor.journal.records import Entry, NewEvent, Row, RunHead


class DrivenRuns(KeptDocuments):
    """The runs that this process drives, by name, at their last events; `restoring` says how damage is mended."""

    restoring: ClassVar[str]
    _driven: dict[str, RunHead]

    @property
    @abstractmethod
    def place(self) -> Path | str:
        """The file of the journal, or the address of its database without a password."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Stop driving runs, and close the journal; do nothing in a forked process."""

    def token(self, run: str) -> int:
        """Return the fencing token of `run`, which is driven here: it grows each time that somebody takes it up."""
        return self._find_driven(run).token

    def append(self, run: str, kind: str, data: str, *, status: str | None = None, at: float | None = None) -> int:
        """Append an event to a run that is driven here; return its number. A `status` is the new status of the run.

        `at` is its time in seconds since 1970; None: now. Raises `FencedError` if another process has taken it over.
        """
        return self.extend(run, ((kind, data, status),), at)

    @abstractmethod
    def extend(self, run: str, events: Iterable[NewEvent], at: float | None = None) -> int:
        """Append events (kind, data, status), all or none; return the number of the last one. Raises as `append`."""

    def _find_driven(self, run: str) -> RunHead:
        driven = self._driven.get(run)
        if driven is None:
            raise JournalError(self.place, f"nobody drives run {run!r} here", "append within `with drive(run)`")
        return driven

    def _follow_rows(self, at: RunHead, rows: Iterable[Row]) -> Iterator[Entry]:
        """Advance `at` through `rows`, and yield the event in each; raises `DamagedError`."""
        for row in rows:
            if not at.follow(row):
                raise self._make_damage_error(at)
            yield Entry(*row[1:6])

    def _make_damage_error(self, at: RunHead) -> DamagedError:
        return DamagedError(self.place, f"event {at.seq} of run {at.name!r} is missing or changed", self.restoring)
