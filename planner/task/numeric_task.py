"""The ground task with numbers: a classical task, some of whose facts say that linear conditions hold.

Numeric variables are integers: the value of a fluent times the variable's `scale`. The fact of a condition holds where
its sum is not negative; nothing but the values of the variables changes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.lightweight import TYPE_CHECKING, dataclass
from planner.model.formulas import Atom
from planner.task.ground_task import Task

if TYPE_CHECKING:
    from fractions import Fraction

Terms = tuple[tuple[int, int], ...]
"""Variables and their weights, in the order of the variables."""


@dataclass(frozen=True, slots=True)
class NumericVariable:
    """A numeric fluent: its value is the variable divided by `scale`; `low` and `high` bound the variable."""

    fluent: Atom
    scale: int
    initial: int
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class LinearCondition:
    """`fact` holds where the sum of the variables times their weights, plus `constant`, is at least 0."""

    fact: int
    terms: Terms
    constant: int


@dataclass(frozen=True, slots=True)
class LinearEffect:
    """The variable becomes, or where `additive` grows by, the sum of `terms` plus `constant`."""

    variable: int
    additive: bool
    terms: Terms
    constant: int


@dataclass(frozen=True, slots=True)
class NumericEffects:
    """The `effects` that happen where all facts of one of the `conditions` hold; an empty condition always holds."""

    conditions: tuple[tuple[int, ...], ...]
    effects: tuple[LinearEffect, ...]


@dataclass(frozen=True, slots=True)
class NumericTask:
    """A task with numbers.

    `task` has a fact for each linear condition, but no action that changes one. `changes` are the numeric effects by
    action. Where a step's share of the metric depends on the state or is negative, the task is not `is_priced`: the
    actions cost 1; or `metric` has the weights of the variables in the metric, and the actions cost the rest.
    """

    task: Task
    variables: tuple[NumericVariable, ...]
    conditions: tuple[LinearCondition, ...]
    changes: Sequence[tuple[NumericEffects, ...]]
    is_priced: bool = True
    metric: tuple[tuple[int, Fraction], ...] = ()
