"""The `forethought` command: messages to people on stderr, results on stdout, exit codes as in `Exit`."""

from planner.cli.outcome import Exit
from planner.cli.root import main

__all__ = ["Exit", "main"]
