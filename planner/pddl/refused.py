"""What PDDL can say beyond the ADL level, by the word that says it: refused by name, with who would take it."""

from __future__ import annotations

from planner.annotations import Final
from planner.errors import UnsupportedError
from planner.pddl.trees import Source, Tree

_TEMPORAL: Final = "unified-planning reads it itself, for engines such as 'tamer' or 'aries'"
_NUMERIC: Final = "unified-planning reads it itself, for engines such as 'enhsp' or 'tamer'"
_HYBRID: Final = "engines for PDDL+ take it, such as 'enhsp'"
_HIERARCHICAL: Final = "write it to an .hddl file"
_TRAJECTORY: Final = "state it in the problem, in (:constraints …)"
_PREFERENCE: Final = "preferences stand at the top of goals, preconditions and constraints, under 'and' and 'forall'"
_CONFORMANT: Final = "state which facts hold"

Reason = tuple[str, str]
"""What the construct is called, and the hint."""

SECTIONS: Final[dict[str, Reason]] = {
    ":durative-action": ("durative action", _TEMPORAL),
    ":process": ("process", _HYBRID),
    ":event": ("event", _HYBRID),
    ":constraints": ("trajectory constraints", _TRAJECTORY),
    ":safety": ("safety constraints", _TRAJECTORY),
    ":task": ("task of a hierarchy", _HIERARCHICAL),
    ":method": ("method of a hierarchy", _HIERARCHICAL),
    ":htn": ("initial task network", _HIERARCHICAL),
    ":timeless": ("timeless facts", "state them in the problem's (:init …)"),
    ":axiom": ("axiom of PDDL 1.2", "write it as '(:derived (predicate ?x) condition)'"),
    ":class": ("class", _HYBRID),
}

_TRAJECTORY_WORDS: Final = frozenset(
    {"always", "sometime", "within", "at-most-once", "sometime-after", "sometime-before"}
    | {"always-within", "hold-during", "hold-after"}
)

CONDITIONS: Final[dict[str, Reason]] = {
    **dict.fromkeys(("<", ">", "<=", ">="), ("numeric comparison", _NUMERIC)),
    **dict.fromkeys(_TRAJECTORY_WORDS, ("trajectory constraint", _TRAJECTORY)),
    "preference": ("preference", _PREFERENCE),
    "at": ("timed condition", _TEMPORAL),
    "over": ("timed condition", _TEMPORAL),
}

EFFECTS: Final[dict[str, Reason]] = {
    **dict.fromkeys(("assign", "decrease", "scale-up", "scale-down"), ("numeric effect", _NUMERIC)),
    "at": ("timed effect", _TEMPORAL),
}

INITIAL: Final[dict[str, Reason]] = {
    "oneof": ("unknown initial fact", _CONFORMANT),
    "unknown": ("unknown initial fact", _CONFORMANT),
    "or": ("unknown initial fact", _CONFORMANT),
    "forall": ("quantified initial fact", _CONFORMANT),
    "probabilistic": ("unknown initial fact", _CONFORMANT),
}

NUMERIC_COMPARISON: Final[Reason] = ("numeric comparison", _NUMERIC)
NUMERIC_EFFECT: Final[Reason] = ("numeric effect on what is not (total-cost)", _NUMERIC)
UNIVERSAL_CHANCE: Final[Reason] = (
    "outcome for all objects of a variable",
    "write its effects for each object; 'forall' may delete all facts of a pattern, whatever holds",
)
COST_OF_OUTCOME: Final[Reason] = (
    "cost that depends on the outcome",
    "write one '(increase (total-cost) …)' outside of the outcomes, such as their average",
)
MANY_OUTCOMES: Final[Reason] = ("action with more than 1000 outcomes", "let fewer effects come about independently")
MANY_CONDITIONS: Final[Reason] = (
    "action whose outcomes have more than 6 conditions",
    "write an action for each case, with the conditions in its ':precondition'",
)
OUTCOMES_OF_TASKS: Final[Reason] = (
    "outcome under a condition, in hierarchical domains,",
    "write an action for each case, with the condition in its ':precondition'",
)
CONDITIONAL_COST: Final[Reason] = ("cost under a condition", _NUMERIC)
COST_ARITHMETIC: Final[Reason] = ("cost by other arithmetic than '+'", _NUMERIC)
OBJECT_FUNCTION: Final[Reason] = ("function whose values are objects", "use a predicate with one more argument")
TIMED_FACT: Final[Reason] = ("timed initial fact", _TEMPORAL)
CONSTRAINT: Final[Reason] = (
    "constraint",
    "'always', 'sometime', 'at-most-once' and 'sometime-before' are read, and more in Python or YAML",
)
METRIC: Final[Reason] = ("metric other than a sum of the total cost and of violated preferences", _NUMERIC)


def unsupported(
    source: Source, reason: Reason, tree: Tree, index: int | None = None, name: str = ""
) -> UnsupportedError:
    """Return the refusal of the construct at `tree` or its item `index`; `name` is what the file calls it."""
    construct, hint = reason
    return UnsupportedError(f"{construct}{f' {name!r}' if name else ''} at {source.location(tree, index)}", hint)
