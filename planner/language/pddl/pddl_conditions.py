"""Read conditions, constraints and preferences of PDDL (PDDL 3: Gerevini et al., 2009).

`instantiate` writes `forall` over constraints and preferences out over the objects of the problem. Each instance of a
preference is a soft goal or soft constraint of its own, worth what the metric says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from planner.language.pddl import syntax
from planner.language.pddl.pddl_numbers import FOREIGN_RELATIONS, compares_numbers, is_relation, read_comparison
from planner.language.pddl.pddl_vocabulary import Scope, Types, Vocabulary, extend_scope
from planner.language.pddl.syntax import Source, Tree, pluralize, quote, refuse_construct, suggest_grouping
from planner.lightweight import Final, dataclass, replace
from planner.model.actions import Constraint, ConstraintKind, Stated
from planner.model.formulas import (
    RELATIONS,
    TRUE,
    And,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Variable,
    substitute,
)


def read_condition(tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    """Read the condition `tree`; `()` is always true.

    Raises `PddlError` for what is no condition or names what is not known, `UnsupportedError` for conditions beyond the
    ADL level.
    """
    if not tree:
        return TRUE
    head = tree[0]
    if head.__class__ is not str:
        raise words.source.error(f"found {quote(tree)}, expected a condition", tree, None, suggest_grouping(tree))
    if head in words.arities and (head not in _KEYWORDS or is_flat(tree)):
        return words.atom(tree, scope)
    word = head if head in _WORDS else head.lower()
    if word in _WORDS:
        return _read_compound(word, tree, words, scope)
    if is_relation(head):
        return read_comparison(tree, words, scope)
    if head in syntax.CONDITIONS and not is_flat(tree):
        raise refuse_construct(words.source, syntax.CONDITIONS[head], tree)
    if head == "when" and not is_flat(tree):
        message = f"found {quote(tree)}, expected a condition: 'when' belongs to effects"
        raise words.source.error(message, tree, None, "use 'imply'")
    if head in FOREIGN_RELATIONS and not words.unresolved:
        raise words.source.error(f"found {quote(head)}, expected a condition", tree, 0, FOREIGN_RELATIONS[head])
    return words.atom(tree, scope)


def is_flat(tree: Tree) -> bool:
    """Return whether `tree` may be an atom: it has only words, and is no empty `(and)` or `(or)`."""
    return all(item.__class__ is str for item in tree) and (len(tree) > 1 or tree[0] not in ("and", "or"))


def subtree(source: Source, tree: Tree, index: int, what: str) -> Tree:
    """Return the item `index` of `tree`, which must be a list; messages call it `what`."""
    if index >= len(tree):
        raise source.error(f"found the end of {quote(tree)}, expected {what}", tree, len(tree), "add it")
    item = tree[index]
    if not isinstance(item, list):
        message = f"found {quote(item)}, expected {what} in parentheses"
        raise source.error(message, tree, index, f"write '({item})'" if item[0] not in ":?" else None)
    return item


def check_length(source: Source, tree: Tree, length: int, what: str) -> None:
    """Raise an error if `tree`, which messages call `what`, has more than `length` items."""
    if len(tree) > length:
        hint = "join conditions with '(and …)'"
        raise source.error(f"found {quote(tree[length])} after the end of {what}", tree, length, hint)


def _read_compound(word: str, tree: Tree, words: Vocabulary, scope: Scope) -> Formula:
    """Read the condition `tree`, which begins with `word` of `_WORDS` in any case."""
    source = words.source
    match word:
        case "and" | "or":
            trees = [subtree(source, tree, index, "a condition") for index in range(1, len(tree))]
            parts = tuple([read_condition(each, words, scope) for each in trees])
            return And(parts) if word == "and" else Or(parts)
        case "not":
            part = subtree(source, tree, 1, "a condition")
            check_length(source, tree, 2, "'not'")
            return Not(read_condition(part, words, scope))
        case "imply":
            premise = subtree(source, tree, 1, "a condition")
            conclusion = subtree(source, tree, 2, "a second condition")
            check_length(source, tree, 3, "'imply'")
            return Imply(read_condition(premise, words, scope), read_condition(conclusion, words, scope))
        case "=":
            if compares_numbers(tree, words, scope):
                return read_comparison(tree, words, scope)
            if len(tree) != 3:
                message = f"'=' has {pluralize(len(tree) - 1, 'argument')} here, expected 2"
                raise source.error(message, tree, None, "write '(= a b)'")
            return Equals(*words.terms(tree, scope))
    variables = words.types.variables(subtree(source, tree, 1, "variables"))
    part = subtree(source, tree, 2, "a condition")
    check_length(source, tree, 3, quote(tree[0]))
    inner, renamed = extend_scope(scope, variables)
    quantifier = Forall if word == "forall" else Exists
    return quantifier(renamed, read_condition(part, words, inner))


_WORDS: Final = frozenset({"and", "or", "not", "imply", "forall", "exists", "="})
_KEYWORDS: Final = _WORDS | frozenset(syntax.CONDITIONS) | frozenset(RELATIONS)


def parse_condition(text: str, *, source: str = "<condition>") -> Formula:
    """Parse one PDDL expression, such as `(or (ready ?x) (done ?x))`.

    Names stay as they are written, and none is looked up; a variable that hides another gets a new name.

    Raises `PddlError` for what is no condition, `UnsupportedError` for what is beyond the ADL level.
    """
    document = Source(text, source, keep_case=True)
    if not document.expressions:
        raise document.error("found nothing, expected a condition", document.expressions, 0, "'()' is always true")
    tree = subtree(document, document.expressions, 0, "a condition")
    check_length(document, document.expressions, 1, "the condition")
    words = Vocabulary(document, Types(document, {}, unresolved=True), {}, {}, {}, unresolved=True)
    return read_condition(tree, words, {})


Wanted = Formula | Constraint
"""A condition at the end of the plan, or a constraint on the way."""


def has_preferences(tree: Tree, words: Vocabulary) -> bool:
    """Return whether the goal `tree` has preferences."""
    if not tree:
        return False
    if _is_word(tree, "preference", words):
        return True
    inner = [part for part in tree[1:] if isinstance(part, list)] if tree[0] in ("and", "forall") else ()
    return any(has_preferences(part, words) for part in inner)


def read_goal(tree: Tree, words: Vocabulary) -> Iterator[Stated]:
    """Read the parts of a goal with preferences; raises as `read_condition` does."""
    return _Reader(words, lambda part, scope: read_condition(part, words, scope)).read(tree, {}, (), "")


def read_precondition(tree: Tree, words: Vocabulary, scope: Scope) -> tuple[list[Formula], tuple[Stated, ...]]:
    """Split the precondition `tree` into hard conditions and preferences."""
    reader = _Reader(words, lambda part, inner: read_condition(part, words, inner))
    stated = list(reader.read(tree, scope, (), ""))
    hard = [
        Forall(each.variables, each.wanted) if each.variables else each.wanted
        for each in stated
        if not each.preference and not isinstance(each.wanted, Constraint)
    ]
    return hard, tuple([each for each in stated if each.preference])


def read_constraints(section: Tree, words: Vocabulary) -> Iterator[Stated]:
    """Read the constraints of the section `(:constraints …)`; raises as `read_condition` does."""
    tree = subtree(words.source, section, 1, "constraints")
    check_length(words.source, section, 2, "the constraints")
    return _Reader(words, lambda part, scope: _read_constraint(part, words, scope)).read(tree, {}, (), "")


def instantiate(stated: Iterable[Stated], words: Vocabulary) -> Iterator[Stated]:
    """Instantiate each of `stated` for all objects that its variables range over."""
    for each in stated:
        names = [variable.name for variable in each.variables]
        extents = [[name for name in words.objects if name in words.extent(one.types)] for one in each.variables]
        for objects in itertools.product(*extents):
            yield Stated(_bind(each.wanted, dict(zip(names, objects, strict=True))), each.preference)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads preferences and `forall` around conditions or constraints; `leaf` reads these."""

    words: Vocabulary
    leaf: Callable[[Tree, Scope], Wanted]

    def read(self, tree: Tree, scope: Scope, around: tuple[Variable, ...], name: str) -> Iterator[Stated]:
        """Yield the parts of `tree`; `around` are the variables of the `forall`s around it."""
        source = self.words.source
        if not tree:
            return
        if tree[0] == "and" and not is_flat(tree) and not name:
            for index in range(1, len(tree)):
                yield from self.read(subtree(source, tree, index, "a condition"), scope, around, name)
        elif tree[0] == "forall" and not is_flat(tree) and not name:
            yield from self._read_forall(tree, scope, around)
        elif _is_word(tree, "preference", self.words) and not name:
            yield from self._read_preference(tree, scope, around)
        else:
            yield Stated(self.leaf(tree, scope), name, around)

    def _read_forall(self, tree: Tree, scope: Scope, around: tuple[Variable, ...]) -> Iterator[Stated]:
        words = self.words
        variables = words.types.variables(subtree(words.source, tree, 1, "variables"))
        part = subtree(words.source, tree, 2, "a condition")
        check_length(words.source, tree, 3, "'forall'")
        inner, renamed = extend_scope(scope, variables)
        yield from self.read(part, inner, (*around, *renamed), "")

    def _read_preference(self, tree: Tree, scope: Scope, around: tuple[Variable, ...]) -> Iterator[Stated]:
        source = self.words.source
        named = len(tree) > 1 and isinstance(tree[1], str)
        part = subtree(source, tree, 2 if named else 1, "a condition")
        check_length(source, tree, 3 if named else 2, "'preference'")
        yield from self.read(part, scope, around, tree[1] if named else " ")


def _is_word(tree: Tree, word: str, words: Vocabulary) -> bool:
    """Return whether `tree` begins with this `word` of PDDL, and not with a predicate that is called so."""
    return bool(tree) and tree[0] == word and not (word in words.arities and is_flat(tree))


def _bind(wanted: Wanted, binding: Mapping[str, str]) -> Wanted:
    if not binding:
        return wanted
    if not isinstance(wanted, Constraint):
        return substitute(wanted, binding)
    what, other = wanted.what, wanted.other
    assert isinstance(what, Formula)
    second = substitute(other, binding) if isinstance(other, Formula) else None
    return replace(wanted, what=substitute(what, binding), other=second)


def _read_constraint(tree: Tree, words: Vocabulary, scope: Scope) -> Wanted:
    """Read one constraint without preferences in it."""
    head = tree[0]
    if head == "at" and tree[1:2] == ["end"]:
        condition = subtree(words.source, tree, 2, "a condition")
        check_length(words.source, tree, 3, "'at end'")
        return read_condition(condition, words, scope)
    if not isinstance(head, str) or head not in _PARTS:
        if isinstance(head, str) and head in syntax.CONDITIONS:
            raise refuse_construct(words.source, syntax.CONSTRAINT, tree, None, head)
        hint = suggest_grouping(tree) or f"constraints are {', '.join(_PARTS)}"
        raise words.source.error(f"found {quote(tree)}, expected a constraint", tree, None, hint)
    parts = _PARTS[head]
    read = [
        read_condition(subtree(words.source, tree, index, "a condition"), words, scope) for index in range(1, parts + 1)
    ]
    check_length(words.source, tree, parts + 1, quote(head))
    match head:
        case "always":
            return Constraint(ConstraintKind.ALWAYS, read[0])
        case "sometime":
            return Constraint(ConstraintKind.SOMETIME, read[0])
        case "at-most-once":
            return Constraint(ConstraintKind.AT_MOST, read[0])
    return Constraint(ConstraintKind.BEFORE, read[1], read[0])


_PARTS: Final[Mapping[str, int]] = {"always": 1, "sometime": 1, "at-most-once": 1, "sometime-before": 2}
"""The supported constraints, and how many conditions each has."""
