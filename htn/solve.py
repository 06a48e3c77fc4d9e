"""From a hierarchical problem to an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable

from htn.answer import HtnAnswer
from htn.grounding.ground import ground
from htn.lifted.turns import Descent, Enough, Meanwhile
from htn.model import HtnProblem
from htn.strategy import automatic
from planner.annotations import Final
from planner.answer import unsupported
from planner.budget import Budget, LimitReached, check_limits
from planner.errors import UnsupportedError
from planner.plan import Progress, Result, Status
from planner.records import replace
from planner.search.run import Ending
from planner.strategy import checked_names

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

    A plan has its decomposition, and both were checked; OPTIMAL is the cheapest plan that decomposes the tasks.
    """
    check_limits(time_limit, memory_limit)
    if engine is not None:
        from planner.engines import solve_with  # noqa: PLC0415 - unified-planning is slow to import

        return solve_with(
            problem,
            engine,
            time_limit=time_limit,
            memory_limit=memory_limit,
            on_progress=on_progress,
            cancel=cancel,
        )
    checked_names(mode, search, heuristic)
    for kind, name in (("search", search), ("heuristic", heuristic)):
        if name is not None:
            hint = f"without --{kind}, the searches for hierarchies take turns"
            raise UnsupportedError(f"the {kind} {name!r} for a hierarchical problem", hint)
    refused = unsupported(problem.classical)
    if refused is not None:
        return refused
    answer = HtnAnswer(problem, Budget(time_limit, memory_limit, cancel), on_progress)
    return answer.within_limits(lambda: _reasoned(problem, _solve(problem, answer, mode), answer.budget))


def _reasoned(problem: HtnProblem, result: Result, budget: Budget) -> Result:
    """Return `result` with the reason, if there is no plan and a reason can be found soon."""
    if result.status is not Status.UNSOLVABLE or result.reason or result.statistics.ground_seconds > REASON_SECONDS:
        return result
    from htn.explain import why_not  # noqa: PLC0415 - loaded only where there is no plan

    left = REASON_SECONDS if budget.remaining is None else min(REASON_SECONDS, max(budget.remaining, 0.0))
    try:
        return replace(result, reason=why_not(problem, Budget(left, budget.memory_limit, budget.cancel)).summary)
    except (LimitReached, MemoryError):
        return result


def _solve(problem: HtnProblem, answer: HtnAnswer, mode: str) -> Result:
    descent = None if mode == "optimal" else Descent(problem, answer)
    meanwhile = Meanwhile(answer.budget, descent, enough=mode == "first")
    try:
        found = ground(problem, meanwhile)
        answer.hierarchy(found)
        if found.unreachable_goal is not None:
            return answer.unreachable()
        if found.root is None:
            return answer.ended(Ending.EXHAUSTED)
        return answer.of(automatic(found, mode, answer, meanwhile), mode)
    except Enough:
        return answer.ended(Ending.FIRST_PLAN)
