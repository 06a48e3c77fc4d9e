"""Which facts a condition depends on, and whether it is certain to hold where some of them are unknown.

Strong three-valued logic (Kleene, 1952) decides whether it holds for all truth values of uncertain facts.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import product

from executor.events.fluent_values import pattern_of
from planner.model import And, Atom, Comparison, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.domain import DomainModel, numeric_fluents
from planner.model.formulas import OPEN, atoms_in, is_variable, substitute
from planner.semantics.condition_solver import Universe

Truth = Callable[[Atom | Comparison], bool | None]
"""Says whether a fact or a ground comparison holds; None if that is open."""
Valued = tuple[Atom, bool]
"""A fact with a value."""
_Ways = tuple[dict[Valued, None], bool]
"""The facts by which a part of a formula may hold, and whether some of them are own ones; None stands for no way."""


def is_certain(formula: Formula, truth: Truth, universe: Universe, *, positive: bool) -> bool:
    """Return whether the ground `formula`, or its negation unless `positive`, is certain to hold.

    It has to hold for all values of the facts and comparisons for which `truth` returns None.
    """
    return _simplify(formula, truth, universe)[0] is positive


def _simplify(formula: Formula, truth: Truth, universe: Universe) -> tuple[bool | None, list[Atom | Comparison]]:
    """Return whether the ground `formula` holds, and where that is open, the parts on which it still depends."""
    match formula:
        case Atom() | Comparison():
            holds = truth(formula)
            return holds, [formula] if holds is None else []
        case Equals(left, right):
            return left == right, []
        case Not(part):
            holds, open_parts = _simplify(part, truth, universe)
            return None if holds is None else not holds, open_parts
        case And() | Or() | Imply() | Forall() | Exists():
            decisive, found = not isinstance(formula, And | Forall), list[Atom | Comparison]()
            for each in _list_parts(formula, universe):
                holds, open_parts = _simplify(each, truth, universe)
                if holds is decisive:
                    return decisive, []
                found += open_parts
            return None if found else not decisive, found


def find_alternatives(
    formula: Formula, own: Container[Valued], truth: Truth, domain: DomainModel, universe: Universe
) -> list[Valued]:
    """Return the facts, with their values, of other ways to make the ground `formula` hold than by its `own` facts.

    A way is a set of facts that makes it hold, such as a disjunct. What some way has beside facts of its own is no
    alternative to these. Derived facts are among them, with those from which they follow.
    """
    others, beside = dict[Valued, None](), set[Valued]()
    known = dict[Valued, _Ways | None]()

    def visit(part: Formula, holds: bool) -> _Ways | None:
        match part:
            case Not(inner):
                return visit(inner, not holds)
            case And() | Or() | Imply() | Forall() | Exists():
                is_any = isinstance(part, And | Forall) is not holds
                return join([visit(each, holds) for each in _list_parts(part, universe)], is_any=is_any)
            case Atom() if part.predicate in domain.derived:
                literal = part, holds
                if literal not in known:
                    known[literal] = itself = {literal: None}, False  # for what it follows from, through itself
                    causes = join([visit(each, holds) for each in _find_explanations(part, domain)], is_any=holds)
                    known[literal] = join([itself, causes], is_any=True)
                return known[literal]
            case Equals(left, right):
                is_so: bool | None = left == right
            case _:
                is_so = truth(part)
        if is_so is not None or not isinstance(part, Atom):
            return None if is_so is (not holds) else ({}, False)
        return {(part, holds): None}, (part, holds) in own

    def join(parts: Iterable[_Ways | None], *, is_any: bool) -> _Ways | None:
        found = [each for each in parts if each is not None or not is_any]
        ways = [each for each in found if each is not None]
        if len(ways) < len(found) or (is_any and not ways):
            return None
        with_own = [n for n, (_, has_own) in enumerate(ways) if has_own]
        for n, (facts, _) in enumerate(ways):
            if with_own and is_any and n not in with_own:
                others.update(facts)
            elif with_own and not is_any and with_own != [n]:
                beside.update(facts)
        return {fact: None for facts, _ in ways for fact in facts}, bool(with_own)

    visit(formula, True)
    return [each for each in others if each not in beside]


def find_open_facts(
    formula: Formula, truth: Truth, domain: DomainModel, universe: Universe
) -> tuple[bool | None, set[Atom]]:
    """Return whether the ground `formula` holds by `truth`, and where that is open, the facts that may still decide it.

    The axioms of a derived fact that is open decide it as far as their conditions are certain (the least fixpoint of
    Fitting, 1985). A numeric fluent counts as the pattern of its values.
    """
    traced, fluents = trace_atoms(formula, domain, universe, {}), numeric_fluents(domain)
    derived = [each for each in traced if each.predicate in domain.derived and truth(each) is None]
    axioms = {each: Or(tuple(_find_explanations(each, domain))) for each in derived}
    known = dict[Atom, bool]()

    def truth_so_far(part: Atom | Comparison) -> bool | None:
        return known[part] if isinstance(part, Atom) and part in known else truth(part)

    def simplify(part: Formula) -> tuple[bool | None, list[Atom | Comparison]]:
        return _simplify(part, truth_so_far, universe)

    while news := {
        fact: holds for fact, axiom in axioms.items() if fact not in known and (holds := simplify(axiom)[0]) is not None
    }:
        known |= news
    found, stack = set[Atom](), [formula]
    while stack:
        for part in simplify(stack.pop())[1]:
            if isinstance(part, Comparison):
                found.update(pattern_of(term) for term in part.functions if term.predicate in fluents)
            elif part not in found:
                found.add(part)
                stack += [axioms[part]] if part in axioms else []
    return simplify(formula)[0], found


def list_conjuncts(formula: Formula, universe: Universe, *, positive: bool = True) -> Iterator[Formula]:
    """Yield the conjuncts of the ground `formula`, or of its negation, with what holds for all objects instantiated."""
    match formula:
        case Not(part):
            yield from list_conjuncts(part, universe, positive=not positive)
        case And() | Or() | Imply() | Forall() | Exists() if isinstance(formula, And | Forall) is positive:
            for each in _list_parts(formula, universe):
                yield from list_conjuncts(each, universe, positive=positive)
        case _:
            yield formula if positive else Not(formula)


def _list_parts(formula: And | Or | Imply | Forall | Exists, universe: Universe) -> Iterable[Formula]:
    """Return the conjuncts or disjuncts of `formula`, instances of a quantified one."""
    match formula:
        case And(parts) | Or(parts):
            return parts
        case Imply(premise, conclusion):
            return Not(premise), conclusion
        case Forall(variables, part) | Exists(variables, part):
            names = [each.name for each in variables]
            rows = product(*[tuple(universe.of_types(each.types)) for each in variables])
            return (substitute(part, dict(zip(names, row, strict=True))) for row in rows)


def find_predicates(parts: Iterable[Formula], domain: DomainModel) -> frozenset[str]:
    """Return the predicates that `parts` depend on, through axioms, too."""
    named, grown = {each.predicate for part in parts for each in atoms_in(part)}, -1
    while grown != len(named):
        grown = len(named)
        for axiom in domain.axioms:
            if axiom.predicate in named:
                named |= {each.predicate for each in atoms_in(axiom.condition)}
    return frozenset(named)


def patterns_of(formula: Formula, domain: DomainModel) -> list[Atom]:
    """Return a pattern for each quantified atom that the ground `formula` depends on; each once.

    A pattern has `OPEN` in place of each variable.
    """
    found: dict[Atom, None] = {}
    stack = [formula]
    while stack:
        for atom in atoms_in(stack.pop()):
            pattern = Atom(atom.predicate, tuple([OPEN if is_variable(arg) else arg for arg in atom.args]))
            if pattern not in found:
                found[pattern] = None
                stack += _find_explanations(pattern, domain)
    return [pattern for pattern in found if OPEN in pattern.args]


def patterns_against(formula: Formula, domain: DomainModel) -> list[Atom]:
    """Return the patterns of which an object that nobody knows of might break the ground `formula`; each once.

    Of "for all orders: pending implies handled" that is `pending(_)`: an order that is pending, and that nobody has
    told of, is not handled.
    """
    found: dict[Atom, None] = {}
    stack: list[tuple[Formula, bool, frozenset[str]]] = [(formula, True, frozenset({OPEN}))]
    while stack:
        part, positive, bound = stack.pop()
        match part:
            case Atom() if not positive and not bound.isdisjoint(part.args):
                pattern = Atom(part.predicate, tuple([OPEN if is_variable(arg) else arg for arg in part.args]))
                if pattern not in found:
                    found[pattern] = None
                    stack += [(each, False, bound) for each in _find_explanations(pattern, domain)]
            case Not(inner):
                stack.append((inner, not positive, bound))
            case Imply(condition, then):
                stack += [(condition, not positive, bound), (then, positive, bound)]
            case And() | Or():
                stack += [(each, positive, bound) for each in part.parts]
            case Forall() | Exists():
                is_for_all = isinstance(part, Forall) is positive
                named = {each.name for each in part.variables} if is_for_all else set()
                stack.append((part.part, positive, bound | named))
    return list(found)


def _find_explanations(fact: Atom, domain: DomainModel) -> list[Formula]:
    """Return the conditions of the axioms for a derived fact, or for a pattern of such facts."""
    return [
        substitute(axiom.condition, dict(zip([each.name for each in axiom.parameters], fact.args, strict=True)))
        for axiom in domain.axioms
        if axiom.predicate == fact.predicate
    ]


def trace_atoms(
    formula: Formula,
    domain: DomainModel,
    universe: Universe,
    binding: Mapping[str, str],
    *,
    known: Container[Atom] = (),
) -> dict[Atom, None]:
    """Return the ground facts in `formula`, and recursively those in the axioms of its derived facts.

    A numeric fluent counts as the pattern of its values.
    """
    derived, fluents = domain.derived, numeric_fluents(domain)
    found: dict[Atom, None] = {}
    stack = [substitute(formula, binding)]
    while stack:
        for fact in _iterate_atoms(stack.pop(), universe, fluents):
            if fact in found:
                continue
            found[fact] = None
            if fact.predicate in derived and fact not in known:
                stack += _find_explanations(fact, domain)
    return found


def _iterate_atoms(formula: Formula, universe: Universe, fluents: Container[str]) -> Iterator[Atom]:
    """Yield the ground atoms and the values of `fluents` in `formula`, with quantified parts instantiated."""
    stack = [formula]
    while stack:
        match stack.pop():
            case Atom() as fact:
                yield fact
            case Comparison() as comparison:
                yield from (pattern_of(term) for term in comparison.functions if term.predicate in fluents)
            case And(parts) | Or(parts):
                stack.extend(parts)
            case Not(part):
                stack.append(part)
            case Imply(premise, conclusion):
                stack += [premise, conclusion]
            case Forall(variables, part) | Exists(variables, part):
                names = [each.name for each in variables]
                choices = [tuple(universe.of_types(each.types)) for each in variables]
                stack += [substitute(part, dict(zip(names, each, strict=True))) for each in product(*choices)]
