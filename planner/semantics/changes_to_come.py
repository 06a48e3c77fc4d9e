"""Facts and numbers that say which changes are to come at the ends of the steps that run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from planner.lightweight import dataclass, field, replace
from planner.model.actions import DURATION, Action, Moment, NumericEffect, When, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, cache_per_domain, conditions_of, numeric_fluents, written_predicates
from planner.model.formulas import (
    OPEN,
    TRUE,
    Arithmetic,
    Atom,
    Comparison,
    Equals,
    Expression,
    Forall,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    atoms_in,
    comparisons_in,
    conjunction,
    conjuncts,
    functions_in,
    is_variable,
    literals_in,
)
from planner.model.problem import Problem
from planner.semantics.staleness import StaleRule, Write, collect_stale_rules, find_stale


class Direction(Enum):
    """How an effect changes a number."""

    UP = "it grows"
    DOWN = "it shrinks"
    EITHER = "it grows or shrinks"
    ANEW = "it is assigned or multiplied"

    def clashes(self, other: Direction, *, is_bounded: bool) -> bool:
        """Return whether two steps must not change one number so at the same time."""
        if Direction.ANEW in (self, other):
            return True
        return is_bounded and (self is not other or self is Direction.EITHER)


def find_direction(effect: NumericEffect, problem: Problem) -> Direction:
    """Return how `effect` changes its number in `problem`."""
    if not effect.is_additive:
        return Direction.ANEW
    sign = _find_sign(effect.value, problem)
    if sign is None:
        return Direction.EITHER
    return Direction.UP if (sign > 0) is (effect.operator == "+=") else Direction.DOWN


def _find_sign(expression: Expression, problem: Problem) -> int | None:
    """Return 1 for an expression that is never negative, -1 for a negative number, None for others."""
    match expression:
        case Atom():
            function = problem.domain.functions.get(expression.predicate)
            if expression == DURATION or (function is not None and function.low is not None and function.low >= 0):
                return 1
            if expression.predicate in changing_functions(problem):
                return None
            values = [value for term, value in problem.values.items() if term.predicate == expression.predicate]
            return 1 if all(value >= 0 for value in values) else None
        case Arithmetic(operator, operands):
            is_sum = operator in ("+", "*", "/")
            return 1 if is_sum and all(_find_sign(each, problem) == 1 for each in operands) else None
        case _:
            return 1 if expression >= 0 else -1


def changing_functions(problem: Problem) -> frozenset[str]:
    """Return the functions that steps, or changes at known times, change."""
    timed = [each.fluent.predicate for effect in problem.timed for each in effect.numbers]
    return numeric_fluents(problem.domain) | frozenset(timed)


def find_changing(problem: Problem) -> frozenset[str]:
    """Return the predicates and functions that steps, or changes at known times, change."""
    literals = [literal for effect in problem.timed for literal in effect.provides]
    timed = [atom.predicate for literal in literals for atom in atoms_in(literal)]
    return changing_functions(problem) | written_predicates(problem.domain) | frozenset(timed)


def depends_on(condition: Formula, names: frozenset[str]) -> bool:
    """Return whether `condition` mentions any of these predicates and functions."""
    read = [term for part in comparisons_in(condition) for term in part.functions]
    return any(atom.predicate in names for atom in (*atoms_in(condition), *read))


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
    is_counted: bool = False
    direction: Direction | None = None
    begun: Formula = TRUE
    variables: tuple[Variable, ...] = ()

    @property
    def is_conditional(self) -> bool:
        """Whether a conditional effect makes the change."""
        return self.begun != TRUE or bool(self.variables)

    @property
    def mark(self) -> Atom:
        """The fact or the number that says it, with the parameters of the action."""
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
        types = {each.name: each.types for each in (*self.action.parameters, *self.variables)}
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
        marked = Atom(self.name, args)
        if own is not None:
            fixed = [term for term in self.args if term in own]
            same = _same([binding.get(term, term) for term in fixed], [own[term] for term in fixed])
            choices.append(conjunction([same, Comparison(marked, "<=", 1)]) if self.is_counted else same)
        if TRUE in choices:
            return TRUE
        free: Formula = Comparison(marked, "<=", 0) if self.is_counted else Not(marked)
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
    read: set[str] = field(default_factory=set)
    changed: dict[str, set[Direction]] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem) -> _Touched:
        found, domain = cls(), problem.domain
        found._find_numbers(problem)
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

    def _find_numbers(self, problem: Problem) -> None:
        conditions = [axiom.condition for axiom in problem.domain.axioms]
        for action in problem.domain.actions.values():
            conditions += conditions_of(action)
            self.read |= {term.predicate for _, amount in action.name_amounts() for term in functions_in(amount)}
            for when in action.effects:
                for each in when.numbers:
                    self.read |= {term.predicate for term in functions_in(each.value)}
                    self.changed.setdefault(each.fluent.predicate, set()).add(find_direction(each, problem))
        self.read |= {term.predicate for each in conditions for part in comparisons_in(each) for term in part.functions}

    def concerns(self, effect: NumericEffect, problem: Problem) -> bool:
        """Return whether some action reads the number that `effect` changes, or changes it in a way that clashes."""
        name, direction = effect.fluent.predicate, find_direction(effect, problem)
        others = self.changed.get(name, set())
        is_bounded = has_bounds(name, problem.domain)
        return name in self.read or any(direction.clashes(each, is_bounded=is_bounded) for each in others)

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


def has_bounds(name: str, domain: DomainModel) -> bool:
    """Return whether the function `name` has a least or a greatest value."""
    function = domain.functions.get(name)
    return function is not None and (function.low, function.high) != (None, None)


def find_changes_to_come(
    problem: Problem, moments: Mapping[str, tuple[Moment, Formula, Moment]]
) -> Iterator[ChangeToCome]:
    """Yield what declared actions bring at the end, and what goes stale then, where others need or make the contrary.

    `moments` has the moments of the actions whose steps last.
    """
    if not moments:
        return
    touched, changing = _Touched.of(problem), find_changing(problem)
    for name in moments:
        action = problem.domain.actions[name]
        taken: set[str] = set()
        effects = [When(TRUE, action.provides, action.modifies, numbers=action.numbers), *action.when]
        values = [term for when in effects for each in when.numbers for term in functions_in(each.value)]
        if any(term.predicate in changing for term in values) or any(
            depends_on(when.requires, changing) for when in action.when
        ):
            yield _announce_itself(action)
        for when in effects:
            yield from _find_of_effect(action, when, touched, taken, problem)


def _find_of_effect(
    action: Action, when: When, touched: _Touched, taken: set[str], problem: Problem
) -> Iterator[ChangeToCome]:
    """Yield the changes that one effect of `action` makes at the end, as far as they concern others."""
    given = dict.fromkeys((*positive_atoms(action.provides), *positive_atoms(when.provides)))
    for fact in positive_atoms(when.provides):
        is_used = any(item.matches(fact) for item in action.modifies)
        if not is_used and touched.contradicts(fact.predicate, holds=True):
            yield _under(when, _announce(action, Write(fact), taken))
    for write in _collect_stale(_find_late(action, when), problem.domain):
        wins = [fact for fact in given if fact.predicate == write.pattern.predicate]
        if write.pattern not in wins and touched.contradicts(write.pattern.predicate, holds=False):
            yield _under(when, _announce(action, write, taken, wins, holds=False))
    for effect in when.numbers:
        if touched.concerns(effect, problem):
            yield _under(when, _announce_number(action, effect, taken, find_direction(effect, problem)))


def _under(when: When, change: ChangeToCome) -> ChangeToCome:
    """Return `change` for the effect `when`; under a condition, it is told by facts of the whole step."""
    if when.requires == TRUE and not when.variables:
        return change
    names = [each.name for each in (*change.action.parameters, *when.variables)]
    args = tuple(dict.fromkeys((*change.args, *names)))
    return replace(change, args=args, is_alone=False, is_counted=False, begun=when.requires, variables=when.variables)


def _announce_itself(action: Action) -> ChangeToCome:
    """Return what keeps a step, which remembers values from its start, from running twice at once."""
    names = tuple([each.name for each in action.parameters])
    itself = f"{action.name} itself"
    return ChangeToCome(action, Atom(itself, names), True, f"{itself} to come by {action.name}", names, is_alone=False)


def _announce_number(action: Action, effect: NumericEffect, taken: set[str], direction: Direction) -> ChangeToCome:
    """Return the change of a number, which is counted unless the step excludes others that change the number."""
    known = [each for each in dict.fromkeys(effect.fluent.args) if is_variable(each)]
    needed = [part for part in conjuncts(action.requires) if isinstance(part, Comparison)]
    read = [term for part in needed for term in part.functions]
    read += [term for _, amount in action.name_amounts() for term in functions_in(amount)]
    read += [term for each in action.numbers for term in functions_in(each.value)]
    is_alone = direction is Direction.ANEW or effect.fluent in read or _shares_item(action, known)
    name = _name_apart(f"{effect.fluent.predicate} to change by {action.name}", taken)
    return ChangeToCome(
        action, effect.fluent, True, name, tuple(known), is_alone, is_counted=not is_alone, direction=direction
    )


def _shares_item(action: Action, known: Iterable[Term]) -> bool:
    """Return whether steps of `action` that agree on the terms `known` modify the same item, and so exclude others."""
    return any({*filter(is_variable, item.args)} <= {*known} for item in action.modifies)


def _name_apart(name: str, taken: set[str]) -> str:
    label, number = name, 1
    while label in taken:
        number += 1
        label = f"{name} {number}"
    taken.add(label)
    return label


def _find_late(action: Action, when: When) -> When:
    """Return what the effect `when` of `action` writes at the end, unless its declaration says the moment."""
    ended = [each for each in when.provides if isinstance(each, Not) and each.part in action.at_start.provides]
    written = [item for item in when.modifies if OPEN not in item.args]
    return When(TRUE, (*positive_atoms(when.provides), *ended), tuple(written))


def _announce(
    action: Action, write: Write, taken: set[str], winning: Sequence[Atom] = (), *, holds: bool = True
) -> ChangeToCome:
    """Return the change of what is written; its arguments are those of the whole step, unless it excludes others."""
    fact, names = write.pattern, [each.name for each in action.parameters]
    known = [each for each in dict.fromkeys(fact.args) if is_variable(each)]
    is_alone = holds and Not(fact) in conjuncts(action.requires)
    is_alone = is_alone or _shares_item(action, known)
    is_counted = bool(action.numbers) and not is_alone  # more of them at once do more
    equalities = tuple(sorted(write.equalities, key=str))
    read = {arg for each in winning for arg in each.args} | {x for each in equalities for x in (each.left, each.right)}
    more = names if not (is_alone or is_counted) else [each for each in names if each in read]
    args = (*known, *[each for each in more if each not in known])
    name = _name_apart(f"{fact.predicate} to {'come' if holds else 'end'} by {action.name}", taken)
    return ChangeToCome(action, fact, holds, name, args, is_alone, tuple(winning), equalities, is_counted)


def name_changes_to_come(text: str, changes: Iterable[ChangeToCome]) -> str:
    """Return a message in which facts that say what is to come are named in words of what is declared."""
    for each in changes:
        if each.name not in text:
            continue
        verb = "change" if each.direction is not None else "bring" if each.holds else "end"
        mark = rf"{re.escape(each.name)}(?:\(([^()]*)\))?"
        words = {
            f"not {mark}": f"that no other step {verb}s",
            f"{mark} <= [01]": f"that no other step {verb}s",
            f"provided {mark}": f"began to {verb}",
            rf"{mark} is \d+": f"a step {verb}s",
            mark: f"the step that {verb}s",
        }
        for said, meant in words.items():
            for found in [*re.finditer(said, text)]:
                binding = dict(zip(each.args, (found[1] or "").split(", "), strict=False))
                text = text.replace(found[0], f"{meant} {each.fact.substitute(binding)}")
    return text
