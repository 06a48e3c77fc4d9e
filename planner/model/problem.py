"""The immutable problem: objects, initial facts, goal, constraints, budgets and deadline."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from enum import Enum

from planner.errors import UnsupportedError
from planner.lightweight import TYPE_CHECKING, Final, dataclass, field, replace
from planner.model.actions import Constraint, ConstraintKind, When
from planner.model.domain import DomainModel, has_moments, has_numbers, name_counts, numeric_fluents
from planner.model.formulas import (
    TRUE,
    Atom,
    Expression,
    Formula,
    Number,
    Object,
    atoms_in,
    comparisons_in,
    conjuncts,
    functions_in,
)
from planner.model.timing import TOTAL_TIME, GoalDeadline, TimedEffect

if TYPE_CHECKING:
    from datetime import datetime

COST: Final = "cost"
"""The budget on the plan's cost; all other budgets name resources that actions use."""


SHOWN: Final = 4
"""Parts of a goal that a short text shows."""


class Metric(Enum):
    """How the cost of a plan is counted."""

    COST = "the sum of the actions' costs"
    LENGTH = "the number of steps"


TOTAL_COST: Final = Atom("total-cost")
"""The sum of the actions' costs, in a numeric metric of a domain that has no function of this name."""


@dataclass(frozen=True, slots=True)
class NumericMetric:
    """Plans are compared by the value of `expression` at their end: the least is best, or the greatest.

    The cost of a step is the change of this value by the step, negated where the greatest is best, so that the least
    sum of costs is best for every metric.
    """

    expression: Expression
    maximize: bool = False

    def __str__(self) -> str:
        return f"{'maximize' if self.maximize else 'minimize'} {self.expression}"


@dataclass(frozen=True, slots=True)
class SoftGoal:
    """A soft goal: a plan gains `utility` if `condition` holds at its end."""

    condition: Formula
    utility: Number

    def __str__(self) -> str:
        return str(self.condition)


@dataclass(frozen=True, slots=True)
class Goal:
    """A hard goal, and soft goals."""

    hard: Formula = TRUE
    soft: tuple[SoftGoal, ...] = ()

    def __str__(self) -> str:
        parts = [] if self.hard == TRUE else [*map(str, conjuncts(self.hard))]
        shown = parts[:SHOWN] + ([f"{len(parts) - SHOWN} more"] if len(parts) > SHOWN else [])
        wishes = [name_counts({"soft goal": self.soft})] if self.soft else []
        return ", ".join([*shown, *wishes]) or "none"


@dataclass(frozen=True, slots=True)
class Problem:
    """A domain with its objects, its initial state and its goal.

    The facts in `initial` are true; all others are false (closed world), except those that a pattern in `unknown`
    covers, whose probabilities are in `likely`. `ran` are the actions, as ground atoms `action(args…)`, that ran before
    the initial state; actions with `after` read them. `values` are those of the static functions, and of the numeric
    fluents in the initial state; a function without a value is undefined. `entities` are the Python values that authors
    gave for objects, by name: opaque, and ignored by comparison.

    `constraints` hold on the way to the goal. `budgets` limit the cost of a plan (`COST`) and its use of each resource.
    `deadline`, in seconds, limits the makespan: the time that the plan takes if steps run at once where they can.
    `timed` are changes at known times, and `due` says by when parts of the goal must be reached. `capacity` has how
    much of each capacity there is for steps that run at once. `starts_at` is the absolute time, with a time zone, at
    which plans begin (see `planner.model.calendar`).

    `unmentioned` are stated facts whose predicates the domain does not have. `past` are facts whose windows all ended
    before the plan begins, with the negative times of the last ends. `seal` has the fields as they were when
    the function `seal` was called.
    """

    name: str
    domain: DomainModel
    objects: tuple[Object, ...] = ()
    initial: tuple[Atom, ...] = ()
    goal: Goal = field(default_factory=Goal)
    values: Mapping[Atom, Number] = field(default_factory=dict)
    metric: Metric | NumericMetric = Metric.COST
    unknown: tuple[Atom, ...] = ()
    likely: Mapping[Atom, Decimal] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    budgets: Mapping[str, Number] = field(default_factory=dict)
    deadline: Number | None = None
    timed: tuple[TimedEffect, ...] = ()
    due: tuple[GoalDeadline, ...] = ()
    capacity: Mapping[str, Number] = field(default_factory=dict)
    starts_at: datetime | None = None
    ran: tuple[Atom, ...] = ()
    entities: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    unmentioned: tuple[Atom, ...] = field(default=(), compare=False, repr=False)
    past: tuple[GoalDeadline, ...] = field(default=(), compare=False, repr=False)
    seal: tuple[object, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        parts = {"object": self.objects, "fact": self.initial, "constraint": self.constraints}
        return f"problem {self.name} of domain {self.domain.name}: {name_counts(parts)}; goal: {self.goal}"

    @property
    def wishes(self) -> tuple[SoftGoal | Constraint, ...]:
        """The soft goals and the soft constraints, in this order."""
        return (*self.goal.soft, *[each for each in self.constraints if each.utility is not None])

    @property
    def all_objects(self) -> tuple[Object, ...]:
        """The domain's constants and the problem's objects; a name that occurs twice keeps its first place."""
        return tuple({item.name: item for item in reversed((*self.domain.constants, *self.objects))}.values())[::-1]

    @property
    def is_limited(self) -> bool:
        """Whether the problem has budgets or a deadline."""
        return bool(self.budgets) or self.deadline is not None

    @property
    def unsealed(self) -> tuple[str, ...]:
        """The fields that somebody replaced since the problem was sealed, in their order; all fields without a seal."""
        if not self.seal:
            return SEALED
        return tuple([name for name, was in zip(SEALED, self.seal, strict=True) if getattr(self, name) is not was])


def with_limits_of(problem: Problem, other: Problem) -> Problem:
    """Return `problem` with the budgets and the deadline of `other`."""
    return replace(problem, budgets=other.budgets, deadline=other.deadline)


def is_temporal(problem: Problem) -> bool:
    """Return whether `problem` asks for a plan in time: durations alone only give the schedule of a sequence."""
    return (
        bool(problem.timed or problem.due or problem.capacity)
        or has_moments(problem.domain)
        or (isinstance(problem.metric, NumericMetric) and TOTAL_TIME in functions_in(problem.metric.expression))
    )


def counts_makespan_alone(problem: Problem) -> bool:
    """Return whether the makespan is all that plans of `problem` are compared by, so that it is their cost."""
    return problem.metric == NumericMetric(TOTAL_TIME) and all(each.weight is None for each in problem.due)


def is_numeric(problem: Problem) -> bool:
    """Return whether a plan of `problem` depends on numbers other than the costs of its steps."""
    wishes = [wish.condition for wish in problem.goal.soft]
    wishes += [condition for each in problem.constraints for condition in each.conditions]
    return (
        has_numbers(problem.domain)
        or isinstance(problem.metric, NumericMetric)
        or any(True for each in (problem.goal.hard, *wishes) for _ in comparisons_in(each))
    )


def refuse_numbers(problem: Problem, what: str) -> None:
    """Raise `UnsupportedError` if `problem` is numeric; `what` does not take numbers."""
    if not is_numeric(problem):
        return
    fluents = sorted(numeric_fluents(problem.domain))
    named = f", such as {fluents[0]!r}" if fluents else ""
    raise UnsupportedError(f"numbers{named}, {what}", "solve(problem), without more options, takes numbers")


def refuse_time(problem: Problem, what: str) -> None:
    """Raise `UnsupportedError` if `problem` asks for a plan in time; `what` takes sequences of steps only."""
    if not is_temporal(problem):
        return
    lasting = sorted(name for name, action in problem.domain.actions.items() if action.has_moments)
    named = f", with actions such as {lasting[0]!r}" if lasting else ""
    raise UnsupportedError(f"a problem in time{named}, {what}", "solve(problem) and validate(problem, plan) take time")


SEALED: Final = tuple([name for name in Problem.__match_args__ if name not in ("unmentioned", "past", "seal")])
"""The fields of a problem that are checked before it is searched."""


def seal(problem: Problem) -> Problem:
    """Seal `problem`, whose names have all been looked up, so that nobody looks them up again.

    Replacing a field by another object breaks its seal.
    """
    return replace(problem, seal=tuple([getattr(problem, name) for name in SEALED]))


def seal_like(problem: Problem, source: Problem) -> Problem:
    """Seal `problem`, which our own code made from `source`, if the seal of `source` is whole."""
    return problem if source.unsealed else seal(problem)


def counts_softly(constraint: Constraint) -> bool:
    """Return whether `constraint` is soft and limits how often, at least once, a condition begins to hold."""
    counts = constraint.kind is ConstraintKind.AT_MOST and constraint.times > 0
    return counts and constraint.utility is not None


def find_constraint_on_unknown(
    problem: Problem, of_kind: Callable[[Constraint], bool] = lambda _: True
) -> Constraint | None:
    """Return a constraint of `problem` that reads predicates with facts that are, or become, unknown; None without.

    Only constraints `of_kind` count.
    """
    if not problem.unknown or not problem.constraints:
        return None
    hidden = {pattern.predicate for pattern in problem.unknown}
    axioms, grown = problem.domain.axioms, -1
    effects = [when for action in problem.domain.actions.values() for when in action.when]
    while grown != len(hidden):
        grown = len(hidden)
        hidden |= {axiom.predicate for axiom in axioms if _reads(axiom.condition, hidden)}
        hidden |= {name for when in effects if _reads(when.requires, hidden) for name in _written(when)}
    asked = filter(of_kind, problem.constraints)
    return next((each for each in asked if any(_reads(condition, hidden) for condition in each.conditions)), None)


def _written(when: When) -> list[str]:
    return [atom.predicate for atom in when.written]


def _reads(formula: Formula, predicates: Collection[str]) -> bool:
    return any(atom.predicate in predicates for atom in atoms_in(formula))
