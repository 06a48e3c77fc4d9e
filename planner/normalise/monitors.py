"""Monitors: facts that say how far a constraint is kept, and what each action makes of them.

Everything is said about the state before a step, with what the step is about to do; so monitors are ordinary conditions
and effects of the actions that matter to them (Bonassi, Gerevini, Percassi and Scala 2021, for states; here for steps,
too). `planner.normalise.observers` is the plain way to say the same.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.model import FALSE, TRUE, Atom, Constraint, ConstraintKind, Formula, Not, When
from planner.normalise.counters import UNCOUNTED, Counter, effect
from planner.normalise.happenings import Before, Watched, Watching
from planner.normalise.regression import both, either, opposite
from planner.records import dataclass


def _nothing(_: Before) -> list[When]:
    return []


def _never(_: Before) -> Formula:
    return FALSE


@dataclass(frozen=True, slots=True)
class Monitor:
    """How one constraint is watched.

    `initial` are the facts that hold at first. `breaks` says when a step breaks the constraint, in the state before it,
    and `effects` what the step changes. The constraint is `broken` from the start, or where `final` does not hold at
    the end.
    """

    initial: tuple[Atom, ...] = ()
    breaks: Callable[[Before], Formula] = _never
    effects: Callable[[Before], list[When]] = _nothing
    broken: bool = False
    final: Formula = TRUE


def monitor(constraint: Constraint, name: str, watching: Watching) -> Monitor:
    """Return what watches `constraint`, with facts whose predicates begin with `name`."""
    what = watching.watched(constraint.what)
    match constraint.kind:
        case ConstraintKind.ALWAYS:
            return Monitor(breaks=what.fails, broken=not (what.is_step or what.at_start))
        case ConstraintKind.SOMETIME:
            return _sometime(what, name)
        case ConstraintKind.AT_MOST if constraint.times == 0:
            return Monitor(breaks=what.newly, broken=what.at_start)
        case ConstraintKind.AT_MOST if constraint.times >= UNCOUNTED:
            return Monitor()
        case ConstraintKind.AT_MOST:
            return _at_most(what, constraint.times, name)
    assert constraint.other is not None  # noqa: S101 - these kinds relate two
    other = watching.watched(constraint.other)
    return (_before if constraint.kind is ConstraintKind.BEFORE else _never_after)(what, other, name)


def _sometime(what: Watched, name: str) -> Monitor:
    if what.at_start:
        return Monitor()
    seen = Atom(f"{name}-seen")
    return Monitor(effects=lambda before: effect(what.newly(before), seen), final=seen)


def _at_most(what: Watched, times: int, name: str) -> Monitor:
    counter = Counter(name, times)

    def effects(before: Before) -> list[When]:
        return counter.effects(what.newly(before) if times == 1 else what.begins(before))

    def breaks(before: Before) -> Formula:
        return both([what.begins(before), counter.full])

    return Monitor(counter.once if what.at_start else (), breaks, effects)


def _before(what: Watched, other: Watched, name: str) -> Monitor:
    seen = Atom(f"{name}-seen")

    def breaks(before: Before) -> Formula:
        in_time = what.newly(before) if what.is_step and not other.is_step else FALSE
        return both([other.newly(before), opposite(either([seen, in_time]))])

    initial = (seen,) if what.at_start else ()
    return Monitor(initial, breaks, lambda before: effect(what.newly(before), seen), other.at_start)


def _never_after(what: Watched, other: Watched, name: str) -> Monitor:
    seen = Atom(f"{name}-seen")
    if not what.is_step and not other.is_step:
        return _ending(what, other, seen, Atom(f"{name}-ending"))

    def breaks(before: Before) -> Formula:
        both_now = both([other.newly(before), what.after(before)]) if other.is_step and not what.is_step else FALSE
        return either([both([what.newly(before), seen]), both_now])

    initial = (seen,) if other.at_start else ()
    return Monitor(initial, breaks, lambda before: effect(other.newly(before), seen))


def _ending(what: Watched, other: Watched, seen: Atom, ending: Atom) -> Monitor:
    """Return the monitor of a condition that may hold where the other holds first, but no longer: it is `ending`."""

    def breaks(before: Before) -> Formula:
        stays = TRUE if what.ends(before) == FALSE else what.after(before)
        return either([both([what.newly(before), seen]), both([ending, stays])])

    def effects(before: Before) -> list[When]:
        found = effect(other.newly(before), seen)
        found += effect(both([other.newly(before), what.after(before), Not(seen)]), ending)
        return found if what.ends(before) == FALSE else [*found, When(TRUE, (Not(ending),))]

    initial = tuple([fact for fact, held in ((seen, other.at_start), (ending, what.at_start)) if held])
    return Monitor(initial if other.at_start else (), breaks, effects)
