"""What authors write about the way to the goal: `always`, `sometime`, `at_most`, `before`, `never` and their like.

Each takes a condition, as everywhere, or `done(…)`: a step. With a `utility` the constraint is a wish.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Protocol

from planner.declare.marks import Condition
from planner.declare.numbers import number
from planner.declare.places import Place, caller
from planner.declare.syntax import NotationError, parse_atom, shown
from planner.errors import did_you_mean
from planner.model import Atom, Constraint, ConstraintKind, Done, Formula, Number
from planner.records import dataclass

HappeningLike = Condition | Done
Utility = Number | float | str | None


class Said(NamedTuple):
    """A condition or step as it was written, and where."""

    value: Any
    place: Place


@dataclass(frozen=True, slots=True)
class Demand:
    """A constraint as it was written at `place`; its names have no meaning before a problem is declared with it."""

    kind: ConstraintKind
    what: Said
    place: Place
    other: Said | None = None
    times: Any = 1
    utility: Any = None


ConstraintLike = Demand | Constraint
Constraints = ConstraintLike | Iterable[ConstraintLike]


def always(condition: Condition, *, utility: Utility = None) -> Demand:
    """Return the constraint that `condition` holds in every state, from the initial one to the last."""
    return _demand(ConstraintKind.ALWAYS, condition, utility)


def sometime(happening: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that `happening` holds in some state, or is done."""
    return _demand(ConstraintKind.SOMETIME, happening, utility)


def at_most(times: int, happening: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that `happening` begins to hold, or is done, at most so many times."""
    return _demand(ConstraintKind.AT_MOST, happening, utility, times=times)


def never(happening: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that `happening` holds in no state, or is not done at all."""
    return _demand(ConstraintKind.AT_MOST, happening, utility, times=0)


def before(first: HappeningLike, then: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that whenever `then` happens, `first` has happened before, in an earlier state."""
    return _demand(ConstraintKind.BEFORE, first, utility, other=Said(then, caller()))


def never_after(what: HappeningLike, after: HappeningLike, *, utility: Utility = None) -> Demand:
    """Return the constraint that `what` happens in no state after one in which `after` has happened."""
    return _demand(ConstraintKind.NEVER_AFTER, what, utility, other=Said(after, caller()))


def forbidden(action: str | Atom, *, utility: Utility = None) -> Demand:
    """Return the constraint that no step is `action`, a pattern `action(args…)` whose arguments may be `_`."""
    return _demand(ConstraintKind.AT_MOST, _step(action), utility, times=0)


def mandatory(action: str | Atom, *, utility: Utility = None) -> Demand:
    """Return the constraint that some step is `action`, a pattern `action(args…)` whose arguments may be `_`."""
    return _demand(ConstraintKind.SOMETIME, _step(action), utility)


def done(action: str | Atom) -> Done:
    """Return what happens at every step that `action` covers: `action(args…)` with `_` for any object, or its name."""
    return _step(action)


def _step(action: Any) -> Done:
    place = caller()
    if isinstance(action, Done):
        return action
    return Done(step_pattern(action, place))


def step_pattern(action: Any, place: Place) -> Atom:
    """Return the pattern of steps that `action` writes, with its arguments as written."""
    if isinstance(action, Atom):
        return action
    if not isinstance(action, str):
        raise place.error(f"{shown(action)} is no step", "write 'action(arg, …)', with '_' for any object")
    try:
        return parse_atom(action)
    except NotationError as mistake:
        raise place.error(mistake.problem, mistake.hint) from None


def _demand(kind: ConstraintKind, what: Any, utility: Any, *, other: Said | None = None, times: Any = 1) -> Demand:
    place = caller()
    return Demand(kind, Said(what, place), place, other, times, utility)


class Reader(Protocol):
    """What knows the objects, predicates and actions of a problem."""

    def condition(self, value: Condition, place: Place) -> Formula:
        """Return a condition; raises an error at `place` for a mistake."""

    def step(self, pattern: Atom, place: Place) -> Atom:
        """Return a pattern of steps, whose arguments may be open; raises an error at `place` for a mistake."""


def parted(value: Any) -> tuple[tuple[ConstraintLike, ...], Any]:
    """Return the constraints in `value`, and all else that is in it."""
    if isinstance(value, ConstraintLike):
        return (value,), ()
    if not isinstance(value, list | tuple):
        return (), value
    return (
        tuple([each for each in value if isinstance(each, ConstraintLike)]),
        [each for each in value if not isinstance(each, ConstraintLike)],
    )


def constraints_of(value: Any, reader: Reader, place: Place) -> tuple[Constraint, ...]:
    """Return the constraints that `value` lists, whose names mean what `reader` knows."""
    if isinstance(value, ConstraintLike):
        value = [value]
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise place.error(f"{shown(value)} are no constraints", _EXAMPLES)
    return tuple([_constraint(each, reader, place.within(at)) for at, each in enumerate(value)])


_RELATING: Final = frozenset({ConstraintKind.BEFORE, ConstraintKind.NEVER_AFTER})
_EXAMPLES: Final = "give a list of always(…), sometime(…), never(…), at_most(…), before(…), forbidden(…) and the like"


def _constraint(demand: Any, reader: Reader, place: Place) -> Constraint:
    if isinstance(demand, Constraint):
        second = None if demand.other is None else Said(demand.other, place)
        demand = Demand(demand.kind, Said(demand.what, place), place, second, demand.times, demand.utility)
    if not isinstance(demand, Demand):
        raise place.error(f"{shown(demand)} is no constraint", _EXAMPLES)
    kind: Any = demand.kind
    if not isinstance(kind, ConstraintKind):
        known = [each.name for each in ConstraintKind]
        near = did_you_mean(kind, known) if isinstance(kind, str) else None
        hint = near or f"write ConstraintKind.{known[0]}, or {', '.join(known[1:])}"
        raise place.error(f"{shown(kind)} is no kind of constraint", hint)
    if (demand.other is None) == (demand.kind in _RELATING):
        raise place.error(f"{demand.kind.name} relates two happenings, and no other kind does")
    times = _times(demand)
    other = None if demand.other is None else _happening(demand.other, reader)
    what = _happening(demand.what, reader)
    if demand.kind is ConstraintKind.ALWAYS and isinstance(what, Done):
        hint = "say what holds in each; mandatory(…) is for steps that have to be done"
        raise demand.what.place.error(f"'always' is about states, and {what.action} is a step", hint)
    return Constraint(demand.kind, what, other, times, _utility(demand))


def _happening(said: Said, reader: Reader) -> Formula | Done:
    value, place = said
    if value is None:
        raise place.error("a constraint is on None", "give a condition that may hold, or done(…) for a step")
    if isinstance(value, Done):
        if not isinstance(value.action, Atom):
            raise place.error(f"{shown(value.action)} is no step", "write done('action(arg, …)')")
        return Done(reader.step(value.action, place))
    if isinstance(value, str) and value.lstrip().startswith("done("):
        hint = 'a step is written done("action(arg, …)"), and in documents {done: "action(arg, …)"}'
        raise place.error(f"{shown(value)} is no condition", hint)
    return reader.condition(value, place)


def _times(demand: Demand) -> int:
    times = demand.times
    if isinstance(times, bool) or not isinstance(times, int):
        raise demand.place.error(f"{shown(str(times))} is no number of times", "it is 0, 1, 2 …")
    if times < 0:
        raise demand.place.error(f"at most {times} times is less than never", "0 means never")
    return times


def _utility(demand: Demand) -> Number | None:
    if demand.utility is None:
        return None
    gain = number(demand.utility, "the utility of a constraint", demand.place)
    if gain == 0:
        raise demand.place.error("the utility of a constraint is 0; it must be above 0", "without one, it is no wish")
    return gain
