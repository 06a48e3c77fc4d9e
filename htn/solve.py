"""From a hierarchical problem to an answer: the story of `solve`, stage by stage."""

from __future__ import annotations

from htn.compilations.reductions import REDUCTIONS
from htn.compilations.soft_goals import compile_constraints
from htn.incumbent import HtnIncumbent
from htn.model import HtnProblem
from htn.portfolio import search_hierarchy
from htn.problem_kind import resolve
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.options import SolveOptions
from planner.plan import Result, Status
from planner.portfolio.incumbent import weaken_to_intended

REASON_SECONDS: Final = 1.0
"""So long a reason is looked for where it is proved that there is no plan."""


def solve(problem: HtnProblem, options: SolveOptions) -> Result:
    """Return the answer to `problem`, as `planner.solve` does for classical ones.

    A `search` is one of `htn.portfolio.SEARCHES`, a `heuristic` of `HEURISTICS` there (alone: A*).
    A plan has its decomposition, and both were checked; OPTIMAL is the cheapest plan that decomposes the tasks.
    """
    problem = resolve(problem)
    limits = options.limits()
    return _with_reason(problem, answer(problem, options), limits)


def answer(problem: HtnProblem, options: SolveOptions) -> Result:
    """Return what `solve` does for a resolved problem, without a look for the reason where there is no plan.

    The first reduction that applies answers, or else a search for decompositions.
    """
    options.check()
    for reduce in REDUCTIONS:
        found = reduce(problem, options, answer)
        if found is not None:
            return found
    compiled = compile_constraints(problem).problem
    incumbent = HtnIncumbent(problem, options)
    found = incumbent.run_within_limits(lambda: search_hierarchy(compiled, incumbent, options))
    return weaken_to_intended(problem.classical.domain, found)


def _with_reason(problem: HtnProblem, result: Result, limits: Limits) -> Result:
    """Return `result` with the reason, if there is no plan and a reason can be found soon."""
    if result.status is not Status.UNSOLVABLE or result.statistics.ground_seconds > REASON_SECONDS:
        return result
    from htn.explain.unsolvable import why_not
    from planner.explain.conflicts import naming

    within = limits.part(REASON_SECONDS)
    result = naming(problem, result, within, answer)
    if result.reason:
        return result
    try:
        return replace(result, reason=why_not(problem, within).summary)
    except (LimitReached, MemoryError):
        return result
