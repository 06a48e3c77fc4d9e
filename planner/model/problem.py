"""The immutable problem: objects, initial facts, goal, constraints, budgets and deadline."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from enum import Enum

from planner.lightweight import Final, dataclass, field, replace
from planner.model.actions import Constraint, Done, When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel
from planner.model.formulas import TRUE, Atom, Formula, Number, Object, atoms_in

COST: Final = "cost"
"""The budget on the plan's cost; all other budgets name resources that actions use."""


class Metric(Enum):
    """What a plan's cost is."""

    COST = "the sum of the actions' costs"
    LENGTH = "the number of steps"


@dataclass(frozen=True, slots=True)
class SoftGoal:
    """A wish: `utility` is what a plan gains when `condition` holds at its end."""

    condition: Formula
    utility: Number

    def __str__(self) -> str:
        return str(self.condition)


@dataclass(frozen=True, slots=True)
class Goal:
    """What must hold at the end (`hard`), and what would be good to have (`soft`)."""

    hard: Formula = TRUE
    soft: tuple[SoftGoal, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A domain with its objects, its initial state and its goal.

    `initial` holds the facts that are true; all others are false (closed world), except those that a pattern in
    `unknown` covers. `ran` are the actions, as ground atoms `action(args…)`, that ran before the initial state, for
    those that come `after` others. `values` are those of the static functions. `entities` are the Python values that
    were given for objects, by name: opaque, and no part of comparison.

    `unmentioned` are facts that were stated and of whose predicates the domain knows nothing: nothing rests on them.
    `seal` has the fields as they were when all names in them were looked up, see `seal`.

    `constraints` hold on the way to the goal. `budgets` limit what a plan costs (`COST`) and uses of each resource;
    `deadline`, in seconds, its makespan: the time that it takes where steps that need not wait for each other run at
    once. `likely` gives the probabilities of facts that `unknown` covers.
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
        """Whether there are budgets, or a deadline."""
        return bool(self.budgets) or self.deadline is not None

    @property
    def unsealed(self) -> tuple[str, ...]:
        """The fields that were not looked up since they were given, in their order: all of them without a seal."""
        if not self.seal:
            return SEALED
        return tuple([name for name, was in zip(SEALED, self.seal, strict=True) if getattr(self, name) is not was])


SEALED: Final = (
    "name",
    "domain",
    "objects",
    "initial",
    "goal",
    "values",
    "metric",
    "unknown",
    "likely",
    "constraints",
    "budgets",
    "deadline",
    "ran",
    "entities",
)
"""The fields of a problem that are checked before it is searched."""


def seal(problem: Problem) -> Problem:
    """Return `problem`, of which it is known that all its names mean something: nobody looks them up again.

    The seal is broken for each field that is replaced by another object.
    """
    return replace(problem, seal=tuple([getattr(problem, name) for name in SEALED]))


def seal_like(problem: Problem, source: Problem) -> Problem:
    """Return `problem`, made of `source` by our own code, with a seal if `source` has one that is whole."""
    return problem if source.unsealed else seal(problem)


def find_constraint_on_unknown(problem: Problem) -> Constraint | None:
    """Return a constraint of `problem` that reads predicates of which facts are, or become, unknown; else None."""
    if not problem.unknown or not problem.constraints:
        return None
    hidden = {pattern.predicate for pattern in problem.unknown}
    axioms, grown = problem.domain.axioms, -1
    effects = [when for action in problem.domain.actions.values() for when in action.when]
    while grown != len(hidden):
        grown = len(hidden)
        hidden |= {axiom.predicate for axiom in axioms if _reads(axiom.condition, hidden)}
        hidden |= {name for when in effects if _reads(when.requires, hidden) for name in _written(when)}
    return _constraint_on(problem, hidden)


def _constraint_on(problem: Problem, predicates: Collection[str]) -> Constraint | None:
    for constraint in problem.constraints:
        for happening in (constraint.what, constraint.other):
            if happening is not None and not isinstance(happening, Done) and _reads(happening, predicates):
                return constraint
    return None


def _written(when: When) -> list[str]:
    return [atom.predicate for atom in (*positive_atoms(when.provides), *negated_atoms(when.provides), *when.modifies)]


def _reads(formula: Formula, predicates: Collection[str]) -> bool:
    return any(atom.predicate in predicates for atom in atoms_in(formula))
