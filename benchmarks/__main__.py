"""`python -m benchmarks` is `forethought bench`, also where the project is not installed."""

from __future__ import annotations

import sys

from benchmarks.cli import app
from planner.cli.output import tell_error
from planner.errors import ForethoughtError


def main() -> None:
    """Run the command line; a mistake of the user's becomes a message and an exit code."""
    try:
        app(prog_name="forethought bench")
    except (ForethoughtError, KeyboardInterrupt) as error:
        sys.exit(tell_error(error))


main()
