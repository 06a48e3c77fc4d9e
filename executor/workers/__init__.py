"""Workers: processes that take up the runs of a journal, and say how they are."""
