"""`python -m planner.cli` is `forethought`."""

from planner.cli import main

main()
