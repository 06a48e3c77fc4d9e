"""Constraints on the variables of a network: equalities, their negations, and types."""

from __future__ import annotations

from collections.abc import Iterable

from htn.hddl.tasks import Bound, read_terms, unbound
from planner.annotations import Final
from planner.model import Formula, Variable
from planner.model.formulas import conjunction
from planner.pddl.conditions import read_condition
from planner.pddl.trees import Tree, quote, ungrouped
from planner.pddl.typed import Types
from planner.pddl.vocabulary import Vocabulary

_TYPE_WORDS: Final = frozenset({"sort", "sortof", "type", "typeof"})
"""How files spell `(sortof ?x - type)`."""


def read_constraints(
    tree: Tree, words: Vocabulary, variables: Iterable[Variable]
) -> tuple[Formula, tuple[Variable, ...]]:
    """Return the equalities and inequalities of `tree`, and `variables` with the types that it demands.

    Raises `PddlError` for other conditions, and where no object may be of a variable's type and the one demanded.
    """
    bound = {variable.name: variable for variable in variables}
    found: list[Formula] = []
    for index, part in enumerate(tree[1:] if tree[:1] == ["and"] else [tree] if tree else [], start=1):
        if not isinstance(part, list) or not part or not isinstance(part[0], str):
            message = f"found {quote(part)}, expected a constraint such as '(not (= ?x ?y))'"
            raise words.source.error(message, tree, None if part is tree else index, ungrouped(part))
        if part[0] in _TYPE_WORDS and part[0] not in words.arities:
            _narrow(part, words, bound)
        else:
            found.append(_relation(part, words, bound))
    return conjunction(found), tuple(bound.values())


def _relation(tree: Tree, words: Vocabulary, bound: Bound) -> Formula:
    match tree:
        case (["=", *_] as equation) | ["not", ["=", *_] as equation]:
            read_terms(equation, words, bound)
            return read_condition(tree, words, bound)
        case _:
            message = f"found {quote(tree)}, expected a constraint such as '(not (= ?x ?y))'"
            hint = "what has to hold in a state belongs to ':precondition'"
            raise words.source.error(message, tree, None, hint)


def _narrow(tree: Tree, words: Vocabulary, bound: dict[str, Variable]) -> None:
    """Give the variable of `(sortof ?x - type)` that type where its own is wider."""
    for wanted in words.types.variables(tree, 1):
        before = bound.get(wanted.name)
        if before is None:
            raise unbound(words, tree, 1, bound)
        types = _common(words.types, before.types, wanted.types)
        if not types:
            message = f"{quote(wanted.name)} is of type '{' or '.join(before.types)}', and no object of that is one of "
            raise words.source.error(
                f"{message}{quote(' or '.join(wanted.types))}", tree, None, "correct one of the types"
            )
        bound[wanted.name] = Variable(wanted.name, types)


def _common(types: Types, one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the widest types that are below, or among, both; `one` as it is where it says enough."""
    others = types.below(other)
    if others.issuperset(one):
        return one
    both = types.below(one) & others
    return tuple([name for name in types.declared if name in both and not both & (types.above([name]) - {name})])
