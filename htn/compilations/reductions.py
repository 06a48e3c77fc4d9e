"""Hierarchical problems that search does not take as they are; see `planner.compilations.reductions`."""

from __future__ import annotations

from collections.abc import Callable

from htn.model import HtnProblem, sealed
from htn.portfolio import HEURISTICS, SEARCHES
from planner.lightweight import Final
from planner.model.domain import creates_objects
from planner.options import Solve, SolveOptions
from planner.plan import Result
from planner.portfolio.incumbent import refuse_constructs
from planner.portfolio.portfolio import MODES, check_name


def create_objects(problem: HtnProblem, options: SolveOptions, answer: Solve) -> Result | None:
    """Plan with placeholders for the objects that actions create."""
    if not creates_objects(problem.classical.domain):
        return None
    from htn.compilations.object_creation import solve_with_creation

    return solve_with_creation(problem, options, answer)


def grant_wishes(problem: HtnProblem, options: SolveOptions, answer: Solve) -> Result | None:
    """Compile soft goals and soft constraints to tasks that grant or forgo them."""
    if problem.classical.unknown or not problem.classical.wishes:
        return None
    from htn.compilations.soft_goals import solve_with_wishes

    return solve_with_wishes(problem, options, answer)


def ask_engine(problem: HtnProblem, options: SolveOptions, *_: object) -> Result | None:
    """Hand the problem to a foreign planner, if the options name one."""
    if options.engine is None:
        return None
    from planner.unified_planning import solve_with

    return solve_with(sealed(problem), options)


def refuse_unsupported(problem: HtnProblem, options: SolveOptions, *_: object) -> Result | None:
    """Refuse what no search takes; raises `InputError` for unknown names of modes, searches and heuristics."""
    check_name("mode", options.mode, MODES)
    check_name("search for hierarchical problems", options.search, SEARCHES)
    check_name("heuristic for hierarchical problems", options.heuristic, HEURISTICS)
    refused = refuse_constructs(problem.classical, takes=("budgets",))
    if refused is None and options.search is not None and problem.classical.budgets:
        from planner.resources.resource_portfolio import unlabelled

        return unlabelled(options.search, "count what budgets limit")
    return refused


REDUCTIONS: Final[tuple[Callable[[HtnProblem, SolveOptions, Solve], Result | None], ...]] = (
    create_objects,
    grant_wishes,
    ask_engine,
    refuse_unsupported,
)
"""In this order; each returns None for problems that it leaves to the next, and the last leaves the rest to search."""
