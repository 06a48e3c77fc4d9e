"""Keep the events of runs in an append-only file.

The journal keeps text and does not interpret events. `journal.py` is its interface, `store.py` the database, and
`locks.py` the lock file, which records the driver and the number of events of each run. `reservations.py` keeps what
steps at work have reserved of numbers that runs share.
"""

from executor.journal.journal import Document, Durability, Entry, Journal, RunRecord

__all__ = ["Document", "Durability", "Entry", "Journal", "RunRecord"]
