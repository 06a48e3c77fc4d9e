"""What constraints and wishes add to what steps read and write, so that no order of them breaks what the plan keeps.

The monitors that keep constraints in search (`planner.normalise.constraints`) are facts like any others: steps that
write them and steps that read them are ordered by them. A step count is the same in any order: no monitor is for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.annotations import Final
from planner.model import Atom, Constraint, ConstraintKind, Done, Goal, Problem, SoftGoal
from planner.model.formulas import conjunction, conjuncts
from planner.normalise.constraints import MARK, without_constraints
from planner.records import replace
from planner.validate import Changes

_COUNTING: Final = frozenset({ConstraintKind.ALWAYS, ConstraintKind.SOMETIME, ConstraintKind.AT_MOST})
_MONITOR: Final = re.compile(rf"{MARK}(\d+)-(.+)")


def with_wishes_hard(problem: Problem, forgone: Iterable[SoftGoal | Constraint]) -> Problem:
    """Return `problem` in which all wishes are hard, but for those `forgone`, which are none."""
    lost = tuple(forgone)
    granted = [wish.condition for wish in problem.goal.soft if wish not in lost]
    kept = [each for each in problem.constraints if each.utility is None or each not in lost]
    hard = conjunction([*conjuncts(problem.goal.hard), *granted]) if granted else problem.goal.hard
    constraints = tuple([replace(each, utility=None) for each in kept])
    return replace(problem, goal=Goal(hard), constraints=constraints)


def watched(problem: Problem) -> Problem | None:
    """Return `problem`, whose constraints are hard, with monitors of those that the order matters for, if any."""
    ordering = tuple([each for each in problem.constraints if not _only_counts(each)])
    return without_constraints(replace(problem, constraints=ordering)) if ordering else None


def of_monitors(changes: Changes, problem: Problem) -> Changes:
    """Return what `changes` do to monitors of `problem`, which are named for people."""

    def named_of(facts: Iterable[Atom]) -> tuple[Atom, ...]:
        return tuple([named(fact, problem) for fact in facts if is_monitor(fact)])

    return Changes(
        named_of(changes.provided), named_of(changes.retracted), (), named_of(changes.added), named_of(changes.removed)
    )


def is_monitor(fact: Atom) -> bool:
    """Return whether `fact` is one of a monitor."""
    return fact.predicate.startswith(MARK)


def named(fact: Atom, problem: Problem) -> Atom:
    """Return `fact`, named for people if it is one of a monitor of `problem`."""
    found = _MONITOR.fullmatch(fact.predicate)
    if found is None:
        return fact
    ordering = [each for each in problem.constraints if not _only_counts(each)]
    return Atom(f"'{ordering[int(found[1])]}'", (found[2],))


def _only_counts(constraint: Constraint) -> bool:
    """Return whether the order of steps makes no difference to `constraint`."""
    return constraint.kind in _COUNTING and isinstance(constraint.what, Done)
