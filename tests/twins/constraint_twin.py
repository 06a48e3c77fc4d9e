"""Constraints as their definitions say, on a finished plan: its steps, and the states that it goes through."""

from __future__ import annotations

from planner.model import OPEN, ConstraintKind, Done


def happenings(what, steps, states):
    """Return the times at which `what` happens: state i is at time 2 i, step k at 2 k - 1."""
    if isinstance(what, Done):
        return [2 * place + 1 for place, step in enumerate(steps) if is_covered(step, what.action)]
    return [2 * place for place, state in enumerate(states) if state.holds(what)]


def is_covered(step, pattern):
    """Return whether `pattern` covers `step`; it says nothing of what the step creates."""
    return step.action == pattern.predicate and all(
        mine in (OPEN, other) for mine, other in zip(pattern.args, step.arguments, strict=False)
    )


def is_kept(constraint, steps, states):
    """Return whether the constraint is kept, as its definition says."""
    what = happenings(constraint.what, steps, states)
    other = happenings(constraint.other, steps, states) if constraint.other is not None else []
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            return len(what) == len(states)
        case ConstraintKind.SOMETIME:
            return len(what) > 0
        case ConstraintKind.AT_MOST if isinstance(constraint.what, Done):
            return len(what) <= constraint.times
        case ConstraintKind.AT_MOST:
            return len([time for time in what if time - 2 not in what]) <= constraint.times
        case ConstraintKind.BEFORE:
            return all(any(early < late for early in what) for late in other)
        case ConstraintKind.NEVER_AFTER:
            return not any(late > early for late in what for early in other)
