"""Keep the events of runs, append-only, in a file or in a database.

A journal keeps text and does not interpret events. `interface.py` is what all journals offer, and `driven_runs.py` and
`documents.py` are what both kinds do alike. `journal.py` keeps them in a file: `store.py` is its database, and
`locks.py` its lock file, which records the driver and the number of events of each run. `reservations.py` keeps what
steps at work have reserved of numbers that runs share, `posted_answers.py` what people have answered and no driver
has taken yet, and `moves.py` which runs are on their way to another journal.
"""

from executor.journal.interface import AnyJournal, EffectHistory, RunHistory, is_journal
from executor.journal.journal import Journal
from executor.journal.places import DatabaseAddress, Place, open_journal, read_place
from executor.journal.records import Document, Durability, Entry, RunRecord

__all__ = [
    "AnyJournal",
    "DatabaseAddress",
    "Document",
    "Durability",
    "EffectHistory",
    "Entry",
    "Journal",
    "Place",
    "RunHistory",
    "RunRecord",
    "is_journal",
    "open_journal",
    "read_place",
]
