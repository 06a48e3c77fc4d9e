"""Facts that say which changes are to come at the ends of the steps that run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.lightweight import dataclass, field
from planner.model.actions import Action, Moment, When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, cache_per_domain, conditions_of
from planner.model.formulas import (
    OPEN,
    TRUE,
    Atom,
    Equals,
    Forall,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    conjunction,
    conjuncts,
    is_variable,
    literals_in,
)
from planner.semantics.staleness import StaleRule, Write, collect_stale_rules, find_stale


@dataclass(frozen=True, slots=True)
class ChangeToCome:
    """A fact `name(args…)` that holds from the start to the end of steps of `action`, which change `fact` at the end.

    `holds` says whether the step makes `fact` true or false: false only where the `equalities` hold, and except for the
    facts in `winning`, which the step provides. A step that `is_alone` excludes all others that change the same fact;
    other steps exclude only themselves.
    """

    action: Action
    fact: Atom
    holds: bool
    name: str
    args: tuple[Term, ...]
    is_alone: bool
    winning: tuple[Atom, ...] = ()
    equalities: tuple[Equals, ...] = ()

    @property
    def literal(self) -> Atom:
        """The fact that says it, with the parameters of the action."""
        return Atom(self.name, self.args)

    def exclude(self, atom: Atom, own: Mapping[Term, Term] | None, given: Iterable[Atom] = ()) -> Formula:
        """Return that no step is to change `atom`, whose open arguments stand for any object but those `given`.

        With `own`, the terms for the parameters of a step of the same action, that step does not count.
        """
        binding: dict[Term, Term] = {}
        choices: list[Formula] = []
        for mine, theirs in zip(self.fact.args, atom.args, strict=True):
            if OPEN in (mine, theirs):
                continue
            known = binding.setdefault(mine, theirs) if is_variable(mine) else mine
            if known != theirs:
                if not is_variable(known) and not is_variable(theirs):
                    return TRUE
                choices.append(Not(Equals(known, theirs)))
        others: list[Variable] = []
        types = {each.name: each.types for each in self.action.parameters}
        for term in self.args:
            if is_variable(term) and term not in binding:
                others.append(Variable(_choose_variable(f"?other{len(others)}", atom.args), types[term]))
                binding[term] = others[-1].name
        args = tuple([binding.get(term, term) for term in self.args])
        meant = [binding.get(x, x) if y == OPEN else y for x, y in zip(self.fact.args, atom.args, strict=True)]
        equal = [_same([binding.get(term, term) for term in fact.args], meant) for fact in self.winning]
        equal += [_same(fact.args, meant) for fact in given]
        pairs = [[binding.get(term, term) for term in (each.left, each.right)] for each in self.equalities]
        choices += [*[Not(Equals(left, right)) for left, right in pairs], *equal]
        if own is not None:
            choices.append(_same(args, [own.get(term, term) for term in self.args]))
        if TRUE in choices:
            return TRUE
        free = Not(Atom(self.name, args))
        need = Or((free, *choices)) if choices else free
        return Forall(tuple(others), need) if others else need


def _choose_variable(name: str, taken: Iterable[Term]) -> str:
    while name in taken:
        name += "'"
    return name


def _same(some: Iterable[Term], others: Iterable[Term]) -> Formula:
    return conjunction([Equals(x, y) for x, y in zip(some, others, strict=True) if x != y])


@dataclass(slots=True)
class _Touched:
    """The predicates that conditions need true and need false, and that effects make true and make false."""

    needed: set[tuple[str, bool]] = field(default_factory=set)
    made: set[tuple[str, bool]] = field(default_factory=set)

    @classmethod
    def of(cls, domain: DomainModel) -> _Touched:
        found = cls()
        for action in domain.actions.values():
            for condition in conditions_of(action):
                found.needed |= {(atom.predicate, holds) for atom, holds in literals_in(condition)}
            for when in action.effects:
                found.needed |= {(atom.predicate, holds) for holds in (True, False)
                                 for atom, _ in literals_in(when.requires)}  # fmt: skip
                found.made |= {(fact.predicate, True) for fact in positive_atoms(when.provides)}
                found.made |= {(write.pattern.predicate, False) for write in collect_deletes(when, domain)}
        size = -1
        while size < len(found.needed):  # derived facts need what their axioms need
            size = len(found.needed)
            for axiom in domain.axioms:
                for way in (True, False):
                    if (axiom.predicate, way) in found.needed:
                        read = literals_in(axiom.condition, positive=way)
                        found.needed |= {(atom.predicate, holds) for atom, holds in read}
        return found

    def contradicts(self, predicate: str, *, holds: bool) -> bool:
        """Return whether some action needs or makes the contrary of a fact that `holds` when it has come."""
        return (predicate, not holds) in self.needed or (predicate, not holds) in self.made


@cache_per_domain
def _stale_rules(domain: DomainModel) -> tuple[StaleRule, ...]:
    return tuple(collect_stale_rules(domain))


def collect_deletes(when: When, domain: DomainModel) -> list[Write]:
    """Return the patterns that the effect `when` makes false: what it ends, and what goes stale."""
    deletes = [Write(fact) for fact in negated_atoms(when.provides)]
    deletes += [Write(item) for item in when.modifies if OPEN in item.args]
    return [*deletes, *_collect_stale(when, domain)]


def _collect_stale(when: When, domain: DomainModel) -> list[Write]:
    rules = _stale_rules(domain)
    written = [*positive_atoms(when.provides), *negated_atoms(when.provides), *when.modifies]
    return find_stale([Write(each) for each in written], rules) if rules else []


def find_changes_to_come(
    domain: DomainModel, moments: Mapping[str, tuple[Moment, Formula, Moment]]
) -> Iterator[ChangeToCome]:
    """Yield what declared actions bring at the end, and what goes stale then, where others need or make the contrary.

    `moments` has the moments of the actions whose steps last.
    """
    if not moments:
        return
    touched = _Touched.of(domain)
    for name in moments:
        action = domain.actions[name]
        taken: set[str] = set()
        given = positive_atoms(action.provides)
        for fact in given:
            is_used = any(item.matches(fact) for item in action.modifies)
            if not is_used and touched.contradicts(fact.predicate, holds=True):
                yield _announce(action, Write(fact), taken)
        for write in _collect_stale(_find_late(action), domain):
            wins = [fact for fact in given if fact.predicate == write.pattern.predicate]
            if write.pattern not in wins and touched.contradicts(write.pattern.predicate, holds=False):
                yield _announce(action, write, taken, wins, holds=False)


def _find_late(action: Action) -> When:
    """Return what steps of `action` write at their ends, as far as their declaration does not say the moment."""
    ended = [each for each in action.provides if isinstance(each, Not) and each.part in action.at_start.provides]
    written = [item for item in action.modifies if OPEN not in item.args]
    return When(TRUE, (*positive_atoms(action.provides), *ended), tuple(written))


def _announce(
    action: Action, write: Write, taken: set[str], winning: Sequence[Atom] = (), *, holds: bool = True
) -> ChangeToCome:
    """Return the change of what is written; its arguments are those of the whole step, unless it excludes others."""
    fact, names = write.pattern, [each.name for each in action.parameters]
    known = [each for each in dict.fromkeys(fact.args) if is_variable(each)]
    is_alone = holds and Not(fact) in conjuncts(action.requires)
    is_alone = is_alone or any({*filter(is_variable, item.args)} <= {*known} for item in action.modifies)
    equalities = tuple(sorted(write.equalities, key=str))
    read = {arg for each in winning for arg in each.args} | {x for each in equalities for x in (each.left, each.right)}
    args = (*known, *[each for each in names if each not in known and (not is_alone or each in read)])
    name = f"{fact.predicate} to {'come' if holds else 'end'} by {action.name}"
    label, number = name, 1
    while label in taken:
        number += 1
        label = f"{name} {number}"
    taken.add(label)
    return ChangeToCome(action, fact, holds, label, args, is_alone, tuple(winning), equalities)


def name_changes_to_come(text: str, changes: Iterable[ChangeToCome]) -> str:
    """Return a message in which facts that say what is to come are named in words of what is declared."""
    for each in changes:
        if each.name not in text:
            continue
        verb = "bring" if each.holds else "end"
        words = {"not ": f"that no other step {verb}s", "provided ": f"began to {verb}", "": f"the step that {verb}s"}
        for said, meant in words.items():
            for found in [*re.finditer(rf"{said}{re.escape(each.name)}(?: \d+)?(?:\(([^()]*)\))?", text)]:
                binding = dict(zip(each.args, (found[1] or "").split(", "), strict=False))
                text = text.replace(found[0], f"{meant} {each.fact.substitute(binding)}")
    return text
