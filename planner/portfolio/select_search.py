"""Which search, or which portfolio of searches, a problem and the options ask for."""

from __future__ import annotations

from planner.model import Problem
from planner.options import SolveOptions
from planner.portfolio.incumbent import Incumbent
from planner.portfolio.portfolio import named_search, run_named_search, run_portfolio
from planner.portfolio.symbolic_beside import alone, beside
from planner.portfolio.workplace import Workplace
from planner.search.search_run import Steps


def select_search(problem: Problem, options: SolveOptions, workplace: Workplace, incumbent: Incumbent) -> Steps:
    """Return the search of the ground task for plans of `problem`, which begins when somebody asks for its first step.

    `incumbent.caveat` is set to what the search cannot prove.
    """
    mode, name, heuristic = options.mode, named_search(options), options.heuristic
    if problem.deadline is not None:
        from planner.scheduling.deadlines import NOT_ALL, meeting_deadline

        incumbent.caveat = NOT_ALL
        return meeting_deadline(workplace, problem, mode, name, heuristic)
    if problem.budgets:
        from planner.resources.resource_portfolio import within_budgets

        return within_budgets(workplace, problem, mode, name, heuristic)
    if name == "symbolic":
        return alone(workplace, incumbent.limits)
    if name is not None:
        steps, incumbent.caveat = run_named_search(workplace, name, heuristic)
        return steps
    steps = run_portfolio(mode, workplace)
    return steps if mode == "first" else beside(steps, workplace, incumbent.limits)
