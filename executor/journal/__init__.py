"""Keep what happened in runs in a file: events are appended, and nothing is changed.

The journal keeps text and does not know the kinds of events. `journal.py` is its interface, `store.py` the database,
and `locks.py` says who drives which run and how many events each has.
"""

from executor.journal.journal import Document, Durability, Entry, Journal, RunRecord

__all__ = ["Document", "Durability", "Entry", "Journal", "RunRecord"]
