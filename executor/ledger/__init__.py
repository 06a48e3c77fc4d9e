"""The ledger of effects: what irreversible steps have done, across all runs of a journal or of a world."""
