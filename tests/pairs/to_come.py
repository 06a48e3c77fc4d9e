"""What steps that run will change at their ends, and what other steps must leave alone until then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pairs.interpreter import DURATION, Change, Ground, State, World, atoms_of, functions_of, terms_of

from planner.model import OPEN, Atom, Not
from planner.model.actions import DurationRange, Moment
from planner.model.formulas import And, Exists, Forall, Imply, Or

Effects = Iterable[tuple[Any, Iterable[Any], Iterable[Atom], Iterable[Any], Any]]


@dataclass(frozen=True)
class Touches:
    """What a happening touches of what others bring, or what a step guards from its start to its end.

    `contrary` are facts of which the contrary is needed or made, or facts to come; `read` and `counted` numbers, these
    with the sign of what is added, 0 for other changes; `fresh` facts that are begun to be brought or needed, or
    patterns that go stale.
    """

    contrary: frozenset[Atom] = frozenset()
    read: frozenset[Atom] = frozenset()
    counted: frozenset[tuple[Atom, int]] = frozenset()
    fresh: frozenset[Atom] = frozenset()

    def clash(self, guards: Touches, bounded: set[str]) -> bool:
        """Return whether a happening that touches this clashes with a step that guards `guards`."""
        numbers = {term for term, _ in guards.counted}
        if meet(self.contrary, guards.contrary) or self.read & numbers or meet(self.fresh, guards.fresh):
            return True
        return any(
            one == other and (not (sign and sign2) or (sign != sign2 and one.predicate in bounded))
            for one, sign in self.counted
            for other, sign2 in guards.counted
        )


NOTHING: Final = Touches()


def overlap(one: Atom, other: Atom) -> bool:
    same = one.predicate == other.predicate and len(one.args) == len(other.args)
    return same and all(OPEN in pair or pair[0] == pair[1] for pair in zip(one.args, other.args, strict=True))


def meet(some: frozenset[Atom], others: frozenset[Atom]) -> bool:
    return any(overlap(one, other) for one in some for other in others)


def bind(literals: Iterable[Any], binding: Mapping[str, str]) -> list[Any]:
    """Return `literals` with the values of `binding`."""
    return [
        Not(each.part.substitute(binding)) if isinstance(each, Not) else each.substitute(binding) for each in literals
    ]


def said(moment: Moment) -> list[Any]:
    """Return the effects of a moment that an action states."""
    return [(each.requires, each.provides, each.modifies, each.numbers, each.variables) for each in moment.effects]


def made(change: Change) -> Touches:
    """Return that a happening makes the contrary of what `change` ends."""
    return Touches(contrary=frozenset(change.ended - change.added))


def touches_of(world: World, ground: Ground, state: State, begun: Effects, coming: Effects) -> Touches:
    """Return what the start of a step touches."""
    action, binding = ground.action, ground.binding
    positive, negative = needs(world, action.requires, binding)
    change, later = world.change(begun, state, {}), world.change(coming, state, {})
    contrary = {*negative} | (made(change).contrary if change else set())
    for each in action.when:
        contrary |= {*needs(world, each.requires, binding)[0], *needs(world, each.requires, binding)[1]}
    return Touches(
        frozenset(contrary),
        frozenset(numbers_read(ground)),
        counted(coming),
        frozenset({*positive} | (later.added if later else set())),
    )


def guards_of(world: World, coming: Effects) -> Touches:
    """Return what a step guards from its start to its end: what comes at its end."""
    brought, written = set[Atom](), set[Atom]()
    for _, literals, items, _, _ in coming:
        brought |= {each for each in literals if isinstance(each, Atom)}
        written |= {*items} | {each.part for each in literals if isinstance(each, Not)}
    return Touches(frozenset(brought), frozenset(), counted(coming), frozenset(world.stale(brought | written)))


def counted(effects: Effects) -> frozenset[tuple[Atom, int]]:
    """Return the numbers that `effects` change, with signs."""
    signs = {"+=": 1, "-=": -1}
    return frozenset((each.fluent, signs.get(each.operator, 0)) for _, _, _, numbers, _ in effects for each in numbers)


def numbers_read(ground: Ground) -> Iterator[Atom]:
    """Yield the numbers that the start of a step reads."""
    action, binding = ground.action, ground.binding
    for condition in [action.requires, *[each.requires for each in action.when]]:
        yield from functions_of(condition, binding)
    duration = action.duration
    ends = [duration.low, duration.high] if isinstance(duration, DurationRange) else [duration]
    amounts = [each.value for numbers in [action.numbers, *[w.numbers for w in action.when]] for each in numbers]
    amounts += [*ends, *action.cost]
    for terms in [*action.uses.values(), *action.holds.values()]:
        amounts += terms
    for each in amounts:
        yield from [term for term in terms_of(each, binding) if term != DURATION]


def needs(
    world: World, formula: Any, binding: Mapping[str, str], *, negated: bool = False
) -> tuple[set[Atom], set[Atom]]:
    """Return the patterns of facts that `formula` needs, and those of which it needs the contrary; axioms included."""
    match formula:
        case Not(part):
            return needs(world, part, binding, negated=not negated)
        case And(parts) | Or(parts):
            found = [needs(world, each, binding, negated=negated) for each in parts]
        case Forall(_, part) | Exists(_, part):
            return needs(world, part, binding, negated=negated)
        case Imply(premise, conclusion):
            found = [needs(world, premise, binding, negated=not negated)]
            found.append(needs(world, conclusion, binding, negated=negated))
        case Atom():
            (atom,) = atoms_of(formula, binding)
            found = [(set(), {atom}) if negated else ({atom}, set())]
            for axiom in world.domain.axioms:
                if axiom.predicate == atom.predicate:
                    inner = dict(zip(axiom.head.args, atom.args, strict=True))
                    found.append(needs(world, axiom.condition, inner, negated=negated))
        case _:
            return set(), set()
    return {atom for some, _ in found for atom in some}, {atom for _, some in found for atom in some}
