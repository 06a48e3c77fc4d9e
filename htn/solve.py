"""From a hierarchical problem to an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable

from htn.answer import HtnAnswer
from htn.budgets import within_budgets
from htn.constraints import without_constraints
from htn.grounding.ground import GroundHtn, ground
from htn.lifted.turns import Descent, Enough, Meanwhile
from htn.model import HtnProblem, sealed
from htn.strategy import HEURISTICS, SEARCHES, STOPPING, automatic, chosen
from planner.annotations import Any, Final
from planner.answer import intended, unsupported
from planner.budget import Budget, LimitReached, check_limits
from planner.budgets import unlabelled
from planner.errors import InputError, UnsupportedError
from planner.model.domain import creates_objects
from planner.plan import Progress, Result, Status
from planner.records import replace
from planner.search.run import Ending, Steps
from planner.strategy import MODES, checked_name

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

    A `search` is one of `htn.strategy.SEARCHES`, a `heuristic` of `HEURISTICS` there (alone: A*).
    A plan has its decomposition, and both were checked; OPTIMAL is the cheapest plan that decomposes the tasks.
    """
    problem = problem.resolved()
    named: dict[str, Any] = {"mode": mode, "search": search, "heuristic": heuristic, "engine": engine}
    limits: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, "cancel": cancel}
    budget = Budget(time_limit, memory_limit, cancel)
    return _reasoned(problem, solve_plainly(problem, **named, **limits, on_progress=on_progress), budget)


def solve_plainly(
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
    """Return the answer as `solve` does, but for why there is no decomposition."""
    check_limits(time_limit, memory_limit)
    if creates_objects(problem.classical.domain):
        from htn.rounds import solve_with_creation  # noqa: PLC0415 - few domains need it

        options = {"mode": mode, "search": search, "heuristic": heuristic, "engine": engine, "on_progress": on_progress}
        return solve_with_creation(problem, solve_plainly, Budget(time_limit, memory_limit, cancel), **options)
    if problem.classical.wishes and not problem.classical.unknown:
        from htn.wishes import solve_with_wishes  # noqa: PLC0415 - few problems need it

        named = {"mode": mode, "search": search, "heuristic": heuristic, "engine": engine, "on_progress": on_progress}
        limits = {"time_limit": time_limit, "memory_limit": memory_limit, "cancel": cancel}
        return solve_with_wishes(problem, solve_plainly, **named, **limits)
    if engine is not None:
        from planner.engines import solve_with  # noqa: PLC0415 - unified-planning is slow to import

        return solve_with(
            sealed(problem),
            engine,
            time_limit=time_limit,
            memory_limit=memory_limit,
            on_progress=on_progress,
            cancel=cancel,
        )
    checked_name("mode", mode, MODES)
    checked_name("search for hierarchical problems", search, SEARCHES)
    checked_name("heuristic for hierarchical problems", heuristic, HEURISTICS)
    refused = unsupported(problem.classical, takes=("budgets",))
    if refused is None and search is not None and problem.classical.budgets:
        refused = unlabelled(search, "count what budgets limit")
    if refused is not None:
        return refused
    answer = HtnAnswer(problem, Budget(time_limit, memory_limit, cancel), on_progress)
    free = without_constraints(problem)
    found = answer.within_limits(lambda: _solve(free, answer, mode, search, heuristic))
    return intended(problem.classical.domain, found)


def _reasoned(problem: HtnProblem, result: Result, budget: Budget) -> Result:
    """Return `result` with the reason, if there is no plan and a reason can be found soon."""
    if result.status is not Status.UNSOLVABLE or result.statistics.ground_seconds > REASON_SECONDS:
        return result
    from htn.explain import why_not  # noqa: PLC0415 - loaded only where there is no plan
    from planner.explain.conflicts import naming  # noqa: PLC0415 - as above

    left = REASON_SECONDS if budget.remaining is None else min(REASON_SECONDS, max(budget.remaining, 0.0))
    within = Budget(left, budget.memory_limit, budget.cancel)
    result = naming(problem, result, within, solve_plainly)
    if result.reason:
        return result
    try:
        return replace(result, reason=why_not(problem, within).summary)
    except (LimitReached, MemoryError):
        return result


def _solve(problem: HtnProblem, answer: HtnAnswer, mode: str, search: str | None, heuristic: str | None) -> Result:
    if problem.classical.budgets:
        return _limited(problem, answer, mode, search, heuristic)
    if mode == "optimal" and search in STOPPING:
        answer.caveat = f"{search} search stops at the first plan, which it does not prove optimal as astar does"
    if search == "depth-first":
        return _depth_first(problem, answer, heuristic)
    if search or heuristic:
        found = ground(problem, answer.budget)
        return _searched(found, answer, mode, chosen(found, answer, search or "astar", heuristic or "composition"))
    descent = None if mode == "optimal" else Descent(problem, answer)
    meanwhile = Meanwhile(answer.budget, descent, answer.run, enough=mode == "first")
    try:
        found = ground(problem, meanwhile)
        return _searched(found, answer, mode, automatic(found, mode, answer, meanwhile))
    except Enough:
        return answer.ended(Ending.FIRST_PLAN)


def _limited(problem: HtnProblem, answer: HtnAnswer, mode: str, search: str | None, heuristic: str | None) -> Result:
    """Solve a problem with budgets."""
    asked = search or heuristic or mode == "optimal"
    descent = None if asked else Descent(problem, answer)
    found = ground(problem, Meanwhile(answer.budget, descent, answer.run, enough=False))
    return _searched(
        found, answer, mode, within_budgets(found, problem, answer, mode, search=search, heuristic=heuristic)
    )


def _depth_first(problem: HtnProblem, answer: HtnAnswer, heuristic: str | None) -> Result:
    if heuristic not in (None, "blind"):
        raise InputError(f"depth-first search does not use the heuristic '{heuristic}'", hint="leave it out")
    descent = Descent(problem, answer)
    result = answer.of(descent.steps(), "first")
    if descent.unfit:
        raise UnsupportedError(f"{descent.unfit} in depth-first search", "leave --search out, and others search")
    return result


def _searched(found: GroundHtn, answer: HtnAnswer, mode: str, steps: Steps) -> Result:
    """Return the answer that the `steps` of a search lead to, if there is anything to search for."""
    answer.hierarchy(found)
    if found.unreachable_goal is not None:
        return answer.unreachable()
    return answer.ended(Ending.EXHAUSTED) if found.root is None else answer.of(steps, mode)
