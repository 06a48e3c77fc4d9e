"""Counts work between two looks at limits, in lines of Python that run.

Lines of kernels are left out: machine code counts its own work, and gives up control after so much of it.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import htn
import planner
from planner import solve
from planner.limits import LimitReached, Limits
from planner.plan import Result, StoppedBy

MOST_LINES = 150_000
"""Lines between two looks: some 20 ms."""
ALL_LINES = 12_000_000
"""Lines after which the limit is reached."""
FOLDERS = tuple([str(Path(str(each.__file__)).parent) for each in (planner, htn)])


class CountedLooks:
    """Counts lines of code in `planner` and `htn`, in all and by module, between two looks at limits."""

    def __init__(self, most: int = ALL_LINES) -> None:
        self.most = most
        self.lines: Counter[str] = Counter()
        self.total = 0
        self.worst = 0
        self.where: Counter[str] = Counter()
        self.by_module: Counter[str] = Counter()
        self.looks = 0

    def check(self) -> None:
        """Note a look; raise `LimitReached` once all lines are used up."""
        self.looks += 1
        passed = self.lines.total()
        self.total += passed
        if passed > self.worst:
            self.worst, self.where = passed, self.lines.copy()
        for name, lines in self.lines.items():
            self.by_module[name] = max(self.by_module[name], lines)
        self.lines.clear()
        if self.total > self.most:
            raise LimitReached(StoppedBy.CANCELLED)

    def trace(self, frame: Any, *_: Any) -> Any:
        """Trace the lines of a function of the planner."""
        path = frame.f_code.co_filename
        folder = next((each for each in FOLDERS if path.startswith(f"{each}/")), "")
        if not folder or path.endswith(("_kernel.py", "planner/limits.py")):
            return None
        name, lines = path[len(folder) + 1 : -3], self.lines

        def count(*_: Any) -> Any:
            lines[name] += 1
            return count

        return count


def solve_counted(problem: Any, most: int = ALL_LINES) -> tuple[CountedLooks, Result]:
    """Solve `problem` until `most` lines have run, while looks are counted."""
    counted, check = CountedLooks(most), Limits.check
    Limits.check = lambda _: counted.check()  # type: ignore[method-assign]
    sys.settrace(counted.trace)
    try:
        result = solve(problem, time_limit=None)
    finally:
        sys.settrace(None)
        Limits.check = check  # type: ignore[method-assign]
    return counted, result
