"""Which constraints rest on facts that are declared unknown."""

from __future__ import annotations

from collections.abc import Collection

from planner.model.actions import When, added, deleted
from planner.model.constraints import Constraint, Done
from planner.model.formulas import Formula, atoms_in
from planner.model.problem import Problem


def constraint_on_unknown(problem: Problem) -> Constraint | None:
    """Return a constraint of `problem` that reads predicates of which facts are, or become, unknown; else None."""
    if not problem.unknown or not problem.constraints:
        return None
    hidden = {pattern.predicate for pattern in problem.unknown}
    axioms, grown = problem.domain.axioms, -1
    effects = [when for action in problem.domain.actions.values() for when in action.when]
    while grown != len(hidden):
        grown = len(hidden)
        hidden |= {axiom.predicate for axiom in axioms if _reads(axiom.condition, hidden)}
        hidden |= {name for when in effects if _reads(when.requires, hidden) for name in _written(when)}
    return _constraint_on(problem, hidden)


def _constraint_on(problem: Problem, predicates: Collection[str]) -> Constraint | None:
    for constraint in problem.constraints:
        for happening in (constraint.what, constraint.other):
            if happening is not None and not isinstance(happening, Done) and _reads(happening, predicates):
                return constraint
    return None


def _written(when: When) -> list[str]:
    return [atom.predicate for atom in (*added(when.provides), *deleted(when.provides), *when.modifies)]


def _reads(formula: Formula, predicates: Collection[str]) -> bool:
    return any(atom.predicate in predicates for atom in atoms_in(formula))
