"""Whether classical tasks have become slower: this checkout beside the command of another version.

`python -m benchmarks.other_version COMMAND FOLDER --cache CACHE` draws tasks from the suite in FOLDER whose first plan
takes this checkout some time, and lets both commands find the first plan of each in turn, on one processor. It prints
processor times and ratios, the other version's divided by this checkout's. CACHE has the machine code of both
(`forethought warm` of each), or both would make it meanwhile.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.fresh_install import Install, compare, draw_tasks


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=Path, help="the command `forethought` of the other version")
    parser.add_argument("folder", type=Path, help="the folder of a suite")
    parser.add_argument("--tasks", type=int, default=20, help="so many tasks")
    parser.add_argument("--runs", type=int, default=3, help="runs of each task with each version")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of tasks")
    parser.add_argument("--cache", type=Path, required=True, help="the folder of the machine code of both versions")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    other = Install(given.command.absolute(), given.cache)
    checkout = Install(Path(sys.prefix) / "bin" / "forethought", given.cache)
    compare(other, checkout, draw_tasks(given.folder, given.seed), given.tasks, given.runs, name="other")


if __name__ == "__main__":
    main()
