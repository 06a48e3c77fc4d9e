"""The immutable problem: objects, initial facts, goal, constraints, budgets and deadline."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from enum import Enum

from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import Constraint, When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel
from planner.model.formulas import TRUE, Atom, Formula, Number, Object, atoms_in

COST: Final = "cost"
"""The budget on the plan's cost; all other budgets name resources that actions use."""


class Metric(Enum):
    """How the cost of a plan is counted."""

    COST = "the sum of the actions' costs"
    LENGTH = "the number of steps"


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


@dataclass(frozen=True, slots=True)
class Problem:
    """A domain with its objects, its initial state and its goal.

    The facts in `initial` are true; all others are false (closed world), except those that a pattern in `unknown`
    covers, whose probabilities are in `likely`. `ran` are the actions, as ground atoms `action(args…)`, that ran before
    the initial state; actions with `after` read them. `values` are those of the static functions. `entities` are the
    Python values that authors gave for objects, by name: opaque, and ignored by comparison.

    `constraints` hold on the way to the goal. `budgets` limit the cost of a plan (`COST`) and its use of each resource.
    `deadline`, in seconds, limits the makespan: the time that the plan takes if steps run at once where they can.

    `unmentioned` are stated facts whose predicates the domain does not have. `seal` has the fields as they were when
    the function `seal` was called.
    """

    name: str
    domain: DomainModel
    objects: tuple[Object, ...] = ()
    initial: tuple[Atom, ...] = ()
    goal: Goal = field(default_factory=Goal)
    values: Mapping[Atom, Number] = field(default_factory=dict)
    metric: Metric = Metric.COST
    unknown: tuple[Atom, ...] = ()
    likely: Mapping[Atom, Decimal] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    budgets: Mapping[str, Number] = field(default_factory=dict)
    deadline: Number | None = None
    ran: tuple[Atom, ...] = ()
    entities: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    unmentioned: tuple[Atom, ...] = field(default=(), compare=False, repr=False)
    seal: tuple[object, ...] = field(default=(), compare=False, repr=False)

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


SEALED: Final = tuple([name for name in Problem.__match_args__ if name not in ("unmentioned", "seal")])
"""The fields of a problem that are checked before it is searched."""


def seal(problem: Problem) -> Problem:
    """Seal `problem`, whose names have all been looked up, so that nobody looks them up again.

    Replacing a field by another object breaks its seal.
    """
    return replace(problem, seal=tuple([getattr(problem, name) for name in SEALED]))


def seal_like(problem: Problem, source: Problem) -> Problem:
    """Seal `problem`, which our own code made from `source`, if the seal of `source` is whole."""
    return problem if source.unsealed else seal(problem)


def find_constraint_on_unknown(problem: Problem) -> Constraint | None:
    """Return a constraint of `problem` that reads predicates with facts that are, or become, unknown; None without."""
    if not problem.unknown or not problem.constraints:
        return None
    hidden = {pattern.predicate for pattern in problem.unknown}
    axioms, grown = problem.domain.axioms, -1
    effects = [when for action in problem.domain.actions.values() for when in action.when]
    while grown != len(hidden):
        grown = len(hidden)
        hidden |= {axiom.predicate for axiom in axioms if _reads(axiom.condition, hidden)}
        hidden |= {name for when in effects if _reads(when.requires, hidden) for name in _written(when)}
    readers = (each for each in problem.constraints if any(_reads(condition, hidden) for condition in each.conditions))
    return next(readers, None)


def _written(when: When) -> list[str]:
    return [atom.predicate for atom in (*positive_atoms(when.provides), *negated_atoms(when.provides), *when.modifies)]


def _reads(formula: Formula, predicates: Collection[str]) -> bool:
    return any(atom.predicate in predicates for atom in atoms_in(formula))
