"""Places of journals, and ages of runs, as arguments of commands."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Final

from planner.errors import InputError

if TYPE_CHECKING:
    from executor.journal import AnyJournal, EffectHistory, Place
    from executor.temporal.connection import TemporalAddress


UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
"""Seconds in each unit of time."""


def journal_place(text: str | Place) -> Place:
    """Read the place of a journal; raises `InputError` for a wrong address."""
    from executor.journal.places import read_place

    return read_place(text)


def history_place(text: str | Place | TemporalAddress) -> Place | TemporalAddress:
    """Read the place of a journal, or of runs on Temporal; raises `InputError` for a wrong address."""
    if isinstance(text, str) and text.startswith("temporal://"):
        address: TemporalAddress = _import_temporal().TemporalAddress.parse(text)
        return address
    return journal_place(text) if isinstance(text, str) else text


def open_history(place: Place | TemporalAddress, *, writes: bool = False) -> AbstractContextManager[EffectHistory]:
    """Open what keeps runs so that they can be read; raises `InputError` where there is no file.

    Of a file in a folder that cannot be written, a copy is opened, unless somebody `writes`.
    """
    from executor.journal import DatabaseAddress

    if isinstance(place, Path) and not writes and place.is_file() and not os.access(place.parent, os.W_OK):
        return _open_copy(place)
    if isinstance(place, Path | DatabaseAddress):
        return open_existing(place)
    from executor.temporal.temporal_journal import TemporalJournal

    return TemporalJournal(place.address, **place.options)


def _import_temporal() -> ModuleType:
    """Return the module of addresses; raises `InputError` where the SDK of Temporal is not installed."""
    try:
        return import_module("executor.temporal.connection")
    except ModuleNotFoundError:
        hint = "pip install 'forethought[temporal]'"
        raise InputError("the SDK of Temporal is not installed", hint=hint) from None


@contextmanager
def _open_copy(place: Path) -> Iterator[AnyJournal]:
    """Open a copy of the journal in a file: SQLite has to write beside one that it reads."""
    with TemporaryDirectory() as folder:
        for end in ("", "-wal", "-lock"):
            source = Path(f"{place}{end}")
            if source.is_file():
                shutil.copyfile(source, Path(folder, f"{place.name}{end}"))
        with open_existing(Path(folder, place.name)) as journal:
            yield journal


def open_existing(place: Place) -> AnyJournal:
    """Open the journal in a file or a database; make none, and raise an error where there is none."""
    from executor.journal import open_journal

    return open_journal(place, makes=False)


def read_age(option: str, age: str | None) -> float | None:
    """Read an age such as 30d in seconds; raises `InputError` for any other text."""
    if age is None:
        return None
    number, unit = age[:-1], UNITS.get(age[-1:])
    if unit is None or not number.isdecimal():
        raise InputError(f"{option} takes a number and a unit of time, not {age!r}", hint=f"such as {option} 30d")
    return int(number) * float(unit)
