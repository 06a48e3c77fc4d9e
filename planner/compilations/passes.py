"""Passes: each compiles one family of constructs away (Nebel, 2000); `compile_away` calls those that are needed.

Plans keep their steps, so that a plan of the compiled problem is one of the declared problem, with the same cost, and
an optimum of one is an optimum of the other. Compilations that need rounds of search, such as that of created objects,
are `planner.compilations.reductions`.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.lightweight import Final, dataclass
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.model.problem import Problem

_NONE: Final = frozenset[Construct]()


@dataclass(frozen=True, slots=True)
class Pass:
    """One compilation: the constructs of which it `removes` those that it is asked for, and what must be gone before.

    Without `applies`, a problem needs it that has one of these constructs.
    """

    removes: frozenset[Construct]
    compile: Callable[[Problem, frozenset[Construct]], Problem]
    needs: frozenset[Construct] = _NONE
    applies: Callable[[Problem], bool] | None = None

    def is_needed(self, problem: Problem, removed: frozenset[Construct]) -> bool:
        """Return whether `problem` has something that this pass removes where `removed` is asked for."""
        asked = self.removes & removed
        return bool(asked) and (has(problem, *asked) if self.applies is None else self.applies(problem))


def _compile_changes(problem: Problem, _: frozenset[Construct]) -> Problem:
    from planner.compilations.adl import compile_adl

    return compile_adl(problem)


def _compile_constraints(problem: Problem, removed: frozenset[Construct]) -> Problem:
    from planner.compilations.trajectory_constraints import compile_constraints

    return compile_constraints(problem, soft=Construct.SOFT_CONSTRAINTS in removed)


def _compile_budgets(problem: Problem, _: frozenset[Construct]) -> Problem:
    from planner.compilations.budgets import compile_budgets

    return compile_budgets(problem)


_CHANGES: Final = frozenset([Construct.CHANGES])
PASSES: list[Pass] = [
    Pass(_CHANGES, _compile_changes),
    Pass(frozenset(CONSTRAINED), _compile_constraints, needs=_CHANGES),
    Pass(frozenset([Construct.BUDGETS]), _compile_budgets),
]
"""The passes in the order in which they compile a problem."""


def compile_away(problem: Problem, *removed: Construct) -> Problem:
    """Return `problem` without the constructs `removed`, and without what the passes for these need to be gone.

    Soft constraints become soft goals behind the declared ones. A problem that has none of the constructs is returned
    unchanged. Raises `UnsupportedError` for uses of budgets that Python computes.
    """
    gone = frozenset(removed)
    for each in PASSES:
        if each.needs and each.is_needed(problem, gone):
            gone |= each.needs
    for each in PASSES:
        if each.is_needed(problem, gone):
            problem = each.compile(problem, gone)
    return problem


__all__ = ["PASSES", "Pass", "compile_away"]
