"""What steps that last keep other steps from, between their starts and their ends.

An item that a step modifies is in use: no other step reads or writes it. A fact that a declared step brings at its end
is to come, and one that goes stale when something comes is to end: no other step needs or makes the contrary. Facts of
the snap problem say so from the start of the step to its end, and the snap actions of all other steps need that they do
not hold. Nothing is added for what no action needs or makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from planner.lightweight import dataclass, field, replace
from planner.model.actions import Action, Moment, When, positive_atoms
from planner.model.domain import ROOT_TYPE, Axiom, DomainModel, Predicate
from planner.model.formulas import (
    TRUE,
    And,
    Atom,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Variable,
    conjunction,
    conjuncts,
    literals_in,
)
from planner.semantics.changes_to_come import ChangeToCome, collect_deletes, find_changes_to_come
from planner.semantics.items_in_use import ItemsInUse

Moments = tuple[Moment, Formula, Moment]
"""What an action requires and changes at its start, its condition between, and the same for its end."""


class Part(Enum):
    """What a snap action is of its step."""

    WHOLE = "a step without a duration"
    START = "its start"
    LASTING = "what must hold between its start and its end"
    END = "its end"

    @property
    def is_under_way(self) -> bool:
        """Whether the facts about its own step hold already."""
        return self in (Part.LASTING, Part.END)


@dataclass(frozen=True, slots=True)
class _View:
    """How a step looks at others: `own` has the terms for its parameters where it is under way itself."""

    part: Part
    action: Action
    own: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, action: Action, part: Part) -> _View:
        return cls(part, action, {each.name: each.name for each in action.parameters})


@dataclass(slots=True, eq=False)
class Interference:
    """The facts that say what the steps of a domain use and bring, and the conditions that other steps respect them."""

    domain: DomainModel
    items: ItemsInUse
    coming: tuple[ChangeToCome, ...]
    axioms: list[Axiom] = field(default_factory=list)
    """Axioms for what a derived fact would be if all that is to come had come, and what is in use were unknown."""
    predicates: dict[str, Predicate] = field(default_factory=dict)

    @classmethod
    def of(cls, domain: DomainModel, moments: Mapping[str, Moments]) -> Interference:
        """Return what steps of `domain` keep others from; `moments` has those of the actions whose steps last."""
        items = ItemsInUse.of([domain.actions[name] for name in moments], domain)
        coming = tuple(find_changes_to_come(domain, moments))
        found = cls(domain, items, coming, predicates=dict(items.predicates))
        for each in coming:
            found.predicates[each.name] = Predicate(each.name, _untyped(len(each.args)))
        return found

    def guard(self, snap: Action, action: Action, part: Part) -> Action:
        """Let the `snap` action, which is `part` of `action`, need that other steps allow what it reads and writes."""
        if not self.predicates:
            return snap
        view = _View.of(action, part)
        needs = [*conjuncts(self._guard(snap.requires, view)), *self._guard_conditions(snap, view)]
        for when in snap.effects:
            needs += self._guard_writes(when, snap, view)
        provides = snap.provides
        used = [*self.items.facts_of(action)]
        own = [each for each in self.coming if each.action.name == action.name]
        if not part.is_under_way:
            needs += self._guard_makes(snap, view)
        if part is Part.START:
            needs += map(Not, used)
            needs += [Not(each.literal) for each in own if not each.is_alone]
            provides = (*provides, *used, *[each.literal for each in own])
        if part is Part.END:
            provides = (*provides, *map(Not, used), *[Not(each.literal) for each in own])
        return replace(snap, requires=conjunction(list(dict.fromkeys(needs))), provides=provides)

    def guard_formula(self, formula: Formula, action: Action) -> Formula:
        """Return `formula`, which steps of `action` need throughout, with the condition that others allow it."""
        return self._guard(formula, _View.of(action, Part.LASTING))

    def _guard_conditions(self, snap: Action, view: _View) -> Iterator[Formula]:
        """Yield that the conditions of effects surely hold, or surely do not."""
        for when in snap.when:
            if not _is_watching(when) and self._touches(when.requires, view):
                known = Or(tuple([self._guard(each, view) for each in (when.requires, Not(when.requires))]))
                yield Forall(when.variables, known) if when.variables else known

    def _guard_writes(self, when: When, snap: Action, view: _View) -> Iterator[Formula]:
        """Yield that no other step uses what an effect of `snap` writes, or brings what it ends."""
        own = [*self.items.facts_of(view.action)] if view.part.is_under_way else []
        written = [literal.part if isinstance(literal, Not) else literal for literal in when.provides]
        for item in (*written, *when.modifies):
            if isinstance(item, Atom):
                free = [Not(fact) for fact in self.items.facts_about(item) if fact not in own]
                yield from (_under(when, TRUE, each) for each in free)
        given = positive_atoms(snap.provides)
        for write in collect_deletes(when, self.domain):
            if write.pattern in given:
                continue
            for each in self._contraries(write.pattern.predicate, holds=False):
                wins = [fact for fact in given if fact.predicate == write.pattern.predicate]
                need = each.exclude(write.pattern, self._own(each, view), wins)
                if need != TRUE:
                    yield _under(when, conjunction(sorted(write.equalities, key=str)), need)

    def _guard_makes(self, snap: Action, view: _View) -> Iterator[Formula]:
        """Yield that no other step ends, when something comes, what this one brings or needs throughout."""
        action = view.action
        late = (When(TRUE, action.provides), *action.when) if view.part is Part.START else ()
        for when in (*snap.effects, *late):
            for fact in positive_atoms(when.provides):
                yield from [_under(when, TRUE, need) for need in self._exclude(fact, view, holds=True)]
        for part in conjuncts(action.throughout):
            if isinstance(part, Atom):
                yield from self._exclude(part, view, holds=True)

    def _exclude(self, atom: Atom, view: _View, *, holds: bool) -> list[Formula]:
        """Return that no other step is to make `atom` false, or true unless it `holds`."""
        found = [each.exclude(atom, self._own(each, view)) for each in self._contraries(atom.predicate, holds=holds)]
        return [each for each in found if each != TRUE]

    def _contraries(self, predicate: str, *, holds: bool) -> list[ChangeToCome]:
        return [each for each in self.coming if each.fact.predicate == predicate and each.holds is not holds]

    def _own(self, change: ChangeToCome, view: _View) -> Mapping[str, str] | None:
        is_own = view.part.is_under_way and change.action.name == view.action.name
        return view.own if is_own else None

    def _free(self, atom: Atom, view: _View, *, holds: bool) -> list[Formula]:
        """Return what lets a step rely on `atom`, which `holds` or does not: no other step uses or changes it."""
        own = [*self.items.facts_of(view.action)] if view.part.is_under_way else []
        own = [each.substitute(view.own) for each in own]
        found: list[Formula] = [Not(fact) for fact in self.items.facts_about(atom) if fact not in own]
        if holds and view.part.is_under_way:  # what goes stale meanwhile was needed before
            return found
        return found + self._exclude(atom, view, holds=holds)

    def _guard(self, formula: Formula, view: _View) -> Formula:
        return self._rewrite(formula, view) if self._touches(formula, view) else formula

    def _touches(self, formula: Formula, view: _View) -> bool:
        """Return whether other steps may keep a step from relying on `formula`, or on its negation."""
        return any(self._touches_literal(atom, view, set()) for atom, _ in literals_in(formula))

    def _touches_literal(self, atom: Atom, view: _View, seen: set[str]) -> bool:
        if atom.predicate in self.domain.derived:
            if atom.predicate in seen:
                return False
            seen.add(atom.predicate)
            parts = [x for axiom in self.domain.axioms if axiom.predicate == atom.predicate
                     for x, _ in literals_in(axiom.condition)]  # fmt: skip
            return any(self._touches_literal(part, view, seen) for part in parts)
        return any(self._free(atom, view, holds=holds) for holds in (True, False))

    def _rewrite(self, formula: Formula, view: _View) -> Formula:
        match formula:
            case Atom():
                return self._rely(formula, view, holds=True)
            case Not(Atom() as atom):
                return self._rely(atom, view, holds=False)
            case And(parts):
                return And(tuple([self._rewrite(part, view) for part in parts]))
            case Or(parts):
                return Or(tuple([self._rewrite(part, view) for part in parts]))
            case Forall(variables, part):
                return Forall(variables, self._rewrite(part, view))
            case Exists(variables, part):
                return Exists(variables, self._rewrite(part, view))
            case Imply(premise, conclusion):
                return self._rewrite(Or((Not(premise), conclusion)), view)
            case Not(part) if isinstance(part, And | Or | Imply | Forall | Exists | Not):
                return self._rewrite(negate(part), view)
            case _:
                return formula

    def _rely(self, atom: Atom, view: _View, *, holds: bool) -> Formula:
        if atom.predicate in self.domain.derived:
            if not self._touches_literal(atom, view, set()):
                return atom if holds else Not(atom)
            atom = self._derive(atom, view, holds=holds)
            return atom if holds else Not(atom)
        literal: Formula = atom if holds else Not(atom)
        needs = self._free(atom, view, holds=holds)
        return And((literal, *needs)) if needs else literal

    def _derive(self, atom: Atom, view: _View, *, holds: bool) -> Atom:
        """Return the atom of a predicate that is derived where `atom` surely holds, or unless it surely does not."""
        is_own = view.part.is_under_way
        name = f"{atom.predicate} {'surely' if holds else 'perhaps'}"
        name += f" for {view.action.name}" if is_own else ""
        more = view.action.parameters if is_own else ()
        if name not in self.predicates:
            own = {each.name: f"?own-{each.name.removeprefix('?')}" for each in view.action.parameters}
            inner = replace(view, own=own)
            added = tuple([Variable(own[each.name], each.types) for each in more])
            size = len(self.domain.predicates[atom.predicate].parameters)
            self.predicates[name] = Predicate(name, (*_untyped(size), *_untyped(len(more), size)))
            for axiom in self.domain.axioms:
                if axiom.predicate == atom.predicate:
                    condition = axiom.condition if holds else negate(axiom.condition)
                    condition = self._guard(condition, inner)
                    condition = condition if holds else negate(condition)
                    self.axioms.append(Axiom(name, (*axiom.parameters, *added), condition))
        return Atom(name, (*atom.args, *[view.own[each.name] for each in more]))


def _untyped(size: int, first: int = 0) -> tuple[Variable, ...]:
    return tuple([Variable(f"?{place}", (ROOT_TYPE,)) for place in range(first, first + size)])


def _under(when: When, also: Formula, need: Formula) -> Formula:
    """Return that `need` holds wherever the effect `when` happens and `also` holds."""
    condition = conjunction([*conjuncts(when.requires), *conjuncts(also)])
    needed = need if condition == TRUE else Imply(condition, need)
    return Forall(when.variables, needed) if when.variables else needed


def negate(formula: Formula) -> Formula:
    """Return the negation of `formula`, with negations only of its atoms and comparisons."""
    match formula:
        case Not(part):
            return part
        case And(parts):
            return Or(tuple(map(negate, parts)))
        case Or(parts):
            return And(tuple(map(negate, parts)))
        case Imply(premise, conclusion):
            return And((premise, negate(conclusion)))
        case Forall(variables, part):
            return Exists(variables, negate(part))
        case Exists(variables, part):
            return Forall(variables, negate(part))
        case _:
            return Not(formula)


def _is_watching(effect: When) -> bool:
    """Return whether `effect` is one of a monitor, which looks at items that are in use, too."""
    return bool(effect.provides) and all(str(each).removeprefix("not ").startswith("@") for each in effect.provides)
