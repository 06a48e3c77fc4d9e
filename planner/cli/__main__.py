"""`python -m planner.cli` is `forethought`."""

from planner.cli.root import main

main()
