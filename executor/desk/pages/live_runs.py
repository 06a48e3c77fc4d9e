"""The runs of a journal for pages that follow them: what is new in each, and which runs there are."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from executor.desk.pages import document as doc
from executor.desk.pages.html import without_repetitions
from executor.desk.pages.run_page import TONES, RunStory
from executor.errors import NoRunError
from executor.events.events import RunStatus, event_from_data
from executor.journal import AnyJournal, Entry, RunRecord
from executor.journal.posted_answers import PostedAnswer
from executor.report.progress import status_text
from executor.tools.json_data import load_json

MOST_FEEDS: Final = 64
"""Most runs whose events are kept in memory; of more, the one that was looked at least lately is forgotten."""
MOST_LISTED: Final = 200
"""Most runs in the list of runs: the latest ones."""
LIST_SECONDS: Final = 1.0
"""Shortest time between two looks at which runs there are, in seconds."""
LIST_SHARE: Final = 20
"""The time between two such looks is at least so many times as long as a look."""
BUILD_SHARE: Final = 4
"""The time between two pages of a run is at least so many times as long as it took to make one."""


class Feed:
    """The page of one run, as new as its journal; threads may share it."""

    def __init__(self, journal: AnyJournal, run: str) -> None:
        self.run = run
        self.version = 0
        """Grows whenever the page has changed."""
        self.pause = 0.0
        """Shortest time between two pages, in seconds: long runs take a while to be laid out."""
        self._journal = journal
        self._entries: Iterator[Entry | None] = journal.follow(run)
        self._story = RunStory()
        self._beside: tuple[list[PostedAnswer], bool] = ([], False)
        """The posted answers, and whether a process drives the run."""
        self._lock = threading.Lock()
        self._made: tuple[int, doc.Page] | None = None

    def refresh(self) -> int:
        """Take what is new, and return the version of the page; raises `JournalError`, also for an unknown run."""
        with self._lock:
            count = len(self._story.items)
            while (entry := next(self._entries, None)) is not None:
                self._story.take_entry(entry)
            beside = (self._journal.posted.read(self.run), self._journal.is_driven(self.run))
            if (len(self._story.items), beside) != (count, self._beside) or not self.version:
                self._beside = beside
                self.version += 1
            return self.version

    def page(self) -> doc.Page:
        """Return the page as of the last `refresh`."""
        with self._lock:
            if self._made is None or self._made[0] != self.version:
                started = time.monotonic()
                posted, driven = self._beside
                page = without_repetitions(self._story.page(self.run, posted, driven=driven))
                self._made = self.version, page
                self.pause = BUILD_SHARE * (time.monotonic() - started)
            return self._made[1]


def page_after(page: doc.Page, count: int) -> tuple[int, doc.Page]:
    """Return `page` without its first `count` events, and how many are left out; none if it never had so many."""
    assert page.run is not None, "the page of a run"
    left_out = count if count <= len(page.run.events) else 0
    return left_out, replace(page, run=replace(page.run, events=page.run.events[left_out:]))


def empty_page(title: str, note: str) -> doc.Page:
    """Return the page of a journal without runs."""
    return doc.Page("run", title, notes=(note,), run=doc.Run(0.0, ()))


@dataclass(frozen=True, slots=True)
class Listed:
    """A run in the list of runs: `updated` is the time of its latest event, in seconds since 1970."""

    run: str
    name: str
    status: str
    tone: doc.Tone
    updated: float
    events: int
    is_over: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the run as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


class Runs:
    """All runs of a journal."""

    def __init__(self, journal: AnyJournal) -> None:
        self.journal = journal
        self._feeds: dict[str, Feed] = {}
        self._listed: tuple[Listed, ...] = ()
        self._names: dict[tuple[str, float], str] = {}
        """The names of plans, by run and the time of its creation."""
        self._due = 0.0
        self._lock = threading.Lock()

    def feed(self, run: str) -> Feed:
        """Return the feed of `run`, refreshed; raises `JournalError`, a `NoRunError` for an unknown run."""
        with self._lock:
            found = self._feeds.pop(run, None) or Feed(self.journal, run)
            self._feeds[run] = found
            while len(self._feeds) > MOST_FEEDS:
                del self._feeds[next(iter(self._feeds))]
        try:
            found.refresh()
        except BaseException:  # what has broken off once yields nothing more
            with self._lock:
                self._feeds.pop(run, None)
            raise
        return found

    def list(self) -> tuple[Listed, ...]:
        """Return the latest runs, the latest first, as of a moment ago; raises `JournalError`."""
        with self._lock:
            started = time.monotonic()
            if started >= self._due:
                found = sorted(self.journal.runs(), key=lambda each: -each.updated)[:MOST_LISTED]
                self._listed = tuple([self._make(each) for each in found])
                took = time.monotonic() - started
                self._due = started + max(LIST_SECONDS, LIST_SHARE * took)
            return self._listed

    def _make(self, record: RunRecord) -> Listed:
        status = RunStatus[record.status] if record.status else RunStatus.PROPOSED
        return Listed(
            record.run,
            self._name(record),
            status_text(status),
            TONES.get(status, "plain"),
            record.updated,
            record.events,
            status.is_over,
        )

    def _name(self, record: RunRecord) -> str:
        """Return the name of the plan of a run, "" before it has one; it is read once."""
        key = record.run, record.created
        if key not in self._names and record.events:
            try:
                first = next(self.journal.read(record.run))
            except NoRunError:
                return ""
            plan = getattr(event_from_data(first.kind, load_json(first.data)), "plan", {})
            self._names[key] = str(plan.get("name", ""))
        return self._names.get(key, "")
