"""The model's terms, lists, conditions and effects as PDDL text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from planner.annotations import Final
from planner.errors import UnsupportedError
from planner.model import (
    OPEN,
    TRUE,
    Action,
    And,
    Atom,
    CostTerm,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Literal,
    Not,
    Number,
    Or,
    Outcome,
    Predicate,
    Variable,
    When,
)
from planner.model.formulas import walk
from planner.pddl.typed import UNTYPED
from planner.records import replace

HINT: Final = "planner.pddl.export compiles it first"

_DIGITS: Final = 28
"""Digits of numbers that are read."""

Typed = tuple[str, tuple[str, ...]]
"""A name and its types."""


def atom(item: Atom) -> str:
    """Return `(predicate argument …)`."""
    return f"({' '.join((item.predicate, *item.args))})"


def number(value: Number) -> str:
    """Return `value` in full, without an exponent."""
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def typed(entries: Iterable[Typed]) -> str:
    """Return a typed list; types are left out where no entry from there on has one."""
    groups = [(types, [name for name, _ in group]) for types, group in groupby(entries, key=lambda entry: entry[1])]
    tail = groups.pop()[1] if groups and groups[-1][0] == UNTYPED else []
    return " ".join([*(f"{' '.join(names)} - {_type(types)}" for types, names in groups), *tail])


def _type(types: tuple[str, ...]) -> str:
    return types[0] if len(types) == 1 else f"(either {' '.join(types)})"


def variables(found: Sequence[Variable]) -> str:
    """Return `(?x - type …)`."""
    return f"({typed((variable.name, variable.types) for variable in found)})"


def condition(formula: Formula) -> str:
    """Return `formula` on one line."""
    match formula:
        case Atom():
            return atom(formula)
        case Equals(left, right):
            words = ["=", left, right]
        case Not(part):
            words = ["not", condition(part)]
        case And(parts) | Or(parts):
            words = ["and" if isinstance(formula, And) else "or", *map(condition, parts)]
        case Imply(premise, conclusion):
            words = ["imply", condition(premise), condition(conclusion)]
        case Forall(bound, part) | Exists(bound, part):
            words = ["forall" if isinstance(formula, Forall) else "exists", variables(bound), condition(part)]
    return f"({' '.join(words)})"


def block(formula: Formula, indent: str) -> str:
    """Return `formula` with each part of an outermost conjunction on a line of its own."""
    if isinstance(formula, And) and len(formula.parts) > 1:
        return conjoined(map(condition, formula.parts), indent)
    return condition(formula)


def conjoined(parts: Iterable[str], indent: str) -> str:
    """Return the conjunction of `parts`, one a line."""
    lines = "".join(f"\n{indent}  {part}" for part in parts)
    return f"(and{lines})"


def effects(action: Action, predicates: Mapping[str, Predicate], *, costs: bool) -> list[str]:
    """Return the effects of `action`, and increases of the total cost where `costs`.

    Raises `UnsupportedError` for costs that Python computes: PDDL has no word for them.
    """
    always, outcomes = split_common(action.outcomes) if action.outcomes else (action.provides, ())
    found = [*map(condition, always), *([_chance(outcomes, predicates)] if outcomes else [])]
    found.extend(map(_when, action.when))
    if costs:
        found.extend(f"(increase (total-cost) {_cost(term, action)})" for term in action.cost)
    return found


def split_common(outcomes: Sequence[Outcome]) -> tuple[tuple[Literal, ...], tuple[Outcome, ...]]:
    """Return what all of `outcomes` provide, and each without that."""
    common = tuple([each for each in outcomes[0].provides if all(each in other.provides for other in outcomes)])
    rest = [
        replace(outcome, provides=tuple([each for each in outcome.provides if each not in common]))
        for outcome in outcomes
    ]
    return common, tuple(rest)


def _chance(outcomes: Sequence[Outcome], predicates: Mapping[str, Predicate]) -> str:
    """Return the effect of which one of `outcomes` comes: what is left of 1 is that nothing changes."""
    shown = [
        f"{_probability(each.probability)} {_outcome(each, predicates)}"
        for place, each in enumerate(outcomes)
        if place == 0 or each.provides or each.modifies
    ]
    return f"(probabilistic {' '.join(shown)})"


def _outcome(outcome: Outcome, predicates: Mapping[str, Predicate]) -> str:
    parts = [*map(condition, outcome.provides), *(_retraction(each, predicates) for each in outcome.modifies)]
    return parts[0] if len(parts) == 1 else f"({' '.join(['and', *parts])})"


def _retraction(pattern: Atom, predicates: Mapping[str, Predicate]) -> str:
    """Return the effect that deletes all facts of `pattern`."""
    parameters = predicates[pattern.predicate].parameters
    names = [f"?any{place}" if arg == OPEN else arg for place, arg in enumerate(pattern.args)]
    bound = [
        Variable(name, parameter.types)
        for name, parameter, arg in zip(names, parameters, pattern.args, strict=True)
        if arg == OPEN
    ]
    return f"(forall {variables(bound)} (not {atom(Atom(pattern.predicate, tuple(names)))}))"


def _probability(share: Decimal) -> str:
    """Return a probability in full: as a fraction where it has more digits than are read."""
    written = number(share.normalize())
    if len(written) <= _DIGITS:
        return written
    above, below = share.as_integer_ratio()
    return f"{above}/{below}"


def _when(effect: When) -> str:
    text = _literals(effect.provides)
    if effect.requires != TRUE:
        text = f"(when {condition(effect.requires)} {text})"
    return f"(forall {variables(effect.variables)} {text})" if effect.variables else text


def _literals(literals: tuple[Literal, ...]) -> str:
    return condition(literals[0]) if len(literals) == 1 else condition(And(literals))


def _cost(term: CostTerm, action: Action) -> str:
    if isinstance(term, Atom):
        return atom(term)
    if isinstance(term, int | Decimal):
        return number(term)
    raise UnsupportedError(
        f"a cost of '{action.name}' that Python computes, in PDDL", "export the problem with `export`"
    )


_FEATURES: Final[dict[type[Formula], str]] = {
    Equals: ":equality",
    Or: ":disjunctive-preconditions",
    Imply: ":disjunctive-preconditions",
    Forall: ":universal-preconditions",
    Exists: ":existential-preconditions",
}


def features(formula: Formula) -> Iterator[str]:
    """Yield the requirements of `formula`, with repetitions."""
    for part in walk(formula):
        if type(part) in _FEATURES:
            yield _FEATURES[type(part)]
        elif isinstance(part, Not) and isinstance(part.part, Atom):
            yield ":negative-preconditions"
        elif isinstance(part, Not) and not isinstance(part.part, Equals):
            yield ":disjunctive-preconditions"
