"""What constraints and wishes add to what steps read and write, so that no order of them breaks what the plan keeps.

What a constraint speaks of is like an item that steps write: those that touch the facts of its conditions, and those
that it covers, stay in the order in which they were. So its conditions begin and end to hold in one and the same order,
however other steps are put between. That decides whether it is kept, but for one case: where a condition may hold no
longer once another has held, and both hold in one state, no other step may come while they do. Then all stay in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from planner.annotations import Final
from planner.model import OPEN, Atom, Constraint, ConstraintKind, Done, Formula, Goal, Problem, SoftGoal, is_variable
from planner.model.formulas import atoms_in, conjunction, conjuncts
from planner.order.patterns import overlap
from planner.plan import Step
from planner.records import replace
from planner.validate import Changes, Simulation
from planner.validate.constraints import covers

_COUNTING: Final = frozenset({ConstraintKind.ALWAYS, ConstraintKind.SOMETIME, ConstraintKind.AT_MOST})


def with_wishes_hard(problem: Problem, forgone: Iterable[SoftGoal | Constraint]) -> Problem:
    """Return `problem` in which all wishes are hard, but for those `forgone`, which are none."""
    lost = tuple(forgone)
    granted = [wish.condition for wish in problem.goal.soft if wish not in lost]
    kept = [each for each in problem.constraints if each.utility is None or each not in lost]
    hard = conjunction([*conjuncts(problem.goal.hard), *granted]) if granted else problem.goal.hard
    return replace(problem, goal=Goal(hard), constraints=tuple([replace(each, utility=None) for each in kept]))


def with_promises(problem: Problem, steps: Sequence[Step], changes: Sequence[Changes]) -> list[Changes]:
    """Return what `steps` change, with an item for each constraint of `problem`, all kept, that they may bear on."""
    items: list[list[Atom]] = [[] for _ in steps]
    simulation = Simulation(problem)
    for constraint in problem.constraints:
        for place in _bearing(constraint, simulation, steps, changes):
            items[place].append(Atom(f"'{constraint}'"))
    return [
        replace(each, modified=(*each.modified, *dict.fromkeys(more))) if more else each
        for each, more in zip(changes, items, strict=True)
    ]


def _bearing(
    constraint: Constraint, simulation: Simulation, steps: Sequence[Step], changes: Sequence[Changes]
) -> Iterator[int]:
    """Yield the places of the steps that must stay in order for `constraint`; of a count of steps, there are none."""
    if constraint.kind in _COUNTING and isinstance(constraint.what, Done):
        return
    patterns = [pattern for each in constraint.conditions for pattern in _facts(each, simulation)]
    everything = _meet(constraint, simulation, steps)
    for place, (step, change) in enumerate(zip(steps, changes, strict=True)):
        written = (*change.provided, *change.retracted, *change.modified)
        touches = any(overlap(pattern, item) for pattern in patterns for item in written)
        if (
            everything
            or touches
            or any(isinstance(each, Done) and covers(each, step) for each in constraint.happenings)
        ):
            yield place


def _facts(condition: Formula, simulation: Simulation) -> Iterator[Atom]:
    """Yield patterns of the base facts that `condition` reads."""
    axioms, predicates = simulation.rules.axioms, simulation.problem.domain.predicates
    for atom in atoms_in(condition):
        if atom.predicate not in axioms:
            yield Atom(atom.predicate, tuple([OPEN if is_variable(arg) else arg for arg in atom.args]))
            continue
        for name in axioms.reads(atom.predicate):
            yield Atom(name, (OPEN,) * len(predicates[name].parameters))


def _meet(constraint: Constraint, simulation: Simulation, steps: Sequence[Step]) -> bool:
    """Return whether `constraint` lets a condition hold no longer than the state in which another holds first."""
    if constraint.kind is not ConstraintKind.NEVER_AFTER or len(constraint.conditions) < 2:
        return False
    both, now = conjunction(constraint.conditions), simulation.copy()
    if now.holds(both):
        return True
    for step in steps:
        now.apply(step)
        if now.holds(both):
            return True
    return False
