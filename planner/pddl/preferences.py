"""PDDL 3's constraints and preferences (Gerevini, Haslum, Long, Saetti and Dimopoulos, 2009), as the model has them.

`forall` over constraints and preferences is written out over the objects of the problem (`instances`); each instance of
a preference is a wish of its own, as the metric counts them. What a preference is worth, the metric says.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from planner.annotations import Final
from planner.model import Constraint, ConstraintKind, Forall, Formula, Variable
from planner.model.constraints import Stated
from planner.model.formulas import substitute
from planner.pddl import refused
from planner.pddl.conditions import check_length, is_flat, read_condition, subtree
from planner.pddl.refused import unsupported
from planner.pddl.trees import Tree, quote, ungrouped
from planner.pddl.vocabulary import Scope, Vocabulary, widened
from planner.records import dataclass, replace

Wanted = Formula | Constraint
"""What shall hold at the end, or on the way."""


def has_preferences(tree: Tree, words: Vocabulary) -> bool:
    """Return whether `tree`, a goal, states preferences."""
    if not tree:
        return False
    if _is_word(tree, "preference", words):
        return True
    inner = [part for part in tree[1:] if isinstance(part, list)] if tree[0] in ("and", "forall") else ()
    return any(has_preferences(part, words) for part in inner)


def read_goal(tree: Tree, words: Vocabulary) -> Iterator[Stated]:
    """Yield the parts of a goal with preferences; raises as `read_condition` does."""
    return _Reader(words, lambda part, scope: read_condition(part, words, scope)).read(tree, {}, (), "")


def read_precondition(tree: Tree, words: Vocabulary, scope: Scope) -> tuple[list[Formula], tuple[Stated, ...]]:
    """Return what the precondition `tree`, which has preferences, demands, and its preferences."""
    reader = _Reader(words, lambda part, inner: read_condition(part, words, inner))
    stated = list(reader.read(tree, scope, (), ""))
    hard = [
        Forall(each.variables, each.wanted) if each.variables else each.wanted
        for each in stated
        if not each.preference and not isinstance(each.wanted, Constraint)
    ]
    return hard, tuple([each for each in stated if each.preference])


def read_constraints(section: Tree, words: Vocabulary) -> Iterator[Stated]:
    """Yield what `(:constraints …)` states; raises as `read_condition` does."""
    tree = subtree(words.source, section, 1, "constraints")
    check_length(words.source, section, 2, "the constraints")
    return _Reader(words, lambda part, scope: _constraint(part, words, scope)).read(tree, {}, (), "")


def instances(stated: Iterable[Stated], words: Vocabulary) -> Iterator[Stated]:
    """Yield what is `stated`, each once for all objects that its variables stand for."""
    for each in stated:
        names = [variable.name for variable in each.variables]
        extents = [[name for name in words.objects if name in words.extent(one.types)] for one in each.variables]
        for objects in itertools.product(*extents):
            yield Stated(_bound(each.wanted, dict(zip(names, objects, strict=True))), each.preference)


@dataclass(frozen=True, slots=True)
class _Reader:
    words: Vocabulary
    leaf: Callable[[Tree, Scope], Wanted]

    def read(self, tree: Tree, scope: Scope, around: tuple[Variable, ...], name: str) -> Iterator[Stated]:
        """Yield what `tree` states; `around` are the variables of the `forall`s around it."""
        source = self.words.source
        if not tree:
            return
        if tree[0] == "and" and not is_flat(tree) and not name:
            for index in range(1, len(tree)):
                yield from self.read(subtree(source, tree, index, "a condition"), scope, around, name)
        elif tree[0] == "forall" and not is_flat(tree) and not name:
            yield from self._forall(tree, scope, around)
        elif _is_word(tree, "preference", self.words) and not name:
            yield from self._preference(tree, scope, around)
        else:
            yield Stated(self.leaf(tree, scope), name, around)

    def _forall(self, tree: Tree, scope: Scope, around: tuple[Variable, ...]) -> Iterator[Stated]:
        words = self.words
        variables = words.types.variables(subtree(words.source, tree, 1, "variables"))
        part = subtree(words.source, tree, 2, "a condition")
        check_length(words.source, tree, 3, "'forall'")
        inner, renamed = widened(scope, variables)
        yield from self.read(part, inner, (*around, *renamed), "")

    def _preference(self, tree: Tree, scope: Scope, around: tuple[Variable, ...]) -> Iterator[Stated]:
        source = self.words.source
        named = len(tree) > 1 and isinstance(tree[1], str)
        part = subtree(source, tree, 2 if named else 1, "a condition")
        check_length(source, tree, 3 if named else 2, "'preference'")
        yield from self.read(part, scope, around, tree[1] if named else " ")


def _is_word(tree: Tree, word: str, words: Vocabulary) -> bool:
    """Return whether `tree` begins with this `word` of PDDL, and not with a predicate that is called so."""
    return bool(tree) and tree[0] == word and not (word in words.arities and is_flat(tree))


def _bound(wanted: Wanted, binding: Mapping[str, str]) -> Wanted:
    if not binding:
        return wanted
    if not isinstance(wanted, Constraint):
        return substitute(wanted, binding)
    what, other = wanted.what, wanted.other
    assert isinstance(what, Formula)  # noqa: S101 - PDDL has no steps in constraints
    second = substitute(other, binding) if isinstance(other, Formula) else None
    return replace(wanted, what=substitute(what, binding), other=second)


def _constraint(tree: Tree, words: Vocabulary, scope: Scope) -> Wanted:
    """Return one constraint without preferences in it."""
    head = tree[0]
    if head == "at" and tree[1:2] == ["end"]:
        condition = subtree(words.source, tree, 2, "a condition")
        check_length(words.source, tree, 3, "'at end'")
        return read_condition(condition, words, scope)
    if not isinstance(head, str) or head not in _PARTS:
        if isinstance(head, str) and head in refused.CONDITIONS:
            raise unsupported(words.source, refused.CONSTRAINT, tree, None, head)
        hint = ungrouped(tree) or f"constraints are {', '.join(_PARTS)}"
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
"""The constraints that are read, and how many conditions each has."""
