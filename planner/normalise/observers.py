"""Monitors for conditions on derived predicates: each step looks at the state that it leaves.

What a step will derive cannot be said ahead of it. So a state is judged when the next step leaves it, and the last one
at the end. This is also the plain twin of `planner.normalise.monitors`.
"""

from __future__ import annotations

from planner.model import FALSE, Atom, Constraint, ConstraintKind, Formula, Not, When
from planner.normalise.counters import UNCOUNTED, Counter, effect
from planner.normalise.happenings import Before, Watched, Watching
from planner.normalise.monitors import Monitor
from planner.normalise.regression import both, either, opposite


def observer(constraint: Constraint, name: str, watching: Watching) -> Monitor:
    """Return what watches `constraint`, with facts whose predicates begin with `name`."""
    what, seen = watching.watched(constraint.what), Atom(f"{name}-seen")
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            broken = FALSE if what.is_step else what.negation
            return Monitor(breaks=lambda before: what.fails(before) if what.is_step else broken, final=opposite(broken))
        case ConstraintKind.SOMETIME:
            return Monitor(effects=lambda before: effect(_left(what, before), seen), final=either([seen, _now(what)]))
        case ConstraintKind.AT_MOST if constraint.times >= UNCOUNTED:
            return Monitor()
        case ConstraintKind.AT_MOST:
            return _at_most(what, constraint.times, name)
    assert constraint.other is not None  # noqa: S101 - these kinds relate two
    other = watching.watched(constraint.other)
    return (_before if constraint.kind is ConstraintKind.BEFORE else _never_after)(what, other, seen)


def _now(what: Watched) -> Formula:
    """Return when `what` happens in the state itself."""
    return FALSE if what.is_step else what.condition


def _step(what: Watched, before: Before) -> Formula:
    return what.newly(before) if what.is_step else FALSE


def _left(what: Watched, before: Before) -> Formula:
    """Return when `what` happens in the state that a step leaves, or is the step."""
    return either([_now(what), _step(what, before)])


def _at_most(what: Watched, times: int, name: str) -> Monitor:
    counter, held = Counter(name, times), Atom(f"{name}-held")
    full = [counter.full] if times else []
    begins_now = both([_now(what), Not(held)])

    def begins(before: Before) -> Formula:
        return either([begins_now, _step(what, before)])

    def effects(before: Before) -> list[When]:
        found = counter.effects(begins(before))
        if what.is_step:
            return found
        return [*found, *effect(what.condition, held), *effect(what.negation, Not(held))]

    return Monitor(
        breaks=lambda before: both([begins(before), *full]),
        effects=effects,
        final=opposite(both([begins_now, *full])),
    )


def _before(what: Watched, other: Watched, seen: Atom) -> Monitor:
    broken = both([_now(other), Not(seen)])

    def breaks(before: Before) -> Formula:
        late = both([_step(other, before), opposite(either([seen, _now(what)]))])
        return either([broken, late])

    return Monitor((), breaks, lambda before: effect(_left(what, before), seen), final=opposite(broken))


def _never_after(what: Watched, other: Watched, seen: Atom) -> Monitor:
    broken = both([_now(what), seen])

    def breaks(before: Before) -> Formula:
        late = both([_step(what, before), either([seen, _now(other)])])
        return either([broken, late])

    return Monitor((), breaks, lambda before: effect(_left(other, before), seen), final=opposite(broken))
