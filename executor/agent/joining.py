"""What is asked for besides, or in place of, what is being done already: one goal of two."""

from __future__ import annotations

from typing import Any

from planner.model import Goal, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.records import replace


def joined(problem: Problem, other: Problem) -> Problem:
    """Return `problem` with what `other` asks for, too: all goals and wishes, all constraints, the tighter limits."""
    objects = {each.name: each for each in (*other.objects, *problem.objects)}
    hard = dict.fromkeys([*conjuncts(other.goal.hard), *conjuncts(problem.goal.hard)])
    soft = dict.fromkeys([*other.goal.soft, *problem.goal.soft])
    budgets: dict[str, Any] = dict(other.budgets)
    for name, most in problem.budgets.items():
        budgets[name] = min(most, budgets.get(name, most))
    deadlines = [each for each in (problem.deadline, other.deadline) if each is not None]
    return replace(
        problem,
        objects=tuple(objects.values()),
        goal=Goal(conjunction(list(hard)), tuple(soft)),
        constraints=tuple(dict.fromkeys([*other.constraints, *problem.constraints])),
        budgets=budgets,
        deadline=min(deadlines, default=None),
    )
