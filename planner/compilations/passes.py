"""Passes: each compiles one family of constructs away (Nebel, 2000); `compile_away` calls those that are needed.

Plans keep their steps, so that a plan of the compiled problem is one of the declared problem, with the same cost, and
an optimum of one is an optimum of the other. Passes that need rounds of search, such as created objects, are
`planner.compilations.reductions`.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.lightweight import Final, dataclass
from planner.model.constructs import Construct, has
from planner.model.problem import Problem


@dataclass(frozen=True, slots=True)
class Pass:
    """One compilation: what it `removes` where it is asked to, and what must be gone before it."""

    removes: frozenset[Construct]
    needs: frozenset[Construct]
    compile: Callable[[Problem, frozenset[Construct]], Problem]


def _compile_changes(problem: Problem, _: frozenset[Construct]) -> Problem:
    from planner.compilations.adl import compile_adl

    return compile_adl(problem)


def _compile_constraints(problem: Problem, removed: frozenset[Construct]) -> Problem:
    from planner.compilations.trajectory_constraints import compile_constraints

    return compile_constraints(problem, soft=Construct.SOFT_CONSTRAINTS in removed)


def _compile_budgets(problem: Problem, _: frozenset[Construct]) -> Problem:
    from planner.compilations.budgets import compile_budgets

    return compile_budgets(problem)


PASSES: Final = (
    Pass(frozenset([Construct.CHANGES]), frozenset(), _compile_changes),
    Pass(
        frozenset([Construct.CONSTRAINTS, Construct.SOFT_CONSTRAINTS]),
        frozenset([Construct.CHANGES]),
        _compile_constraints,
    ),
    Pass(frozenset([Construct.BUDGETS]), frozenset(), _compile_budgets),
)
"""The passes in the order in which they compile a problem."""


def compile_away(problem: Problem, *removed: Construct) -> Problem:
    """Return `problem` without the constructs `removed`, and without what the passes for these need to be gone.

    Soft constraints become soft goals behind the declared ones. A problem that has none of the constructs is returned
    unchanged. Raises `UnsupportedError` for uses of budgets that Python computes.
    """
    gone = {each for each in removed if has(problem, each)}
    gone |= {need for each in PASSES if each.removes & gone for need in each.needs}
    for each in PASSES:
        if each.removes & gone:
            problem = each.compile(problem, frozenset(gone))
    return problem


__all__ = ["PASSES", "Pass", "compile_away"]
