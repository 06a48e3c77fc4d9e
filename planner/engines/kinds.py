"""What unified-planning calls the features of a problem: those that we take, and words for all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SUPPORTED: Final = frozenset(
    {
        "ACTION_BASED",
        "ACTIONS_COST",
        "BOUNDED_TYPES",
        "CONDITIONAL_EFFECTS",
        "DISJUNCTIVE_CONDITIONS",
        "EQUALITIES",
        "EXISTENTIAL_CONDITIONS",
        "FLAT_TYPING",
        "FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
        "FLUENTS_IN_OBJECT_ASSIGNMENTS",
        "FORALL_EFFECTS",
        "HIERARCHICAL_TYPING",
        "INT_NUMBERS_IN_ACTIONS_COST",
        "NEGATIVE_CONDITIONS",
        "OBJECT_FLUENTS",
        "PLAN_LENGTH",
        "REAL_NUMBERS_IN_ACTIONS_COST",
        "STATE_INVARIANTS",
        "STATIC_FLUENTS_IN_ACTIONS_COST",
        "STATIC_FLUENTS_IN_BOOLEAN_ASSIGNMENTS",
        "STATIC_FLUENTS_IN_OBJECT_ASSIGNMENTS",
        "UNDEFINED_INITIAL_NUMERIC",
        "UNIVERSAL_CONDITIONS",
    }
)
"""The features of the problems that `planner.engines.incoming` reads.

Numbers occur in costs only, where they are static: numeric fluents elsewhere make unified-planning name `INT_FLUENTS`
or `REAL_FLUENTS`, which are not among these.
"""

_NUMBERS = "numeric fluents"
_TIME = "durative actions or timed effects"
_TASKS = "hierarchical task networks"
_SOFT = "soft goals"
_WORDS: Final = {
    "ACTIONS_COST": "action costs",
    "CONTINUOUS_TIME": _TIME,
    "DECREASE_EFFECTS": _NUMBERS,
    "DISCRETE_TIME": _TIME,
    "DISJUNCTIVE_CONDITIONS": "disjunctions",
    "EQUALITIES": "equality",
    "FINAL_VALUE": "a metric on the final state",
    "FLAT_TYPING": "types",
    "FLUENTS_IN_ACTIONS_COST": "action costs that change with the state",
    "FLUENTS_IN_NUMERIC_ASSIGNMENTS": _NUMBERS,
    "FORALL_EFFECTS": "universal effects",
    "GENERAL_NUMERIC_PLANNING": _NUMBERS,
    "HIERARCHICAL": _TASKS,
    "HIERARCHICAL_TYPING": "type hierarchies",
    "INCREASE_EFFECTS": _NUMBERS,
    "INITIAL_TASK_NETWORK_VARIABLES": _TASKS,
    "INTERMEDIATE_CONDITIONS_AND_EFFECTS": _TIME,
    "INT_FLUENTS": _NUMBERS,
    "INT_NUMBERS_IN_ACTIONS_COST": "integer action costs",
    "INT_NUMBERS_IN_OVERSUBSCRIPTION": _SOFT,
    "INT_TYPE_DURATIONS": _TIME,
    "METHOD_PRECONDITIONS": _TASKS,
    "OVERSUBSCRIPTION": _SOFT,
    "PLAN_LENGTH": "plan length as the metric",
    "REAL_FLUENTS": _NUMBERS,
    "REAL_NUMBERS_IN_ACTIONS_COST": "action costs that are no integers",
    "REAL_NUMBERS_IN_OVERSUBSCRIPTION": _SOFT,
    "REAL_TYPE_DURATIONS": _TIME,
    "SIMPLE_NUMERIC_PLANNING": _NUMBERS,
    "STATIC_FLUENTS_IN_ACTIONS_COST": "static functions in action costs",
    "STATIC_FLUENTS_IN_DURATIONS": _TIME,
    "TASK_NETWORK_CONSTRAINTS": _TASKS,
    "TASK_ORDER_PARTIAL": _TASKS,
    "TASK_ORDER_TEMPORAL": _TASKS,
    "TASK_ORDER_TOTAL": _TASKS,
    "TIMED_EFFECTS": _TIME,
    "TIMED_GOALS": _TIME,
    "UNDEFINED_INITIAL_SYMBOLIC": "undefined initial values",
}


def in_words(features: Iterable[str]) -> str:
    """Return the names of `features` as people say them, sorted."""
    return ", ".join(sorted({_WORDS.get(name, name.lower().replace("_", " ")) for name in features}))
