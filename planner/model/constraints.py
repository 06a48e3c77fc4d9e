"""What a plan must do on its way: constraints on the states that it goes through and on the steps that it takes.

A plan of n steps goes through the states 0 (the initial one) to n; step k leads from state k - 1 to state k and
happens between them. A condition *happens* in every state in which it holds, `Done` at every step that it covers.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from planner.model.atoms import Atom, Variable
from planner.model.formulas import Formula
from planner.model.numbers import Number
from planner.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Done:
    """A step that `action`, a pattern `action(args…)`, covers: open arguments stand for everything."""

    action: Atom

    def __str__(self) -> str:
        return f"done {self.action}"


Happening = Formula | Done
"""What may happen on the way: a condition that holds in a state, or a step."""


class ConstraintKind(Enum):
    """How a plan is constrained (Gerevini, Haslum, Long, Saetti and Dimopoulos, 2009: PDDL 3)."""

    ALWAYS = "the condition holds in every state"
    SOMETIME = "it happens at least once"
    AT_MOST = "it happens so many times at most: a condition counts each time that it begins to hold"
    BEFORE = "before the other happens, this has happened"
    NEVER_AFTER = "after the other has happened, this does not happen"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint on `what`, and on `other` where the kind relates two happenings; `times` is for `AT_MOST`.

    BEFORE and NEVER_AFTER are strict: what happens in the same state is neither before nor after. With a `utility`
    the constraint is a wish, worth so much when it is kept; without one, plans that break it are none.
    """

    kind: ConstraintKind
    what: Happening
    other: Happening | None = None
    times: int = 1
    utility: Number | None = None

    @property
    def happenings(self) -> tuple[Happening, ...]:
        """What the constraint is on: one happening, or two."""
        return (self.what,) if self.other is None else (self.what, self.other)

    @property
    def conditions(self) -> tuple[Formula, ...]:
        """The conditions among its happenings."""
        return tuple([each for each in self.happenings if not isinstance(each, Done)])

    @property
    def steps(self) -> tuple[Atom, ...]:
        """The patterns of steps among its happenings."""
        return tuple([each.action for each in self.happenings if isinstance(each, Done)])

    def mapped(self, condition: Callable[[Formula], Formula], step: Callable[[Atom], Atom]) -> Constraint:
        """Return the constraint with each condition, and each pattern of steps, as these functions return it."""
        what, *others = [
            Done(step(each.action)) if isinstance(each, Done) else condition(each) for each in self.happenings
        ]
        return replace(self, what=what, other=others[0] if others else None)

    def __str__(self) -> str:
        match self.kind:
            case ConstraintKind.AT_MOST if self.times == 0:
                return f"never {self.what}"
            case ConstraintKind.AT_MOST:
                return f"at most {self.times} times {self.what}"
            case ConstraintKind.BEFORE:
                return f"{self.what} before {self.other}"
            case ConstraintKind.NEVER_AFTER:
                return f"never {self.what} after {self.other}"
        return f"{self.kind.name.lower()} {self.what}"


@dataclass(frozen=True, slots=True)
class Stated:
    """A condition or constraint that a PDDL file states: hard, or the preference of that name.

    It is stated once for all objects of `variables`: each instance of a preference is a wish of its own.
    """

    wanted: Formula | Constraint
    preference: str = ""
    variables: tuple[Variable, ...] = ()
