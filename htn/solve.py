"""From a hierarchical problem to an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable

from htn.model import HtnProblem
from htn.portfolio import solve_plainly
from htn.problem_kind import resolve
from planner.lightweight import Any, Final, replace
from planner.limits import Budget, LimitReached
from planner.plan import Progress, Result, Status

REASON_SECONDS: Final = 1.0
"""So long a reason is looked for where it is proved that there is no plan."""


def solve(
    problem: HtnProblem,
    *,
    mode: str = "anytime",
    search: str | None = None,
    heuristic: str | None = None,
    engine: str | None = None,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> Result:
    """Return the answer to `problem`, as `planner.solve` does for classical ones; the options are the same.

    A `search` is one of `htn.portfolio.SEARCHES`, a `heuristic` of `HEURISTICS` there (alone: A*).
    A plan has its decomposition, and both were checked; OPTIMAL is the cheapest plan that decomposes the tasks.
    """
    problem = resolve(problem)
    named: dict[str, Any] = {"mode": mode, "search": search, "heuristic": heuristic, "engine": engine}
    limits: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, "cancel": cancel}
    budget = Budget(time_limit, memory_limit, cancel)
    return _reasoned(problem, solve_plainly(problem, **named, **limits, on_progress=on_progress), budget)


def _reasoned(problem: HtnProblem, result: Result, budget: Budget) -> Result:
    """Return `result` with the reason, if there is no plan and a reason can be found soon."""
    if result.status is not Status.UNSOLVABLE or result.statistics.ground_seconds > REASON_SECONDS:
        return result
    from htn.explain.unsolvable import why_not
    from planner.explain.conflicts import naming

    left = REASON_SECONDS if budget.remaining is None else min(REASON_SECONDS, max(budget.remaining, 0.0))
    within = Budget(left, budget.memory_limit, budget.cancel)
    result = naming(problem, result, within, solve_plainly)
    if result.reason:
        return result
    try:
        return replace(result, reason=why_not(problem, within).summary)
    except (LimitReached, MemoryError):
        return result
