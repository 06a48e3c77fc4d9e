"""Goals, plans and rooms that are kept beside the runs, each in its latest version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from executor.journal.records import Document, Sort
from executor.tools.clock import Clock


class KeptDocuments(ABC):
    """The goals, plans and rooms of a journal; every version that was saved is kept, and the latest one is read."""

    @property
    @abstractmethod
    def clock(self) -> Clock:
        """The clock that all processes of this journal go by."""

    def save_goal(self, name: str, data: str, *, status: str = "") -> None:
        """Save a version of a goal."""
        self._save("goal", Document(name, self.clock.time(), status, data))

    def save_plan(self, name: str, data: str, *, status: str = "") -> None:
        """Save a version of a plan."""
        self._save("plan", Document(name, self.clock.time(), status, data))

    def save_room(self, name: str, data: str) -> None:
        """Save a version of a room."""
        self._save("room", Document(name, self.clock.time(), "", data))

    def goals(self) -> Iterator[Document]:
        """Yield the latest version of each goal, in the order of first saving."""
        return self._read_documents("goal")

    def plans(self) -> Iterator[Document]:
        """Yield the latest version of each plan, in the order of first saving."""
        return self._read_documents("plan")

    def rooms(self) -> Iterator[Document]:
        """Yield the latest version of each room, in the order of first saving."""
        return self._read_documents("room")

    @abstractmethod
    def _save(self, sort: Sort, document: Document) -> None:
        """Keep a version of a document."""

    @abstractmethod
    def _read_documents(self, sort: Sort) -> Iterator[Document]:
        """Yield the newest document of each name, ordered by first saving."""
