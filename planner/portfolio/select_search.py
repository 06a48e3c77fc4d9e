"""Selects the search, or the portfolio of searches, for a problem and the options."""

from __future__ import annotations

from planner.model import Problem
from planner.options import SolveOptions
from planner.portfolio.incumbent import Incumbent
from planner.portfolio.portfolio import run_named_search, run_plain_search, run_portfolio
from planner.portfolio.symbolic_process import run_symbolic_alone, run_symbolic_beside
from planner.portfolio.workplace import Workplace
from planner.search.search_run import Steps


def select_search(problem: Problem, options: SolveOptions, workplace: Workplace, incumbent: Incumbent) -> Steps:
    """Return the search of the ground task for plans of `problem`; set `incumbent.caveat` to what it cannot prove.

    The search begins when its first step is asked for.
    """
    mode, (name, heuristic) = options.mode, options.names
    if problem.deadline is not None:
        from planner.scheduling.deadlines import NOT_ALL, search_with_deadline

        incumbent.caveat = NOT_ALL
        return search_with_deadline(workplace, problem, mode, name, heuristic)
    if workplace.task.allowances:
        from planner.resources.resource_portfolio import search_with_budgets

        return search_with_budgets(workplace, mode, name, heuristic)
    if name == "symbolic":
        return run_symbolic_alone(workplace, incumbent.limits)
    if options.plain:
        assert name is not None
        steps, incumbent.caveat = run_plain_search(workplace, name, heuristic, options.pruning)
        return steps
    if name is not None:
        steps, incumbent.caveat = run_named_search(workplace, name, heuristic)
        return steps
    steps = run_portfolio(mode, workplace)
    return steps if mode == "first" else run_symbolic_beside(steps, workplace, incumbent.limits)
