"""Starts and ends of steps in time: what each looks at and changes, and what a running step forbids others.

The rules are those of the reference page on time, for actions that are declared by `requires`, `provides`, `modifies`
and `when`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pairs.interpreter import DURATION, Change, Ground, State, World, atoms_of, functions_of, terms_of

from planner.model import OPEN, TRUE, And, Atom, Exists, Forall, Imply, Not, Or
from planner.model.actions import NumericEffect

Effect = tuple[Any, Any, Any, Any, Any]
"""Condition, literals, modified items, changes of numbers, variables."""


@dataclass(frozen=True)
class Happening:
    """One moment of a step, or a change at a known time (`owner` is -1); what it reads and writes.

    A start says what its step will bring, let go stale and change at its end; the end has that, too. What it reads is
    `wanted` where it is to hold, and `denied` where it is not to hold.
    """

    name: str
    owner: int = -1
    is_start: bool = False
    coming: frozenset[Atom] = frozenset()
    staling: frozenset[Atom] = frozenset()
    changing: frozenset[tuple[Atom, int]] = frozenset()
    wanted: frozenset[Atom] = frozenset()
    denied: frozenset[Atom] = frozenset()
    reads: frozenset[Atom] = frozenset()
    added: frozenset[Atom] = frozenset()
    ended: frozenset[Atom] = frozenset()
    locked: frozenset[Atom] = frozenset()
    compared: frozenset[Atom] = frozenset()
    changed: frozenset[tuple[Atom, int]] = frozenset()
    throughout: frozenset[Atom] = frozenset()
    constrained: frozenset[int] = frozenset()
    taken: Any = None


SIGNS = {"+=": 1, "-=": -1}


def positive(literals: Any) -> list[Atom]:
    return [each for each in literals if not isinstance(each, Not)]


def inner(moment: Any) -> list[Effect]:
    """Return the effects of a moment that says itself what happens then."""
    own = (TRUE, moment.provides, moment.modifies, moment.numbers, ())
    return [own, *[(each.requires, each.provides, each.modifies, each.numbers, each.variables) for each in moment.when]]


def overlap(one: Atom, other: Atom) -> bool:
    same = one.predicate == other.predicate and len(one.args) == len(other.args)
    return same and all(OPEN in pair or pair[0] == pair[1] for pair in zip(one.args, other.args, strict=True))


def meet(some: frozenset[Atom], others: frozenset[Atom]) -> bool:
    return any(overlap(one, other) for one in some for other in others)


def declared(ground: Ground) -> list[Effect]:
    """Return the effects that an action states without a moment."""
    action = ground.action
    return [
        (TRUE, action.provides, action.modifies, action.numbers, ()),
        *[(each.requires, each.provides, each.modifies, each.numbers, each.variables) for each in action.when],
    ]


def literals_of(formula: Any, *, holds: bool = True) -> Iterator[tuple[Any, bool]]:
    """Yield what `formula` mentions, each with whether it is to hold."""
    match formula:
        case Not(part):
            yield from literals_of(part, holds=not holds)
        case And(parts) | Or(parts):
            for part in parts:
                yield from literals_of(part, holds=holds)
        case Imply(premise, conclusion):
            yield from literals_of(premise, holds=not holds)
            yield from literals_of(conclusion, holds=holds)
        case Forall(_, part) | Exists(_, part):
            yield from literals_of(part, holds=holds)
        case Atom():
            yield formula, holds


class Moments:
    """What the starts and the ends of the steps of one problem look at and change."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.bounded = {name for name, each in world.domain.functions.items() if (each.low, each.high) != (None, None)}
        self.constrained = [
            {atom.predicate for each in constraint.conditions for atom in self.base(each, {})}
            for constraint in world.problem.constraints
        ]

    def base(self, formula: Any, binding: Any) -> frozenset[Atom]:
        """Return the patterns of facts that a condition reads, through axioms too."""
        found, queue = set(), [*atoms_of(formula, binding)]
        while queue:
            atom = queue.pop()
            if atom in found:
                continue
            found.add(atom)
            for axiom in self.world.domain.axioms:
                if axiom.predicate == atom.predicate:
                    queue += atoms_of(axiom.condition, dict(zip(axiom.head.args, atom.args, strict=True)))
        return frozenset(found)

    def effects(self, ground: Ground, state: State) -> tuple[list[Effect], list[Effect], list[Effect]] | None:
        """Return what a step that begins in `state` changes at its start, what comes of it at its end, and at_end's.

        Return None where an amount is undefined.
        """
        action, early, late = ground.action, list[Effect](), list[Effect]()
        brought = [each.substitute(ground.binding) for each in positive(action.at_start.provides)]
        for condition, literals, items, numbers, variables in declared(ground):
            for found in self.world.bindings(variables, state):
                binding = {**ground.binding, **found}
                if not self.world.holds(condition, state, binding):
                    continue
                own = [each.substitute(binding) for each in items]
                ended = [Not(each.part.substitute(binding)) for each in literals if isinstance(each, Not)]
                made = [each.substitute(binding) for each in positive(literals)]
                amounts = [self.world.value(each.value, state, binding) for each in numbers]
                if any(each is None for each in amounts):
                    return None
                fixed = [
                    NumericEffect(each.fluent.substitute(binding), each.operator, amount)
                    for each, amount in zip(numbers, amounts, strict=True)
                ]
                first = [each for each in ended if each.part not in brought]
                early.append((TRUE, first, [each for each in own if OPEN in each.args], (), ()))
                rest = [*made, *[each for each in ended if each not in first]]
                late.append((TRUE, rest, [each for each in own if OPEN not in each.args], fixed, ()))
        return early + inner(action.at_start), late, inner(action.at_end)

    def surely(
        self, formula: Any, state: State, binding: Any, others: list[Happening], *, is_start: bool, holds: bool = True
    ) -> bool:
        """Return whether `formula` surely holds, or not, whatever steps that began with `others` bring or let stale."""
        coming = frozenset(fact for each in others for fact in each.coming)
        stale = frozenset(pattern for each in others for pattern in each.staling) if is_start else frozenset[Atom]()
        low = replace(state, facts=frozenset(fact for fact in state.facts if not meet(frozenset([fact]), stale)))
        high = replace(state, facts=state.facts | coming)
        return self.sure(formula, low, high, binding, holds=holds)

    def sure(self, formula: Any, low: State, high: State, binding: Any, *, holds: bool) -> bool:
        """Return whether `formula` has the value `holds` where what holds lies between `low` and `high`."""
        match formula:
            case Not(part):
                return self.sure(part, low, high, binding, holds=not holds)
            case Imply(premise, conclusion):
                parts = [self.sure(premise, low, high, binding, holds=not holds)]
                parts.append(self.sure(conclusion, low, high, binding, holds=holds))
                return any(parts) if holds else all(parts)
            case And(parts) | Or(parts):
                found = [self.sure(part, low, high, binding, holds=holds) for part in parts]
                return all(found) if isinstance(formula, And) is holds else any(found)
            case Forall(variables, part) | Exists(variables, part):
                inner = [{**binding, **each} for each in self.world.bindings(variables, low)]
                found = [self.sure(part, low, high, each, holds=holds) for each in inner]
                return all(found) if isinstance(formula, Forall) is holds else any(found)
        return self.world.holds(formula, low if holds else high, binding) is holds

    def may_begin(self, ground: Ground, state: State, others: list[Happening]) -> bool:
        """Return whether the conditions of a step hold in `state`, whatever steps that run will change."""
        action = ground.action
        for condition in (action.requires, action.at_start.requires):
            if not self.surely(condition, state, ground.binding, others, is_start=True):
                return False
        for condition, *_, variables in declared(ground):
            for found in self.world.bindings(variables, state):
                binding = {**ground.binding, **found}
                if not any(
                    self.surely(condition, state, binding, others, is_start=True, holds=each) for each in (True, False)
                ):
                    return False
        return True

    def describe(self, name: str, conditions: list[Any], effects: list[Any], binding: Any, change: Change) -> Happening:
        reads = {atom for each in conditions for atom in self.base(each, binding)}
        reads |= {atom for each in effects for atom in self.base(each[0], binding)}
        compared = {term for each in conditions for term in functions_of(each, binding)}
        compared |= {term for each in effects for term in functions_of(each[0], binding)}
        changed: set[tuple[Atom, int]] = set()
        for _, _, _, numbers, _ in effects:
            for each in numbers:
                compared |= {term for term in terms_of(each.value, binding) if term != DURATION}
                sign = SIGNS.get(each.operator, 0)
                changed.add((each.fluent.substitute(binding), sign))
        written = {atom.predicate for atom in change.added | change.ended}
        constrained = frozenset(number for number, named in enumerate(self.constrained) if named & written)
        literals = [pair for each in conditions for pair in literals_of(each)]
        return Happening(
            name,
            wanted=frozenset(atom for part, holds in literals if holds for atom in self.base(part, binding)),
            denied=frozenset(atom for part, holds in literals if not holds for atom in self.base(part, binding)),
            reads=frozenset(reads),
            added=change.added,
            ended=change.ended,
            compared=frozenset(compared),
            changed=frozenset(changed),
            constrained=constrained,
        )

    def look_first(self, happening: Happening, ground: Ground, late: list[Effect]) -> Happening:
        """Return the start `happening` with what it looks at for the effects of its step, and what it says of them."""
        binding, reads, compared = ground.binding, set(happening.reads), set(happening.compared)
        wanted, denied = set(happening.wanted), set(happening.denied)
        for condition, _, _, numbers, _ in declared(ground):
            read = self.base(condition, binding)
            reads, wanted, denied = reads | read, wanted | read, denied | read
            compared |= set(functions_of(condition, binding))
            compared |= {term for each in numbers for term in terms_of(each.value, binding) if term != DURATION}
        literals = [each for effect in late for each in effect[1]]
        written = {each.part if isinstance(each, Not) else each for each in literals}
        written |= {item for effect in late for item in effect[2]}
        return replace(
            happening,
            is_start=True,
            reads=frozenset(reads),
            wanted=frozenset(wanted),
            denied=frozenset(denied),
            compared=frozenset(compared),
            coming=frozenset(positive(literals)),
            staling=frozenset(self.world.stale(written)),
            changing=frozenset((each.fluent, SIGNS.get(each.operator, 0)) for effect in late for each in effect[3]),
        )

    def forbids(self, one: Happening, other: Happening) -> bool:
        """Return whether `other` may not come while the step of the start or end `one` runs."""
        if meet(one.coming, other.ended | other.denied):
            return True
        if {term for term, _ in one.changing} & other.compared:
            return True
        if not other.is_start:
            return False
        return meet(one.staling, other.coming | other.wanted) or self.clash(one.changing, other.changing)

    def clash(self, some: Iterable[tuple[Atom, int]], others: Iterable[tuple[Atom, int]]) -> bool:
        """Return whether changes of numbers exclude each other: both of one number, but for growth that adds up."""
        for term, sign in some:
            for same, sign2 in others:
                if term == same and (not (sign and sign2) or (sign != sign2 and term.predicate in self.bounded)):
                    return True
        return False
