"""Features of problems in unified-planning: those that classical problems have here, and words for messages.

Other packages convert other kinds of problems. The name of an entry point in the group `forethought.unified_planning`
is the feature that marks the kind, such as `HIERARCHICAL`. It names a module with `FEATURES`, the features that the
kind has besides classical ones, and with `from_unified_planning(source)`. `planner.problem_kinds.ProblemKind` has the
conversion in the other direction.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

from planner.errors import InputError

if TYPE_CHECKING:
    import unified_planning.model as up
    from unified_planning.plans import Plan as ForeignPlan

    from planner.plan import Plan
    from planner.problem_kinds import OtherProblem
    from planner.validation.verdict import Verdict

SUPPORTED: Final = frozenset(
    {
        "ACTION_BASED",
        "ACTIONS_COST",
        "BOUNDED_TYPES",
        "CONDITIONAL_EFFECTS",
        "DECREASE_EFFECTS",
        "DISJUNCTIVE_CONDITIONS",
        "EQUALITIES",
        "EXISTENTIAL_CONDITIONS",
        "FINAL_VALUE",
        "FLAT_TYPING",
        "FLUENTS_IN_ACTIONS_COST",
        "FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
        "FLUENTS_IN_NUMERIC_ASSIGNMENTS",
        "FLUENTS_IN_OBJECT_ASSIGNMENTS",
        "FORALL_EFFECTS",
        "GENERAL_NUMERIC_PLANNING",
        "HIERARCHICAL_TYPING",
        "INCREASE_EFFECTS",
        "INT_FLUENTS",
        "INT_NUMBERS_IN_ACTIONS_COST",
        "NEGATIVE_CONDITIONS",
        "OBJECT_FLUENTS",
        "PLAN_LENGTH",
        "REAL_FLUENTS",
        "REAL_NUMBERS_IN_ACTIONS_COST",
        "SIMPLE_NUMERIC_PLANNING",
        "STATE_INVARIANTS",
        "STATIC_FLUENTS_IN_ACTIONS_COST",
        "STATIC_FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
        "STATIC_FLUENTS_IN_NUMERIC_ASSIGNMENTS",
        "STATIC_FLUENTS_IN_OBJECT_ASSIGNMENTS",
        "UNDEFINED_INITIAL_NUMERIC",
        "UNIVERSAL_CONDITIONS",
    }
)
"""The features of the problems that `planner.unified_planning.problem_reader` reads.

What has `GENERAL_NUMERIC_PLANNING` is read, simulated and validated; it is also solved where its conditions and effects
are linear, which unified-planning has no feature for.
"""

TIME: Final = frozenset(
    {
        "CONTINUOUS_TIME",
        "DURATION_INEQUALITIES",
        "FLUENTS_IN_DURATIONS",
        "INT_TYPE_DURATIONS",
        "MAKESPAN",
        "REAL_TYPE_DURATIONS",
        "STATIC_FLUENTS_IN_DURATIONS",
        "TIMED_EFFECTS",
    }
)
"""The features that problems in time have besides (`planner.unified_planning.timed_reader`)."""

_NUMBERS = "numeric fluents"
_TIME = "durative actions"
_INSIDE = "conditions or effects between the start and the end of actions"
_TASKS = "hierarchical task networks"
_SOFT = "soft goals"
_WORDS: Final = {
    "ACTIONS_COST": "action costs",
    "CONTINUOUS_TIME": _TIME,
    "DECREASE_EFFECTS": _NUMBERS,
    "DISCRETE_TIME": "time in whole steps",
    "DISJUNCTIVE_CONDITIONS": "disjunctions",
    "EQUALITIES": "equality",
    "FINAL_VALUE": "a metric on the final state",
    "FLAT_TYPING": "types",
    "FLUENTS_IN_ACTIONS_COST": "action costs that change with the state",
    "FLUENTS_IN_NUMERIC_ASSIGNMENTS": _NUMBERS,
    "STATIC_FLUENTS_IN_NUMERIC_ASSIGNMENTS": _NUMBERS,
    "FORALL_EFFECTS": "universal effects",
    "GENERAL_NUMERIC_PLANNING": _NUMBERS,
    "HIERARCHICAL": _TASKS,
    "HIERARCHICAL_TYPING": "type hierarchies",
    "INCREASE_EFFECTS": _NUMBERS,
    "INITIAL_TASK_NETWORK_VARIABLES": _TASKS,
    "EXTERNAL_CONDITIONS_AND_EFFECTS": "conditions or effects before the start or after the end of actions",
    "FLUENTS_IN_DURATIONS": "durations that change with the state",
    "INTERMEDIATE_CONDITIONS_AND_EFFECTS": _INSIDE,
    "INT_FLUENTS": _NUMBERS,
    "INT_NUMBERS_IN_ACTIONS_COST": "integer action costs",
    "INT_NUMBERS_IN_OVERSUBSCRIPTION": _SOFT,
    "INT_TYPE_DURATIONS": "durations that are integers",
    "MAKESPAN": "the makespan as the metric",
    "METHOD_PRECONDITIONS": _TASKS,
    "OVERSUBSCRIPTION": _SOFT,
    "PLAN_LENGTH": "plan length as the metric",
    "REAL_FLUENTS": _NUMBERS,
    "REAL_NUMBERS_IN_ACTIONS_COST": "action costs that are no integers",
    "REAL_NUMBERS_IN_OVERSUBSCRIPTION": _SOFT,
    "REAL_TYPE_DURATIONS": "durations that are no integers",
    "SIMPLE_NUMERIC_PLANNING": _NUMBERS,
    "STATIC_FLUENTS_IN_ACTIONS_COST": "static functions in action costs",
    "STATIC_FLUENTS_IN_DURATIONS": "functions in durations",
    "SELF_OVERLAPPING": "actions that overlap with themselves",
    "TASK_NETWORK_CONSTRAINTS": _TASKS,
    "TASK_ORDER_PARTIAL": _TASKS,
    "TASK_ORDER_TEMPORAL": _TASKS,
    "TASK_ORDER_TOTAL": _TASKS,
    "TIMED_EFFECTS": "changes at known times",
    "TIMED_GOALS": "goals at times",
    "UNDEFINED_INITIAL_SYMBOLIC": "undefined initial values",
}


def describe_features(other_features: Iterable[str]) -> str:
    """Return words for `other_features`, sorted."""
    return ", ".join(sorted({_WORDS.get(name, name.lower().replace("_", " ")) for name in other_features}))


GROUP: Final = "forethought.unified_planning"


class OtherIncoming(Protocol):
    """A problem of another kind, read from `source`, that maps plans both ways."""

    @property
    def problem(self) -> OtherProblem:
        """The problem in the model."""

    @property
    def source(self) -> up.Problem:
        """The problem as one of unified-planning."""

    def plan(self, plan: Plan) -> ForeignPlan:
        """Return a plan of ours as a plan for `source`."""

    def verdict(self, plan: ForeignPlan) -> Verdict:
        """Return whether a plan for `source` works."""


class OtherOutgoing(Protocol):
    """A problem of another kind as one of unified-planning, with the way back for plans."""

    @property
    def problem(self) -> up.Problem:
        """The problem as one of unified-planning."""

    def plan(self, plan: ForeignPlan) -> Plan:
        """Return a plan for `problem` as one of ours, with exact costs."""


@cache
def converters() -> dict[str, Any]:
    """Return the modules that convert other kinds of problems, by the feature that marks the kind."""
    found: dict[str, Any] = {}
    for entry in entry_points(group=GROUP):
        try:
            found.setdefault(entry.name, entry.load())
        except ImportError as error:
            raise InputError(
                f"the converter {entry.value} of {entry.name} problems cannot be imported: {error}"
            ) from error
    return found


def converter(other_features: frozenset[str]) -> Any:
    """Return the module that converts problems with `other_features`; None for classical problems."""
    return next((module for name, module in converters().items() if name in other_features), None)


def other_features() -> frozenset[str]:
    """Return the features that other kinds of problems have besides classical ones."""
    return frozenset().union(*(module.FEATURES for module in converters().values()))
