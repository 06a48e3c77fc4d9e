"""Places of journals as arguments of commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import InputError

if TYPE_CHECKING:
    from executor.journal import AnyJournal, Place


def journal_place(text: str | Place) -> Place:
    """Read the place of a journal; raises `InputError` for a wrong address."""
    from executor.journal.places import read_place

    return read_place(text)


def open_existing(place: Place) -> AnyJournal:
    """Open the journal in a file that exists, or in a database; raises `InputError` where there is no file."""
    from executor.journal import open_journal

    if isinstance(place, Path) and not place.is_file():
        raise InputError(f"there is no journal {place}", hint="forethought run … --journal FILE makes one")
    return open_journal(place)
