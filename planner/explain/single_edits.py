"""Single edits of conditions, effects and actions: slips of one place, each with a price for how likely it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from planner.lightweight import Any, Final, TypeVar, dataclass, replace
from planner.model.actions import Action, Literal, NumericEffect
from planner.model.domain import DomainModel, TypeHierarchy
from planner.model.formulas import (
    OPEN,
    TRUE,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Equals,
    Exists,
    Expression,
    Forall,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    atoms_in,
    children,
    conjunction,
    conjuncts,
    unmarked,
    with_children,
)

Item = TypeVar("Item")

LIKELY: Final = 2
"""Price of a slip in one place that gives another valid text: two arguments, a sign, `not`."""
FAIR: Final = 3
"""Price of another name: of a parameter, a predicate, an object."""
UNLIKELY: Final = 5
"""Price of what helps whatever is wrong: a condition or a demand less, an effect or a fact more."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a declaration `new` for `old`; None is left out. `part` is what is written at its place."""

    old: Any
    new: Any
    price: int
    part: Atom | str

    @property
    def words(self) -> str:
        """The change in words, such as "with a for b"."""
        return (
            f"without '{unmarked(self.old)}'"
            if self.new is None
            else f"with '{unmarked(self.new)}' for '{unmarked(self.old)}'"
        )


class Scope:
    """The terms that may stand in a declaration, and the predicates and functions that take them."""

    def __init__(self, domain: DomainModel, terms: Iterable[Variable], *, same: bool = False) -> None:
        self.domain, self.same = domain, same
        self.hierarchy = TypeHierarchy(domain.types)
        self.types: dict[Term, tuple[str, ...]] = {each.name: each.types for each in domain.constants}
        self.types |= {each.name: each.types for each in terms}
        self.terms = [each.name for each in terms]

    def fits(self, atom: Atom) -> bool:
        """Return whether the types of the arguments may stand there."""
        declared = self.domain.predicates.get(atom.predicate) or self.domain.functions.get(atom.predicate)
        if declared is None or len(declared.parameters) != len(atom.args):
            return False
        pairs = zip(atom.args, declared.parameters, strict=True)
        return all(arg == OPEN or self.is_a(arg, kind.types) for arg, kind in pairs)

    def is_a(self, term: Term, types: Sequence[str]) -> bool:
        """Return whether everything that `term` may stand for is of one of these types."""
        return term in self.types and all(self.hierarchy.is_a((kind,), types) for kind in self.types[term])

    def others(self, atom: Atom, *, terms: bool = True, names: bool = True) -> Iterator[tuple[Atom, int]]:
        """Yield atoms that differ from `atom` by two arguments in the other order, one argument, or the name."""
        alike = self.domain.predicates if atom.predicate in self.domain.predicates else self.domain.functions
        named = [name for name in alike if name not in self.domain.derived or self.same] if names else ()
        for each, price in vary(atom, self.terms if terms else (), named):
            if self.fits(each):
                yield each, price


def vary(atom: Atom, terms: Sequence[Term], names: Iterable[str]) -> Iterator[tuple[Atom, int]]:
    """Yield atoms that differ from `atom` by two arguments in the other order, one of `terms`, or one of `names`."""
    args = atom.args
    found = [(Atom(atom.predicate, turned), LIKELY) for _, _, turned in exchange(args)]
    for place in range(len(args)):
        if args[place] != OPEN:
            found += [(Atom(atom.predicate, (*args[:place], each, *args[place + 1 :])), FAIR) for each in terms]
    found += [(Atom(name, args), FAIR) for name in names]
    yield from ((each, price) for each, price in found if each != atom)


def exchange(items: Sequence[Item]) -> Iterator[tuple[int, int, tuple[Item, ...]]]:
    """Yield two places, and `items` with what stands there exchanged."""
    for one, other in combinations(range(len(items)), 2):
        turned = list(items)
        turned[one], turned[other] = items[other], items[one]
        yield one, other, tuple(turned)


def edit_formula(formula: Formula, scope: Scope) -> Iterator[tuple[Edit, Formula]]:
    """Yield the edits of a condition, with it: one literal or comparison otherwise, or one conjunct left out."""
    parts = list(conjuncts(formula))
    for place, part in enumerate(parts):
        if isinstance(part, And):
            continue
        rest = [*parts[:place], *parts[place + 1 :]]
        at = _part_of(part)
        yield Edit(part, None, UNLIKELY, at), conjunction(rest)
        for new, price in _rewrite(part, scope):
            yield Edit(part, new, price, at), conjunction([*parts[:place], new, *parts[place + 1 :]])


def _part_of(formula: Formula) -> Atom | str:
    """Return what stands at the place of `formula`."""
    for atom in atoms_in(formula):
        return atom
    if isinstance(formula, Comparison):
        return next((term for term in formula.functions), "")
    if isinstance(formula, Not) and isinstance(formula.part, Equals):
        return formula.part.left.removeprefix("?")
    return formula.left.removeprefix("?") if isinstance(formula, Equals) else ""


def _rewrite(formula: Formula, scope: Scope) -> Iterator[tuple[Formula, int]]:
    """Yield `formula` with one leaf otherwise."""
    match formula:
        case Atom():
            yield Not(formula), UNLIKELY
            yield from scope.others(formula)
        case Not(part):
            yield part, LIKELY
            yield from ((Not(new), price) for new, price in _rewrite(part, scope) if not isinstance(new, Not))
        case Equals(left, right):
            yield Not(formula), LIKELY
            yield from _other_terms(left, right, scope)
        case Comparison():
            yield from _compare_otherwise(formula, scope)
        case _:
            parts = children(formula)
            for place, part in enumerate(parts):
                if isinstance(formula, And | Or) and len(parts) > 1:
                    yield with_children(formula, (*parts[:place], *parts[place + 1 :])), UNLIKELY
                for new, price in _rewrite(part, scope):
                    likely = LIKELY if new == Not(part) and isinstance(formula, Forall | Exists) else price
                    yield with_children(formula, (*parts[:place], new, *parts[place + 1 :])), likely


def _other_terms(left: Term, right: Term, scope: Scope) -> Iterator[tuple[Formula, int]]:
    for term in scope.terms:
        if term not in (left, right) and scope.types.get(term) == scope.types.get(left):
            yield Equals(term, right), FAIR
            yield Equals(left, term), FAIR


_TURNED: Final = {"<": (">", ">="), ">": ("<", "<="), "<=": (">=",), ">=": ("<=",), "=": ("!=",), "!=": ("=",)}


def _compare_otherwise(comparison: Comparison, scope: Scope) -> Iterator[tuple[Formula, int]]:
    for relation in _TURNED.get(comparison.relation, ()):
        if relation != "!=":
            yield replace(comparison, relation=relation), LIKELY
    for side in ("left", "right"):
        for new, price in _calculate_otherwise(getattr(comparison, side), scope):
            changed: dict[str, Any] = {side: new}
            other = replace(comparison, **changed)
            if other.left != other.right:
                yield other, price


def _calculate_otherwise(expression: Expression, scope: Scope) -> Iterator[tuple[Expression, int]]:
    """Yield `expression` with one function, number or operator otherwise."""
    match expression:
        case Atom():
            yield from scope.others(expression)
        case Arithmetic(operator, operands):
            if operator in "+-" and len(operands) == 2:
                yield Arithmetic("-" if operator == "+" else "+", operands), LIKELY
            for place, operand in enumerate(operands):
                for new, price in _calculate_otherwise(operand, scope):
                    yield Arithmetic(operator, (*operands[:place], new, *operands[place + 1 :])), price
        case int() if expression:
            yield from ((each, UNLIKELY) for each in like_numbers(expression))


def like_numbers(number: int) -> Iterator[int]:
    """Yield numbers with a nought more or less, and those in another unit: thousands, sixties."""
    for factor in (10, 60, 1000):
        yield number * factor
        if not number % factor:
            yield number // factor


def _edit_literal(literal: Literal, scope: Scope) -> Iterator[Edit]:
    atom = literal.part if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)
    yield Edit(literal, None, UNLIKELY, atom)
    yield Edit(literal, atom if isinstance(literal, Not) else Not(atom), LIKELY, atom)
    for new, price in scope.others(atom):
        yield Edit(literal, Not(new) if isinstance(literal, Not) else new, price, atom)


def _edit_pattern(pattern: Atom, scope: Scope) -> Iterator[Edit]:
    yield Edit(pattern, None, FAIR, pattern)
    yield from (Edit(pattern, new, price, pattern) for new, price in scope.others(pattern))


TURNED_EFFECTS: Final = {"+=": "-=", "-=": "+="}


def _edit_number(effect: NumericEffect, scope: Scope) -> Iterator[Edit]:
    yield Edit(effect, None, UNLIKELY, effect.fluent)
    if effect.operator in TURNED_EFFECTS:
        yield Edit(effect, replace(effect, operator=TURNED_EFFECTS[effect.operator]), LIKELY, effect.fluent)
        yield Edit(effect, replace(effect, operator=":="), UNLIKELY, effect.fluent)
    for fluent, price in scope.others(effect.fluent):
        yield Edit(effect, replace(effect, fluent=fluent), price, effect.fluent)
    for value, price in _calculate_otherwise(effect.value, scope):
        yield Edit(effect, replace(effect, value=value), price, effect.fluent)


_EDITS: Final[Mapping[str, Callable[[Any, Scope], Iterator[Edit]]]] = {
    "provides": _edit_literal,
    "modifies": _edit_pattern,
    "numbers": _edit_number,
}


def edit_action(action: Action, scope: Scope) -> Iterator[tuple[Edit, str, Action]]:
    """Yield the edits of `action`, with their fields and the changed action."""
    yield from _edit_owner(action, scope)
    for name in ("at_start", "at_end"):
        for edit, _, moment in _edit_owner(getattr(action, name), scope):
            yield edit, name, replace(action, **{name: moment})


def _edit_owner(owner: Any, scope: Scope) -> Iterator[tuple[Edit, str, Any]]:
    """Yield the edits of an action, of a moment of it, or of a conditional effect."""
    for field in ("requires", "throughout"):
        if getattr(owner, field, TRUE) != TRUE:
            for edit, formula in edit_formula(getattr(owner, field), scope):
                yield edit, field, replace(owner, **{field: formula})
    for field, edits in _EDITS.items():
        items = getattr(owner, field)
        for place, item in enumerate(items):
            for edit in edits(item, scope):
                new = () if edit.new is None else (edit.new,)
                changed = (*items[:place], *new, *items[place + 1 :])
                yield edit, "modifies" if field == "numbers" else field, replace(owner, **{field: changed})
    for place, when in enumerate(getattr(owner, "when", ())):
        inner = Scope(scope.domain, [*_variables(scope), *when.variables])
        for edit, _, changed in _edit_owner(when, inner):
            yield edit, "when", replace(owner, when=(*owner.when[:place], changed, *owner.when[place + 1 :]))


def _variables(scope: Scope) -> list[Variable]:
    return [Variable(name, scope.types[name]) for name in scope.terms]
