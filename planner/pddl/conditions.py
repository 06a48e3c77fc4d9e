"""Conditions: from trees to formulas."""

from __future__ import annotations

from collections.abc import Callable

from planner.annotations import Final
from planner.model import TRUE, And, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.pddl import refused
from planner.pddl.refused import unsupported
from planner.pddl.trees import Source, Tree, counted, quote, ungrouped
from planner.pddl.typed import Types
from planner.pddl.vocabulary import Scope, Vocabulary, widened

_NUMBER: Final = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"


def read_condition(tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    """Return the formula that `tree` is; `()` is always true.

    Raises `PddlError` for what is no condition or names what is not known, `UnsupportedError` for conditions beyond the
    ADL level.
    """
    if not tree:
        return TRUE
    head = tree[0]
    if head.__class__ is not str:
        raise words.source.error(f"found {quote(tree)}, expected a condition", tree, None, ungrouped(tree))
    if head in words.arities and (head not in _KEYWORDS or is_flat(tree)):
        return words.atom(tree, scope)
    reader = _READERS.get(head) or _READERS.get(head.lower())
    if reader is not None:
        return reader(tree, words, scope)
    if head in refused.CONDITIONS and not is_flat(tree):
        raise unsupported(words.source, refused.CONDITIONS[head], tree)
    if head == "when" and not is_flat(tree):
        message = f"found {quote(tree)}, expected a condition: 'when' belongs to effects"
        raise words.source.error(message, tree, None, "use 'imply'")
    return words.atom(tree, scope)


def is_number(word: str) -> bool:
    """Return whether `word` is a number as PDDL writes them."""
    if word[:1] not in "+-.0123456789":
        return False
    if word.isascii() and word.isdigit():
        return True
    import re  # noqa: PLC0415 - most files have no other numbers

    return re.fullmatch(_NUMBER, word, re.IGNORECASE | re.ASCII) is not None


def is_flat(tree: Tree) -> bool:
    """Return whether `tree` has only words and is no empty `(and)` or `(or)`: then it may be an atom."""
    return all(item.__class__ is str for item in tree) and (len(tree) > 1 or tree[0] not in ("and", "or"))


def subtree(source: Source, tree: Tree, index: int, what: str) -> Tree:
    """Return the item `index` of `tree`, which has to be a list."""
    if index >= len(tree):
        raise source.error(f"found the end of {quote(tree)}, expected {what}", tree, len(tree), "add it")
    item = tree[index]
    if not isinstance(item, list):
        message = f"found {quote(item)}, expected {what} in parentheses"
        raise source.error(message, tree, index, f"write '({item})'" if item[0] not in ":?" else None)
    return item


def check_length(source: Source, tree: Tree, length: int, what: str) -> None:
    """Raise unless `tree` has `length` items; `what` says what follows its first."""
    if len(tree) > length:
        hint = "join conditions with '(and …)'"
        raise source.error(f"found {quote(tree[length])} after the end of {what}", tree, length, hint)


def _parts(tree: Tree, words: Vocabulary, scope: Scope) -> tuple[Formula, ...]:
    source = words.source
    return tuple(
        [read_condition(subtree(source, tree, index, "a condition"), words, scope) for index in range(1, len(tree))]
    )


def _and(tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    return And(_parts(tree, words, scope))


def _or(tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    return Or(_parts(tree, words, scope))


def _not(tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    part = subtree(words.source, tree, 1, "a condition")
    check_length(words.source, tree, 2, "'not'")
    return Not(read_condition(part, words, scope))


def _imply(tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    premise = subtree(words.source, tree, 1, "a condition")
    conclusion = subtree(words.source, tree, 2, "a second condition")
    check_length(words.source, tree, 3, "'imply'")
    return Imply(read_condition(premise, words, scope), read_condition(conclusion, words, scope))


def _quantified(tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    variables = words.types.variables(subtree(words.source, tree, 1, "variables"))
    part = subtree(words.source, tree, 2, "a condition")
    check_length(words.source, tree, 3, f"{quote(tree[0])}")
    inner, renamed = widened(scope, variables)
    quantifier = Forall if tree[0].lower() == "forall" else Exists
    return quantifier(renamed, read_condition(part, words, inner))


def _equals(tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    if any(isinstance(item, list) or (is_number(item) and not words.unresolved) for item in tree[1:]):
        raise unsupported(words.source, refused.NUMERIC_COMPARISON, tree)
    if len(tree) != 3:
        message = f"'=' has {counted(len(tree) - 1, 'argument')} here, expected 2"
        raise words.source.error(message, tree, None, "write '(= a b)'")
    left, right = words.terms(tree, scope)
    return Equals(left, right)


_READERS: Final[dict[str, Callable[[Tree, Vocabulary, Scope], Formula]]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "imply": _imply,
    "forall": _quantified,
    "exists": _quantified,
    "=": _equals,
}
_KEYWORDS: Final = frozenset(_READERS) | frozenset(refused.CONDITIONS)


def parse_condition(text: str, *, source: str = "<condition>") -> Formula:
    """Return the formula that `text` writes as one PDDL expression, such as `(or (ready ?x) (done ?x))`.

    Names are taken as they are written and none is looked up; a variable that hides another gets a new name.

    Raises `PddlError` for what is no condition, `UnsupportedError` for what is beyond the ADL level.
    """
    document = Source(text, source, keep_case=True)
    if not document.expressions:
        raise document.error("found nothing, expected a condition", document.expressions, 0, "'()' is always true")
    tree = subtree(document, document.expressions, 0, "a condition")
    check_length(document, document.expressions, 1, "the condition")
    words = Vocabulary(document, Types(document, {}, unresolved=True), {}, {}, {}, unresolved=True)
    return read_condition(tree, words, {})
