"""The loop of a run, and the carrying out of its steps."""
