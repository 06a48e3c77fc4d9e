"""The better of two estimates: abstractions, which are quick, and LM-cut where these do not put a state off."""

from __future__ import annotations

from planner.heuristics.kind import Check, Heuristic, Kind
from planner.heuristics.lmcut import LM_CUT
from planner.heuristics.scp import SCP
from planner.task import INFINITY, State, Task


def build(task: Task, costs: list[int], check: Check) -> Heuristic:
    """Return the heuristic for `task`."""
    quick, thorough = SCP.build(task, costs, check), LM_CUT.build(task, costs, check)

    def estimate(state: State) -> int:
        value = quick(state)
        return value if value == INFINITY else max(value, thorough(state))

    return estimate


SCP_LM_CUT = Kind(build, admissible=True)
