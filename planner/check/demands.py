"""Lint of what a problem asks for besides its goal: constraints, budgets, a deadline; and of what actions sense."""

from __future__ import annotations

from collections.abc import Iterator

from planner.check.actions import contradiction
from planner.check.findings import Finding, Level
from planner.check.possible import Possible
from planner.check.usage import plain_atoms
from planner.creation import for_steps
from planner.declare.words import plain
from planner.model import Constraint, ConstraintKind, Done, Happening, Problem
from planner.model.domain import resources
from planner.model.formulas import atoms_in
from planner.records import replace
from planner.validate import Simulation


def check_demands(problem: Problem) -> Iterator[Finding]:
    """Yield what is odd about the budgets, the deadline and the sensing of `problem`."""
    yield from _budgets(problem)
    yield from _deadline(problem)
    yield from _sensing(problem)


def check_constraints(problem: Problem, reach: Possible) -> Iterator[Finding]:
    """Yield the constraints of `problem` that no plan keeps, and those that ask for nothing."""
    if problem.constraints:
        start = Simulation(for_steps(replace(problem, unknown=()), []))
        unsure = {*problem.domain.derived, *(each.predicate for each in problem.unknown)} if problem.unknown else set()
        for constraint in problem.constraints:
            yield from _broken(constraint, start, unsure) or _idle(constraint, reach)


def _broken(constraint: Constraint, start: Simulation, unsure: set[str]) -> list[Finding]:
    """Return that the initial state breaks `constraint`, if it does; nothing is said of facts that are `unsure`."""
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            condition, bad, what = constraint.what, False, "it does not hold in the initial state"
        case ConstraintKind.AT_MOST if constraint.times == 0:
            condition, bad, what = constraint.what, True, "it is so in the initial state already"
        case ConstraintKind.BEFORE if constraint.other is not None:
            condition, bad, what = constraint.other, True, f"{constraint.other} in the initial state already"
        case _:
            return []
    if isinstance(condition, Done) or not unsure.isdisjoint(atom.predicate for atom in atoms_in(condition)):
        return []
    return [_hopeless(constraint, "broken-constraint", what)] if start.holds(condition) is bad else []


def _idle(constraint: Constraint, reach: Possible) -> Iterator[Finding]:
    """Yield what `constraint` is on that can never happen."""
    kind, what, other = constraint.kind, constraint.what, constraint.other
    if kind is ConstraintKind.ALWAYS:
        return
    impossible = _is_impossible(what, reach)
    if kind is ConstraintKind.SOMETIME:
        if impossible:
            yield _hopeless(constraint, "unreachable-constraint", "nothing can bring it about")
    elif other is not None and _is_impossible(other, reach):
        yield _told(Level.NOTE, constraint, "idle-constraint", f"{other} can never be: it asks for nothing")
    elif impossible and kind is ConstraintKind.BEFORE:
        message = f"{what} can never be, so that {other} may not, either"
        yield _told(Level.WARNING, constraint, "forbidding-constraint", message)
    elif impossible:
        yield _told(Level.NOTE, constraint, "idle-constraint", f"{what} can never be: it asks for nothing")


def _is_impossible(happening: Happening, reach: Possible) -> bool:
    if isinstance(happening, Done):
        return happening.action.predicate not in reach.actions
    if contradiction(happening) is not None:
        return True
    return any(not reach.holds(atom) for atom in plain_atoms(happening))


def _hopeless(constraint: Constraint, rule: str, message: str) -> Finding:
    """Return that no plan keeps `constraint`: that matters less for a wish."""
    return _told(Level.ERROR if constraint.utility is None else Level.WARNING, constraint, rule, message)


def _told(level: Level, constraint: Constraint, rule: str, message: str) -> Finding:
    return Finding(level, rule, f"constraint '{constraint}'", message)


def _budgets(problem: Problem) -> Iterator[Finding]:
    used = resources(problem.domain)
    if any(name in problem.budgets for name in used):
        for name in used:
            if name not in problem.budgets:
                message = "actions use it, and it has no budget, though other resources do"
                yield Finding(Level.NOTE, "no-budget", f"resource {name}", message)


def _deadline(problem: Problem) -> Iterator[Finding]:
    if problem.deadline is None:
        return
    actions = problem.domain.actions.values()
    untimed = [action.name for action in actions if action.duration is None]
    if len(untimed) == len(actions):
        message = "no action has a duration: every plan takes no time"
        yield Finding(Level.WARNING, "untimed-deadline", "deadline", message)
    elif untimed:
        others = f" and {len(untimed) - 1} more" if len(untimed) > 1 else ""
        message = f"{untimed[0]}{others} without a duration: such steps take no time"
        yield Finding(Level.NOTE, "untimed-action", "deadline", message)


def _sensing(problem: Problem) -> Iterator[Finding]:
    unknown = {pattern.predicate for pattern in problem.unknown}
    for action in problem.domain.actions.values():
        if action.senses and unknown.isdisjoint(pattern.predicate for pattern in action.senses):
            message = f"it senses {plain(action.senses[0])}, and no such fact is declared unknown"
            yield Finding(Level.NOTE, "nothing-to-sense", f"action {action.name}", message)
