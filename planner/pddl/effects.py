"""Effects: trees flattened to literals, conditional and universal effects, and cost terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod

from planner.annotations import TYPE_CHECKING, Final
from planner.model import OPEN, TRUE, Atom, CostTerm, Formula, Literal, Not, Number, Variable, When
from planner.model.formulas import conjunction
from planner.model.numbers import exact_number
from planner.pddl import refused
from planner.pddl.conditions import check_length, is_flat, is_number, read_condition, subtree
from planner.pddl.refused import unsupported
from planner.pddl.trees import Source, Tree, counted, quote, ungrouped
from planner.pddl.vocabulary import Scope, Vocabulary, widened
from planner.records import dataclass, field

TOTAL_COST: Final = "total-cost"
_CHANCES: Final = frozenset({"oneof", "probabilistic"})
"""Effects of which one of several comes about."""


if TYPE_CHECKING:
    from planner.pddl.chances import Choice, Option, Part


@dataclass(slots=True)
class Effects:
    """What the effects of one action come to, in the order in which they are written."""

    provides: list[Literal] = field(default_factory=list)
    when: list[_Branch] = field(default_factory=list)
    cost: list[CostTerm] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    """For each effect of which one of several comes about, these."""

    def conditional(self) -> tuple[When, ...]:
        """Return the conditional and universal effects that have any literal."""
        return tuple(
            [
                When(conjunction(branch.conditions), tuple(branch.literals), (), branch.variables)
                for branch in self.when
                if branch.literals
            ]
        )


@dataclass(slots=True)
class _Branch:
    """Literals under conditions, for all objects of variables; the outermost has neither."""

    literals: list[Literal]
    conditions: tuple[Formula, ...] = ()
    variables: tuple[Variable, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the effects of one action; `derived` are the predicates that no effect may write."""

    words: Vocabulary
    derived: frozenset[str]
    found: Effects

    def read(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        if not tree:
            return
        head = tree[0]
        if head.__class__ is not str:
            raise self.words.source.error(f"found {quote(tree)}, expected an effect", tree, None, ungrouped(tree))
        if head in self.words.arities and (head not in _KEYWORDS or is_flat(tree)):
            branch.literals.append(self._atom(tree, scope))
        elif head in _READERS:
            _READERS[head](self, tree, scope, branch)
        elif head in _CHANCES:
            self._chance(tree, scope, branch)
        elif head in refused.EFFECTS and not is_flat(tree):
            raise unsupported(self.words.source, refused.EFFECTS[head], tree)
        else:
            self._refuse_conditions(tree)
            branch.literals.append(self._atom(tree, scope))

    def _chance(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        """Read an effect of several of which one comes about: `(oneof a b)`, `(probabilistic 0.3 a 0.7 b)`."""
        from planner.pddl import chances  # noqa: PLC0415 - few domains have such effects

        is_weighed = tree[0] == "probabilistic"
        if len(tree) == 1:
            example = "(probabilistic 0.3 (p) 0.7 (q))" if is_weighed else "(oneof (p) (q))"
            message = f"found {quote(tree)} without parts, expected effects of which one comes about"
            raise self.words.source.error(message, tree, None, f"such as '{example}'")
        options: list[Option] = []
        for index in range(2, len(tree) + 1, 2) if is_weighed else range(1, len(tree)):
            parts, choices = self._option(tree, index, scope, branch)
            options += chances.options(self.words.source, tree, index, parts, choices)
        self.found.choices.append(chances.choice(self.words.source, tree, options))
        if prod(map(len, self.found.choices)) > chances.MOST_OUTCOMES:
            raise unsupported(self.words.source, refused.MANY_OUTCOMES, tree)

    def _option(self, tree: Tree, index: int, scope: Scope, branch: _Branch) -> tuple[list[Part], list[Choice]]:
        """Return what the effect at item `index` of `tree` comes to where `branch` does."""
        inner = Effects()
        start = _Branch([], branch.conditions, branch.variables) if branch.conditions or branch.variables else None
        inner.when += [start] if start else []
        _Reader(self.words, self.derived, inner).read(
            self._effect(tree, index), scope, start or _Branch(inner.provides)
        )
        written = [_Branch(inner.provides), *inner.when]
        if inner.cost:
            raise unsupported(self.words.source, refused.COST_OF_OUTCOME, tree)
        parts = [
            (conjunction(each.conditions), tuple(self._retracted(each, tree) if each.variables else each.literals))
            for each in written
            if each.literals
        ]
        return parts, inner.choices

    def _retracted(self, branch: _Branch, tree: Tree) -> Iterator[Literal]:
        """Yield the universal deletes of `branch` with open arguments; raises where it says anything else of all."""
        types = {variable.name: variable.types for variable in branch.variables}
        for literal in branch.literals:
            atom = literal.part if isinstance(literal, Not) else None
            if branch.conditions or not isinstance(atom, Atom) or not self._covers_all(atom, types):
                raise unsupported(self.words.source, refused.UNIVERSAL_CHANCE, tree)
            yield Not(atom.substitute(dict.fromkeys(types, OPEN)))

    def _covers_all(self, atom: Atom, types: Mapping[str, tuple[str, ...]]) -> bool:
        """Return whether `atom` is any fact of its pattern: its variables of `types` stand for all that there are."""
        declared = self.words.predicates.get(atom.predicate)
        if declared is None or any(atom.args.count(name) != 1 for name in types):
            return False
        pairs = zip(declared.parameters, atom.args, strict=True)
        return all(self.words.types.hierarchy.is_a(each.types, types[arg]) for each, arg in pairs if arg in types)

    def _refuse_conditions(self, tree: Tree) -> None:
        if tree[0] in ("or", "imply", "exists", "="):
            message = f"found {quote(tree)}, expected an effect: {quote(tree[0])} belongs to conditions"
            raise self.words.source.error(
                message, tree, None, "say it in ':precondition' or before the effect of a 'when'"
            )

    def _atom(self, tree: Tree, scope: Scope) -> Atom:
        if tree[0] in self.derived:
            message = f"the derived predicate {quote(tree[0])} is written by an effect"
            raise self.words.source.error(message, tree, None, "write what it is derived from")
        return self.words.atom(tree, scope)

    def _effect(self, tree: Tree, index: int) -> Tree:
        return subtree(self.words.source, tree, index, "an effect")

    def and_(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        for index in range(1, len(tree)):
            self.read(self._effect(tree, index), scope, branch)

    def not_(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        atom = subtree(self.words.source, tree, 1, "an atom")
        check_length(self.words.source, tree, 2, "'not'")
        if not atom or not isinstance(atom[0], str) or (atom[0] in _KEYWORDS and not is_flat(atom)):
            message = f"found {quote(atom)} under 'not' in an effect, expected an atom"
            raise self.words.source.error(message, atom, None, "delete each atom on its own: '(not (atom …))'")
        branch.literals.append(Not(self._atom(atom, scope)))

    def forall(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        variables = self.words.types.variables(subtree(self.words.source, tree, 1, "variables"))
        effect = self._effect(tree, 2)
        check_length(self.words.source, tree, 3, "'forall'")
        inner, renamed = widened(scope, variables)
        self.read(effect, inner, self._branch(branch.conditions, (*branch.variables, *renamed)))

    def when(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        condition = subtree(self.words.source, tree, 1, "a condition")
        effect = self._effect(tree, 2)
        check_length(self.words.source, tree, 3, "'when'")
        formula = read_condition(condition, self.words, scope)
        if formula == TRUE:
            self.read(effect, scope, branch)
        else:
            self.read(effect, scope, self._branch((*branch.conditions, formula), branch.variables))

    def _branch(self, conditions: tuple[Formula, ...], variables: tuple[Variable, ...]) -> _Branch:
        branch = _Branch([], conditions, variables)
        self.found.when.append(branch)
        return branch

    def increase(self, tree: Tree, scope: Scope, branch: _Branch) -> None:
        source = self.words.source
        if len(tree) != 3:
            message = f"'increase' has {counted(len(tree) - 1, 'argument')} here, expected 2"
            raise source.error(message, tree, None, "write '(increase (total-cost) 1)'")
        if tree[1] not in ([TOTAL_COST], TOTAL_COST):
            raise unsupported(source, refused.NUMERIC_EFFECT, tree)
        if branch.literals is not self.found.provides:
            raise unsupported(source, refused.CONDITIONAL_COST, tree)
        self.found.cost.extend(self._terms(tree, 2, scope))

    def _terms(self, tree: Tree, index: int, scope: Scope) -> list[CostTerm]:
        """Return the terms that are summed in item `index` of `tree`."""
        item = tree[index]
        if isinstance(item, str):
            if is_number(item):
                return [read_number(self.words.source, tree, index)]
            function = self.words.functions.get(item)
            if function is None or function.parameters:
                message = f"found {quote(item)}, expected a number or a function in parentheses"
                raise self.words.source.error(message, tree, index)
            return [Atom(item)]
        if item[:1] == ["+"]:
            return [term for place in range(1, len(item)) for term in self._terms(item, place, scope)]
        if item and item[0] in ("-", "*", "/"):
            raise unsupported(self.words.source, refused.COST_ARITHMETIC, item)
        return [self.words.function_term(item, scope)]


def read_effects(tree: Tree, words: Vocabulary, scope: Scope, derived: frozenset[str]) -> Effects:
    """Return what the effect `tree` says, nested conditions and quantifiers joined.

    Raises `PddlError` for what is no effect, `UnsupportedError` for effects beyond the ADL level and action costs.
    """
    found = Effects()
    _Reader(words, derived, found).read(tree, scope, _Branch(found.provides))
    return found


def read_number(source: Source, tree: Tree, index: int, what: str = "a cost") -> Number:
    """Return the non-negative number at item `index` of `tree`, exactly; `what` says for messages what it is."""
    item = tree[index] if index < len(tree) else None
    if not isinstance(item, str) or not is_number(item):
        raise source.error(f"found {quote(item)}, expected a number", tree, index)
    try:
        number = exact_number(item)
    except ValueError as problem:
        raise source.error(f"the number {quote(item)} is not usable: {problem}", tree, index) from None
    if number < 0:
        raise source.error(f"found {quote(item)}, expected {what}, which is not negative", tree, index)
    return number


_READERS: Final[dict[str, Callable[[_Reader, Tree, Scope, _Branch], None]]] = {
    "and": _Reader.and_,
    "not": _Reader.not_,
    "forall": _Reader.forall,
    "when": _Reader.when,
    "increase": _Reader.increase,
}
_KEYWORDS: Final = frozenset(_READERS) | frozenset(refused.EFFECTS) | _CHANCES
