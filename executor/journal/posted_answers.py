"""Keep answers that people post to runs, until whoever drives the run takes them.

Only the driver of a run appends events to it. Anybody else posts an answer here: the driver takes it at once, or the
next one when the run is taken up. A row is no event: it is deleted when its answer is taken. An answer that the driver
refuses stays with the objection, until somebody posts another one, so that whoever gave it learns why.
"""

from __future__ import annotations

import time
from typing import Final, NamedTuple, Protocol

from executor.journal.store import Store

_TABLE: Final = """CREATE TABLE IF NOT EXISTS posted_answers(run TEXT NOT NULL, question TEXT NOT NULL,
    shown TEXT NOT NULL, answer TEXT NOT NULL, time REAL NOT NULL, objection TEXT NOT NULL,
    PRIMARY KEY(run, question))"""
_COLUMNS: Final = "question, shown, answer, time, objection"


class PostedAnswer(NamedTuple):
    """An answer to `question`, as JSON; `shown` identifies what was asked, and `objection` says why it is refused."""

    question: str
    shown: str
    answer: str
    time: float
    objection: str = ""


class PostedAnswers(Protocol):
    """The answers that were posted to the runs of a journal, which all its processes share."""

    def post(self, run: str, question: str, shown: str, answer: str) -> None:
        """Keep an answer in place of an earlier one to the same question."""

    def read(self, run: str) -> list[PostedAnswer]:
        """Return the answers posted to `run`, refused ones too, the oldest first."""

    def runs(self) -> set[str]:
        """Return the runs to which answers were posted that nobody has taken or refused."""

    def refuse(self, run: str, posted: PostedAnswer, objection: str) -> None:
        """Keep the objection to an answer, unless another one was posted meanwhile."""

    def remove(self, run: str, posted: PostedAnswer) -> None:
        """Delete an answer that was taken, unless another one was posted meanwhile."""


class PostedAnswersInJournal:
    """The posted answers in the file of a journal."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_ready = False

    def post(self, run: str, question: str, shown: str, answer: str) -> None:
        """Keep an answer in place of an earlier one to the same question."""
        with self._store.use():
            self._store.check_file()
            self._store.connection.execute(_TABLE)
            row = (run, question, shown, answer, time.time(), "")
            self._store.connection.execute("INSERT OR REPLACE INTO posted_answers VALUES (?, ?, ?, ?, ?, ?)", row)

    def read(self, run: str) -> list[PostedAnswer]:
        """Return the answers posted to `run`, refused ones too, the oldest first."""
        with self._store.use():
            if not self._has_table():
                return []
            found = self._store.connection.execute(
                f"SELECT {_COLUMNS} FROM posted_answers WHERE run = ? ORDER BY time",  # noqa: S608 - ours
                (run,),
            )
            return [PostedAnswer(*row) for row in found.fetchall()]

    def runs(self) -> set[str]:
        """Return the runs to which answers were posted that nobody has taken or refused."""
        with self._store.use():
            if not self._has_table():
                return set()
            found = self._store.connection.execute("SELECT DISTINCT run FROM posted_answers WHERE objection = ''")
            return {run for (run,) in found.fetchall()}

    def refuse(self, run: str, posted: PostedAnswer, objection: str) -> None:
        """Keep the objection to an answer, unless another one was posted meanwhile."""
        with self._store.use():
            change = "UPDATE posted_answers SET objection = ? WHERE run = ? AND question = ? AND time = ?"
            self._store.connection.execute(change, (objection, run, posted.question, posted.time))

    def remove(self, run: str, posted: PostedAnswer) -> None:
        """Delete an answer that was taken, unless another one was posted meanwhile."""
        with self._store.use():
            delete = "DELETE FROM posted_answers WHERE run = ? AND question = ? AND time = ?"
            self._store.connection.execute(delete, (run, posted.question, posted.time))

    def forget(self, run: str) -> None:
        """Delete all answers posted to `run`."""
        with self._store.use():
            if self._has_table():
                self._store.connection.execute("DELETE FROM posted_answers WHERE run = ?", (run,))

    def _has_table(self) -> bool:
        if not self._is_ready:
            found = self._store.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'posted_answers'")
            self._is_ready = found.fetchone() is not None
        return self._is_ready
