"""What steps that last keep other steps from, between their starts and their ends.

An item that a step modifies is in use: no other step reads or writes it. A fact that a declared step brings at its end
is to come, and one that goes stale when something comes is to end: no other step needs or makes the contrary. A number
that it changes is to change: no other step reads it, or changes it in a way that clashes. Facts of the snap problem say
so from the start of the step to its end, or numbers where several steps may do the same at once, and the snap actions
of all other steps need that nothing says so. Nothing is added for what no action needs, makes or reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import product

from planner.lightweight import dataclass, field, replace
from planner.limits import check_regularly, never
from planner.model.actions import Action, Moment, NumericEffect, When, negated_atoms, positive_atoms
from planner.model.domain import ROOT_TYPE, Axiom, DomainModel, Function, Predicate, is_internal
from planner.model.formulas import (
    TRUE,
    And,
    Atom,
    Comparison,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Variable,
    comparisons_in,
    conjunction,
    conjuncts,
    functions_in,
    literals_in,
    negate,
    push_negations,
    with_conjuncts,
)
from planner.model.problem import Problem
from planner.semantics.changes_to_come import (
    ChangeToCome,
    Direction,
    collect_deletes,
    find_changes_to_come,
    find_direction,
    has_bounds,
)
from planner.semantics.condition_solver import Universe
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
    """How a step looks at others: `own` has the terms for its parameters where it is under way itself.

    A condition of a moment follows PDDL's rules: it is about what holds then, not about what is `to_come`.
    """

    part: Part
    action: Action
    own: Mapping[str, str] = field(default_factory=dict)
    to_come: bool = True

    @classmethod
    def of(cls, action: Action, part: Part) -> _View:
        return cls(part, action, {each.name: each.name for each in action.parameters})


@dataclass(slots=True, eq=False)
class Interference:
    """The facts that say what the steps of a domain use and bring, and the conditions that other steps respect them."""

    problem: Problem
    items: ItemsInUse
    coming: tuple[ChangeToCome, ...]
    check: Callable[[], None] = never
    """Called for each conditional effect: it may end the work."""
    axioms: list[Axiom] = field(default_factory=list)
    """Axioms for what a derived fact would be if all that is to come had come, and what is in use were unknown."""
    predicates: dict[str, Predicate] = field(default_factory=dict)
    counters: dict[Atom, int] = field(default_factory=dict)
    """The numbers of steps that are to change something, all 0 at the beginning."""
    _by_predicate: dict[str, list[ChangeToCome]] = field(default_factory=dict)
    """The changes to come, by the predicates and functions of what they change."""

    @classmethod
    def of(cls, problem: Problem, moments: Mapping[str, Moments], check: Callable[[], None] = never) -> Interference:
        """Return what steps of `problem` keep others from; `moments` has those of the actions whose steps last."""
        domain = problem.domain
        items = ItemsInUse.of([domain.actions[name] for name in moments], domain)
        coming = tuple(check_regularly(find_changes_to_come(problem, moments), check))
        found = cls(problem, items, coming, check, predicates=dict(items.predicates))
        for each in coming:
            found._by_predicate.setdefault(each.fact.predicate, []).append(each)
            if each.is_counted:
                found.counters |= dict.fromkeys(_list_marks(each, problem), 0)
            else:
                found.predicates[each.name] = Predicate(each.name, _untyped(len(each.args)))
        return found

    @property
    def domain(self) -> DomainModel:
        """The domain whose steps keep others from something."""
        return self.problem.domain

    @property
    def functions(self) -> dict[str, Function]:
        """The functions of the counters."""
        return {each.predicate: Function(each.predicate, _untyped(len(each.args))) for each in self.counters}

    def guard(self, snap: Action, action: Action, part: Part) -> Action:
        """Let the `snap` action, which is `part` of `action`, need that other steps allow what it reads and writes."""
        if not self.predicates and not self.coming:
            return snap
        view = _View.of(action, part)
        of_moments = {*conjuncts(action.at_start.requires), *conjuncts(action.at_end.requires)}
        needs: list[Formula] = []
        for each in conjuncts(snap.requires):
            needs += conjuncts(self._guard(each, replace(view, to_come=each not in of_moments)))
        needs += self._guard_conditions(snap, view)
        for when in snap.effects:
            self.check()
            needs += self._guard_writes(when, snap, view)
        needs += self._guard_numbers(snap, view)
        provides, numbers = snap.provides, snap.numbers
        used = [*self.items.facts_of(action)]
        own = [each for each in self.coming if each.action.name == action.name]
        if not part.is_under_way:
            needs += self._guard_makes(snap, view)
        counted = [each.mark for each in own if each.is_counted]
        plain = [each for each in own if not each.is_counted and not each.is_conditional]
        conditional = [each for each in own if each.is_conditional]
        marks, branches = [*used, *[each.mark for each in plain]], snap.when
        if part is Part.START:
            needs += [*map(Not, used), *[Not(each.mark) for each in plain if not each.is_alone]]
            provides = (*provides, *marks)
            numbers = (*numbers, *[NumericEffect(each, "+=", 1) for each in counted])
            begun = [When(each.begun, (each.mark,), variables=each.variables) for each in conditional]
            branches = (*branches, *begun)
        if part is Part.END:
            provides = (*provides, *map(Not, marks))
            numbers = (*numbers, *[NumericEffect(each, "-=", 1) for each in counted])
            ended = [
                When(each.mark, (Not(each.mark),), variables=each.variables) for each in own if each.is_conditional
            ]
            branches = (*branches, *ended)
        needed = conjunction(list(dict.fromkeys(needs)))
        return replace(snap, requires=needed, provides=provides, numbers=numbers, when=branches)

    def guard_formula(self, formula: Formula, action: Action) -> Formula:
        """Return `formula`, which steps of `action` need throughout, with the condition that others allow it."""
        return self._guard(formula, _View.of(action, Part.LASTING))

    def _guard_conditions(self, snap: Action, view: _View) -> Iterator[Formula]:
        """Yield that the conditions of effects surely hold, or surely do not."""
        for when in snap.when:
            self.check()
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

    def _guard_numbers(self, snap: Action, view: _View) -> Iterator[Formula]:
        """Yield that no other step is to change the numbers that `snap` reads, or changes in a way that clashes."""
        action, end = view.action, view.part is Part.END
        for when in action.at_end.effects if end else snap.effects:
            read = [term for each in when.numbers for term in functions_in(each.value)]
            yield from [_under(when, TRUE, need) for term in read for need in self._exclude_changes(term, view)]
        if not end:
            read = [term for _, amount in action.name_amounts() for term in functions_in(amount)]
            yield from [need for term in read for need in self._exclude_changes(term, view)]
        late = (When(TRUE, numbers=action.numbers), *action.when) if view.part is Part.START else ()
        for when in action.at_end.effects if end else (*snap.effects, *late):
            for each in when.numbers:
                direction = find_direction(each, self.problem)
                yield from [_under(when, TRUE, need) for need in self._exclude_changes(each.fluent, view, direction)]

    def _exclude_changes(self, fluent: Atom, view: _View, direction: Direction | None = None) -> list[Formula]:
        """Return that no other step is to change `fluent`, or in a way that clashes with a change in a `direction`."""
        is_bounded = has_bounds(fluent.predicate, self.domain)
        found = [
            each.exclude(fluent, self._own(each, view))
            for each in self._by_predicate.get(fluent.predicate, ())
            if each.direction is not None
            and (direction is None or direction.clashes(each.direction, is_bounded=is_bounded))
        ]
        return [each for each in found if each != TRUE]

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
        found = self._by_predicate.get(predicate, ())
        return [each for each in found if each.direction is None and each.holds is not holds]

    def _own(self, change: ChangeToCome, view: _View) -> Mapping[str, str] | None:
        is_own = view.part.is_under_way and change.action.name == view.action.name
        return view.own if is_own else None

    def _free(self, atom: Atom, view: _View, *, holds: bool) -> list[Formula]:
        """Return what lets a step rely on `atom`, which `holds` or does not: no other step uses or changes it."""
        own = [*self.items.facts_of(view.action)] if view.part.is_under_way else []
        own = [each.substitute(view.own) for each in own]
        found: list[Formula] = [Not(fact) for fact in self.items.facts_about(atom) if fact not in own]
        if not view.to_come or (holds and view.part.is_under_way):  # what goes stale meanwhile was needed before
            return found
        return found + self._exclude(atom, view, holds=holds)

    def _guard(self, formula: Formula, view: _View) -> Formula:
        return self._rewrite(push_negations(formula), view) if self._touches(formula, view) else formula

    def _touches(self, formula: Formula, view: _View) -> bool:
        """Return whether other steps may keep a step from relying on `formula`, or on its negation."""
        read = [term for part in comparisons_in(formula) for term in part.functions]
        return any(self._touches_literal(atom, view, set()) for atom, _ in literals_in(formula)) or any(
            self._exclude_changes(term, view) for term in read
        )

    def _touches_literal(self, atom: Atom, view: _View, seen: set[str]) -> bool:
        if atom.predicate in self.domain.derived:
            if atom.predicate in seen:
                return False
            seen.add(atom.predicate)
            conditions = [axiom.condition for axiom in self.domain.axioms if axiom.predicate == atom.predicate]
            read = [term for each in conditions for part in comparisons_in(each) for term in part.functions]
            parts = [part for each in conditions for part, _ in literals_in(each)]
            return any(self._touches_literal(part, view, seen) for part in parts) or any(
                self._exclude_changes(term, view) for term in read
            )
        return any(self._free(atom, view, holds=holds) for holds in (True, False))

    def _rewrite(self, formula: Formula, view: _View) -> Formula:
        """Return `formula`, in negation normal form, with what each of its literals needs."""
        match formula:
            case Atom():
                return self._rely(formula, view, holds=True)
            case Not(Atom() as atom):
                return self._rely(atom, view, holds=False)
            case Comparison() | Not(Comparison()):
                compared = formula if isinstance(formula, Comparison) else formula.part
                assert isinstance(compared, Comparison)
                needs = [need for term in compared.functions for need in self._exclude_changes(term, view)]
                return And((formula, *dict.fromkeys(needs))) if needs else formula
            case And(parts):
                return And(tuple([self._rewrite(part, view) for part in parts]))
            case Or(parts):
                return Or(tuple([self._rewrite(part, view) for part in parts]))
            case Forall(variables, part):
                return Forall(variables, self._rewrite(part, view))
            case Exists(variables, part):
                return Exists(variables, self._rewrite(part, view))
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


def _list_marks(change: ChangeToCome, problem: Problem) -> Iterator[Atom]:
    """Yield the marks of `change` for all objects that its arguments may be."""
    domain, types = problem.domain, {each.name: each.types for each in change.action.parameters}
    declared = domain.functions if change.direction is not None else domain.predicates
    for arg, parameter in zip(change.fact.args, declared[change.fact.predicate].parameters, strict=True):
        types[arg] = parameter.types  # conditions of others may be about more objects than steps of the action
    objects = Universe(problem)
    for chosen in product(*[objects.of_types(types[arg]) for arg in change.args]):
        yield Atom(change.name, tuple(chosen))


def _untyped(size: int, first: int = 0) -> tuple[Variable, ...]:
    return tuple([Variable(f"?{place}", (ROOT_TYPE,)) for place in range(first, first + size)])


def _under(when: When, also: Formula, need: Formula) -> Formula:
    """Return that `need` holds wherever the effect `when` happens and `also` holds."""
    condition = with_conjuncts(when.requires, *conjuncts(also))
    needed = need if condition == TRUE else Imply(condition, need)
    return Forall(when.variables, needed) if when.variables else needed


def _is_watching(effect: When) -> bool:
    """Return whether `effect` is one of a monitor, which looks at items that are in use, too."""
    facts = (*positive_atoms(effect.provides), *negated_atoms(effect.provides))
    return bool(facts) and all(is_internal(each.predicate) for each in facts)
