"""What happened in runs, kept in a file: events are appended, and nothing is ever changed or taken out.

The journal keeps text and knows nothing about kinds of events. `journal.py` is what callers use, `store.py` the
open file, `schema.py` the database in it, `chain.py` how damage shows, `locks.py` who drives which run and how far
each got, `failures.py` what went wrong in words, `documents.py` the goals and plans that are kept beside the runs.
"""

from executor.journal.journal import Document, Durability, Entry, Journal, RunRecord

__all__ = ["Document", "Durability", "Entry", "Journal", "RunRecord"]
