"""Reductions: each solves the problems with one construct through problems without it.

A reduction compiles its construct away, calls `answer` for the compiled problem, and maps the plans back. The compiled
problem may need further reductions: wishes in a problem whose actions create objects are compiled away in each round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.lightweight import Any, Final
from planner.model import Problem
from planner.model.constructs import CONSTRAINED, Construct, Service, has
from planner.model.domain import creates_objects
from planner.model.problem import (
    counts_softly,
    find_constraint_on_unknown,
    is_numeric,
    is_temporal,
)
from planner.options import Solve, SolveOptions
from planner.plan import Result, unsupported_result
from planner.portfolio.incumbent import refuse_constructs, refuse_plain, weaken_to_intended
from planner.portfolio.portfolio import check_names


def refuse_counts_of_unknown(problem: Problem, *_: object) -> Result | None:
    """Refuse soft constraints that count how often a condition on unknown facts begins to hold."""
    found = find_constraint_on_unknown(problem, counts_softly)
    reason = f"the soft constraint '{found}', which counts what may be unknown"
    return None if found is None else unsupported_result(reason)


def create_objects(problem: Problem, options: SolveOptions, answer: Solve) -> Result | None:
    """Plan with placeholders for the objects that actions create."""
    if not creates_objects(problem.domain):
        return None
    if is_numeric(problem):
        from planner.compilations.creation_in_time import solve_with_creation_beside_numbers

        return solve_with_creation_beside_numbers(problem, options, answer)
    from planner.compilations.creation_rounds import solve_with_creation

    return solve_with_creation(problem, options, answer)


def separate_deadline(problem: Problem, options: SolveOptions, answer: Solve) -> Result | None:
    """Plan without the deadline, and then sequentially, beside numbers, created objects, and wishes with constraints.

    Problems with unknown facts are left to a later reduction, whose problems come back without.
    """
    if problem.deadline is None or problem.unknown:
        return None
    is_simple = not is_numeric(problem) and not creates_objects(problem.domain)
    if is_simple and not (problem.constraints and problem.wishes):
        return None
    from planner.scheduling.deadlines import solve_sequentially

    return solve_sequentially(problem, options, answer)


def grant_wishes(problem: Problem, options: SolveOptions, answer: Solve) -> Result | None:
    """Compile soft goals and soft constraints to costs; leave problems with unknown facts to the next reduction."""
    if problem.unknown or not problem.wishes:
        return None
    from planner.compilations.soft_goals import solve_with_wishes

    return solve_with_wishes(problem, options, answer)


def ask_engine(problem: Problem, options: SolveOptions, *_: object) -> Result | None:
    """Solve the problem by the foreign planner that the options name; return None if they name none."""
    if options.engine is None:
        return None
    from planner.unified_planning.foreign_engines import solve_with

    return solve_with(problem, options)


def suppose_unknown_facts(problem: Problem, options: SolveOptions, answer: Solve) -> Result | None:
    """Plan on suppositions about unknown facts."""
    if not problem.unknown:
        return None
    from planner.compilations.contingent.assumption_based_planning import solve_with_unknown

    check_names(options)
    return solve_with_unknown(problem, options, answer)


def refuse_unsupported(problem: Problem, options: SolveOptions, *_: object) -> Result | None:
    """Refuse constructs that no search supports. Raises `InputError` for unknown modes, searches and heuristics."""
    search = check_names(options)
    refused = refuse_constructs(problem, Service.SEARCH)
    if refused is None and search is not None and problem.deadline is not None:
        from planner.resources.resource_portfolio import refuse_without_labels

        return refuse_without_labels(search, "look at deadlines")
    return refused


def plan_in_time(problem: Problem, options: SolveOptions, answer: Solve) -> Result | None:
    """Plan in time where the problem asks for it; leave problems with unknown facts to a later reduction."""
    if not is_temporal(problem) or options.engine is not None:
        return None
    from planner.portfolio.temporal_portfolio import refuse_in_time

    refused = refuse_in_time(problem, options)
    if refused is not None or problem.unknown:
        return refused
    return weaken_to_intended(problem.domain, _plan_parts_in_time(problem, options, answer))


def _plan_parts_in_time(problem: Problem, options: SolveOptions, answer: Solve) -> Result:
    """Compile wishes, budgets and constraints away, and plan in time without them."""
    from planner.portfolio.temporal_portfolio import solve_in_time

    def solve(part: Problem, given: SolveOptions) -> Result:
        return _plan_parts_in_time(part, given, answer)

    from planner.compilations.driver import Driver
    from planner.compilations.wishes_in_time import (
        MOST_CHOSEN,
        solve_with_budgets_in_time,
        solve_with_wishes_in_time,
    )

    if creates_objects(problem.domain):
        from planner.compilations.creation_in_time import solve_with_creation_in_time

        return solve_with_creation_in_time(problem, options, answer, solve)
    driver = Driver(problem, options, solve)
    if 0 < len(problem.wishes) <= MOST_CHOSEN:
        return solve_with_wishes_in_time(driver)
    if has(problem, Construct.BUDGETS):
        return solve_with_budgets_in_time(driver)
    if has(problem, *CONSTRAINED):
        from planner.compilations.constraints_in_time import solve_with_constraints_in_time

        return solve_with_constraints_in_time(driver)
    if has(problem, Construct.SOFT_GOALS):
        return solve_with_wishes_in_time(driver)
    return solve_in_time(problem, options, answer)


def find_answer(
    reductions: Iterable[Callable[[Any, SolveOptions, Solve], Result | None]],
    problem: Any,
    options: SolveOptions,
    answer: Solve,
) -> Result | None:
    """Return the result of the first of the `reductions` that takes `problem`; None if none does.

    A reduction may let `answer` solve other problems.
    """
    for reduce in reductions:
        found = reduce(problem, options, answer)
        if found is not None:
            return found
    return None


REDUCTIONS: Final[tuple[Callable[[Problem, SolveOptions, Solve], Result | None], ...]] = (
    plan_in_time,
    refuse_counts_of_unknown,
    refuse_plain,
    separate_deadline,
    create_objects,
    grant_wishes,
    ask_engine,
    suppose_unknown_facts,
    refuse_unsupported,
)
"""The reductions in order. Each returns None for a problem that it leaves to the next, or at last to search."""
