"""What no form for other planners has words for."""

from __future__ import annotations

from planner.errors import UnsupportedError
from planner.model import Problem


def refuse(problem: Problem) -> None:
    """Raise `UnsupportedError`, naming it, where `problem` has what classical planning has no words for."""
    actions = problem.domain.actions
    constructs = [
        *(f"created objects (in {name})" for name, action in actions.items() if action.creates),
        *(f"uncertain outcomes (of {name})" for name, action in actions.items() if action.outcomes),
        *(["facts declared unknown"] if problem.unknown else []),
        *(["soft goals"] if problem.goal.soft else []),
        *(["soft constraints"] if any(each.utility is not None for each in problem.constraints) else []),
        *(["budgets"] if problem.budgets else []),
        *(["deadlines"] if problem.deadline is not None else []),
    ]
    if constructs:
        raise UnsupportedError(constructs[0])
