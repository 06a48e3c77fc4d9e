"""The events of a run, the state that they lead to, and the records that are kept."""
