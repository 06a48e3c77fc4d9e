"""Lint of roles: arguments of one type in the wrong order, and what sets one object or fact apart from its likes.

Types cannot tell `road(origin, target)` from `road(target, origin)`. Roles can: an action that moves an item from one
value to another gives its parameters the roles of old and new value; relations that never change, and functions, are
used with these roles in one order. Where a relation is used in the other order against the rest, it is told.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter

from planner.lightweight import Final
from planner.lint.findings import (
    Finding,
    Level,
    Mend,
    conjoined_atoms,
    ended_atoms,
    goal_atoms,
    provided_atoms,
    wanted_atoms,
)
from planner.lint.item_lint import balanced_items, declared_items
from planner.model.actions import Action, CostFunction, positive_atoms
from planner.model.domain import ROOT_TYPE, DomainModel, TypeHierarchy, amounts_of, numeric_effects, written_predicates
from planner.model.formulas import Atom, Number, atoms_in, functions_in, unmarked
from planner.model.problem import Problem


@dataclass(frozen=True, slots=True)
class _Use:
    """Relation `atom` of `action` has two parameters of one type; `forward` where they stand as they are declared."""

    action: Action
    atom: Atom
    forward: bool
    role: bool | None
    """True where the old value of the item that the action moves comes first, False where the new one does."""
    is_function: bool = False


def check_roles(domain: DomainModel, problem: Problem | None) -> Iterator[Finding]:
    """Yield relations whose two arguments of one type stand in the opposite order to the rest.

    Roles tell nothing of a relation that orders amounts, such as levels of fuel: they rise and fall.
    """
    static = domain.predicates.keys() - written_predicates(domain)
    uses = [use for action in domain.actions.values() for use in _uses_of(action, static)]
    by_role: dict[tuple[str, bool | None], list[_Use]] = defaultdict(list)
    by_action: dict[str, list[_Use]] = defaultdict(list)
    for use in uses:
        by_role[use.atom.predicate, use.role].append(use)
        by_action[use.action.name].append(use)
    circles = set[str]() if problem is None else {name for name, _ in by_role} - find_acyclic(problem)
    for use in [each for each in uses if not each.forward and not each.is_function]:
        name, role = use.atom.predicate, use.role
        if name in circles and role is not None and _is_alone(use, by_role[name, role]):
            against = [each for each in by_role[name, not role] if each.action is not use.action]
            if len(against) >= 2:
                yield _report(use, against[0])
                continue
        others = [each for each in by_action[use.action.name] if each.atom.predicate != name]
        beside = next((each for each in others if _is_opposite(use, each)), None)
        if beside is not None and all(_is_alone(use, by_role[name, each]) for each in (True, False)):
            yield _report(use, beside)


def _is_alone(use: _Use, alike: list[_Use]) -> bool:
    """Return whether no other action has a use among `alike`."""
    return all(each.action is use.action for each in alike)


def find_acyclic(problem: Problem) -> frozenset[str]:
    """Return the binary predicates that have initial facts, and no circle of these."""
    following: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for fact in problem.initial:
        if len(fact.args) == 2:
            following[fact.predicate][fact.args[0]].append(fact.args[1])
    return frozenset([name for name, graph in following.items() if _is_acyclic(graph)])


def _is_acyclic(graph: Mapping[str, list[str]]) -> bool:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return False
    return True


def _is_opposite(use: _Use, other: _Use) -> bool:
    """Return whether `other` has the same two arguments, in the order of the declaration."""
    return other.forward and not use.forward and set(other.atom.args) == set(use.atom.args)


def _uses_of(action: Action, static: Collection[str]) -> Iterator[_Use]:
    types = {each.name: each.types for each in action.parameters}
    order = list(types)
    moves = _moves_of(action)
    terms = [atom for x in amounts_of(action) if not isinstance(x, CostFunction) for atom in functions_in(x)]
    atoms = [(atom, False) for atom in atoms_in(action.requires) if atom.predicate in static]
    for atom, is_function in dict.fromkeys([*atoms, *[(atom, True) for atom in terms]]):
        if len(atom.args) == 2 and atom.args[0] != atom.args[1] and all(each in types for each in atom.args):
            first, second = atom.args
            if types[first] == types[second]:
                role = None if {first, second} != set(moves) else moves[0] == first
                yield _Use(action, atom, order.index(first) < order.index(second), role, is_function)


def _moves_of(action: Action) -> tuple[str, ...]:
    """Return the parameters for the old and the new value of the item that the action moves, if there is just one."""
    found = set()
    for new in positive_atoms(action.provides):
        for old in conjoined_atoms(action.requires):
            if old.predicate == new.predicate:
                places = [n for n, (x, y) in enumerate(zip(old.args, new.args, strict=True)) if x != y]
                if len(places) == 1:
                    found.add((old.args[places[0]], new.args[places[0]]))
    return min(found) if len(found) == 1 else ()


def _report(use: _Use, other: _Use) -> Finding:
    written, turned = unmarked(use.atom), unmarked(Atom(use.atom.predicate, use.atom.args[::-1]))
    where = "beside it" if other.action is use.action else f"in action {other.action.name}"
    message = f"{written} has its arguments in the opposite order to {unmarked(other.atom)} {where}"
    place, mend = f"action {use.action.name}", Mend("replace", "requires", written, turned)
    hint = f"should it be {turned}?"
    return Finding(Level.WARNING, "swapped-arguments", place, message, hint, "requires", use.atom, mend=mend)


_FEWEST: Final = 4
"""Facts that make a chain, and objects or values of which one may stand out."""


def check_facts(problem: Problem) -> Iterator[Finding]:
    """Yield initial facts that break a chain, and objects that alone lack a fact."""
    static = problem.domain.predicates.keys() - written_predicates(problem.domain)
    facts: dict[str, list[Atom]] = defaultdict(list)
    for fact in problem.initial:
        if fact.predicate in static and len(fact.args) <= 2:
            facts[fact.predicate].append(fact)
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    required = {x.predicate for y in problem.domain.actions.values() for x in conjoined_atoms(y.requires)}
    yield from _check_silent(problem)
    yield from _check_values(problem)
    for own in facts.values():
        if len(own[0].args) == 2:
            yield from _check_reflexive(own, problem)
            yield from list(_check_one_way(own, problem)) or _check_mutual(own, problem)
        if len(own[0].args) == 2 and len(own) >= _FEWEST:
            yield from _check_chain(own)
        elif len(own[0].args) == 1:
            yield from _check_lonely(own, problem, members, required)


def _check_reflexive(facts: list[Atom], problem: Problem) -> Iterator[Finding]:
    """Yield the one fact of a relation between objects of one type that relates an object to itself."""
    first, second = [each.types for each in problem.domain.predicates[facts[0].predicate].parameters]
    own = [fact for fact in facts if fact.args[0] == fact.args[1]]
    if first == second and first != (ROOT_TYPE,) and len(own) == 1 and len(facts) > 1:
        message = f"{own[0]} relates {own[0].args[0]} to itself, as no other fact of {own[0].predicate} does"
        hint = "should one of them be another object?"
        yield Finding(Level.HINT, "reflexive-fact", "initial", message, hint, part=own[0])


_FEWEST_PAIRS: Final = 2
"""Pairs of facts that go both ways, and objects with a fact, beside which one that differs is strange."""


def _check_one_way(facts: list[Atom], problem: Problem) -> Iterator[Finding]:
    """Yield the one fact of a relation without the fact that turns it round, where all others have that."""
    first, second = [each.types for each in problem.domain.predicates[facts[0].predicate].parameters]
    pairs = {fact.args for fact in facts if fact.args[0] != fact.args[1]}
    alone = [pair for pair in pairs if pair[::-1] not in pairs]
    if first == second and len(alone) == 1 and len(pairs) > 2 * _FEWEST_PAIRS:
        fact = Atom(facts[0].predicate, alone[0])
        back = Atom(fact.predicate, fact.args[::-1])
        message = f"{back} is not stated, though {fact} is, and all other facts of {fact.predicate} go both ways"
        yield Finding(Level.HINT, "one-way-fact", "initial", message, f"state {back}, if it holds", part=fact)


_MUTUAL: Final = re.compile(r"same|adjacent|neighbou?rs?|neighbou?ring|beside|touching|siblings?|linked", re.IGNORECASE)
"""Words in names of relations that hold both ways, if they hold."""


def _check_mutual(facts: list[Atom], problem: Problem) -> Iterator[Finding]:
    """Yield the first fact that is stated one way only, of a relation that is mutual by its name."""
    name = facts[0].predicate
    first, second = [each.types for each in problem.domain.predicates[name].parameters]
    words = re.split(r"[-_]", name)
    pairs = {fact.args for fact in facts}
    alone = [fact for fact in facts if fact.args[::-1] not in pairs]
    turned = any(
        {atom.args, atom.args[::-1]} <= {x.args for x in own}
        for own in _uses_by_name(problem.domain, name)
        for atom in own
        if atom.args[0] != atom.args[-1]
    )
    if first == second and any(map(_MUTUAL.fullmatch, words)) and alone and not turned:
        back = Atom(name, alone[0].args[::-1])
        more = f" ({len(alone) - 1} more are like it)" if len(alone) > 1 else ""
        message = f"{back} is not stated, though {alone[0]} is{more}: by its name, {name} holds both ways"
        yield Finding(Level.HINT, "one-way-fact", "initial", message, f"state {back}, if it holds", part=alone[0])


def _uses_by_name(domain: DomainModel, name: str) -> Iterator[list[Atom]]:
    """Yield the atoms of the predicate in the condition of each action and axiom."""
    conditions = [action.requires for action in domain.actions.values()] + [each.condition for each in domain.axioms]
    for condition in conditions:
        yield [atom for atom in atoms_in(condition) if atom.predicate == name]


def _check_values(problem: Problem) -> Iterator[Finding]:
    """Yield the one value of a function that differs from the value the other way, and values far from all others."""
    changing = {x.fluent.predicate for y in problem.domain.actions.values() for x in numeric_effects(y)}
    values: dict[str, dict[Atom, Number]] = defaultdict(dict)
    for term, value in problem.values.items():
        if term.predicate not in changing and term.args:
            values[term.predicate][term] = value
    for own in values.values():
        yield from _check_turned(own)
        yield from _check_far(own)


def _check_turned(values: dict[Atom, Number]) -> Iterator[Finding]:
    """Yield the one value of a function that is not the same both ways."""
    turned = {term: Atom(term.predicate, term.args[::-1]) for term in values if len(set(term.args)) == 2}
    pairs = [(term, back) for term, back in turned.items() if back in values and term.args < back.args]
    unlike = [pair for pair in pairs if values[pair[0]] != values[pair[1]]]
    if len(unlike) == 1 and len(pairs) > _FEWEST_PAIRS:
        one, other = unlike[0]
        message = f"{other} is {values[other]}, and {one} is {values[one]}: all other values of {one.predicate}"
        message += " are the same both ways"
        yield Finding(Level.HINT, "far-value", "values", message, "should both be the same?", part=other)


def _check_far(values: dict[Atom, Number]) -> Iterator[Finding]:
    """Yield the one value that is `_FAR` times more or less than all others, which are near each other."""
    if len(values) <= _FEWEST or any(value <= 0 for value in values.values()):
        return
    order = sorted(values, key=lambda term: values[term])
    for term, nearest, farthest in ((order[0], order[1], order[-1]), (order[-1], order[-2], order[0])):
        sizes = [Fraction(values[each]) for each in (term, nearest, farthest)]
        far = max(sizes[0] / sizes[1], sizes[1] / sizes[0])
        if far >= _FAR and max(sizes[1] / sizes[2], sizes[2] / sizes[1]) <= _NEAR:
            message = f"{term} is {values[term]}, and all other values of {term.predicate} are"
            message += f" {values[nearest]} or {'less' if term == order[-1] else 'more'}"
            yield Finding(Level.HINT, "far-value", "values", message, "is it in another unit?", part=term)


_FAR: Final = 60
"""Factor by which a value is far from its likes: that of hours and minutes, the least of two units."""
_NEAR: Final = 10
"""Most factor between values that are near each other."""


def _check_silent(problem: Problem) -> Iterator[Finding]:
    """Yield the one object of a type of which nothing is stated, where each other one has a fact of one predicate."""
    created = {kind for action in problem.domain.actions.values() for kind in action.creates.values()}
    facts = [*problem.initial, *problem.values, *problem.unknown, *wanted_atoms(problem)]
    facts += [fact for each in problem.timed for fact in each.provides if isinstance(fact, Atom)]
    named = {arg for fact in facts for arg in fact.args}
    members: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for each in problem.objects:
        members[each.types].append(each.name)
    for types, names in members.items():
        silent = [name for name in names if name not in named]
        if len(silent) != 1 or len(names) <= _FEWEST_PAIRS or not created.isdisjoint(types):
            continue
        others = {name for name in names if name not in silent}
        for name in _states_of(problem.domain):
            own = [fact for fact in problem.initial if fact.predicate == name]
            counts = Counter(fact.args[0] for fact in own if fact.args)
            if others <= counts.keys() and all(counts[each] == 1 for each in others):
                like = next(fact for fact in own if fact.args[0] in others)
                message = (
                    f"nothing is stated of {silent[0]}, though each other one of its type has a fact such as {like}"
                )
                hint = "state such a fact of it, or leave it out"
                yield Finding(Level.HINT, "lonely-object", "objects", message, hint, part=silent[0])
                break


def _states_of(domain: DomainModel) -> list[str]:
    """Return the predicates of a state in which objects begin: actions take it, or move it to another value."""
    items = {item.predicate for item in (*declared_items(domain), *balanced_items(domain)) if item.place > 0}
    actions = domain.actions.values()
    given = {fact.predicate for action in actions for fact in provided_atoms(action)}
    taken = {x.predicate for y in actions for x in conjoined_atoms(y.requires) if x in ended_atoms(y)}
    return sorted(items | (taken & given))


def _check_lonely(
    facts: list[Atom], problem: Problem, members: Mapping[str, list[str]], required: set[str]
) -> Iterator[Finding]:
    """Yield the one object of a type that lacks a fact which all others have, if the goal names it.

    `members` are the objects of each type, and `required` the predicates that preconditions have.
    """
    name = facts[0].predicate
    types = problem.domain.predicates[name].parameters[0].types
    if ROOT_TYPE in types or name not in required:
        return
    having = {fact.args[0] for fact in facts}
    lacking = [each for kind in types for each in members.get(kind, []) if each not in having]
    named = {arg for atom in goal_atoms(problem.goal) for arg in atom.args}
    kinds = {each.name: each.types for each in problem.all_objects}
    likes = [each for each in having if lacking and kinds.get(each) == kinds.get(lacking[0])]
    if len(lacking) == 1 and lacking[0] in named and len(likes) > 1:
        missing = Atom(name, (lacking[0],))
        message = (
            f"{missing} is not stated, though the goal names {lacking[0]} and all others of its type have such a fact"
        )
        yield Finding(Level.HINT, "lonely-object", "initial", message, f"state {missing}, if it holds", part=facts[-1])


def _check_chain(facts: list[Atom]) -> Iterator[Finding]:
    """Yield the one fact that breaks a chain, in which each object has one successor and one predecessor."""
    pairs = [fact.args for fact in facts]
    if _is_chain(pairs):
        return
    wrong = []
    for number, (first, second) in enumerate(pairs):
        if first != second and _is_chain([*pairs[:number], (second, first), *pairs[number + 1 :]]):
            wrong.append(facts[number])
        if len(wrong) > 1 or number > 200:
            return
    for fact in wrong:
        turned = Atom(fact.predicate, fact.args[::-1])
        message = f"{fact} breaks the chain of {fact.predicate}, which {turned} would complete"
        mend = Mend("replace", "", str(fact), str(turned))
        yield Finding(
            Level.WARNING, "reversed-fact", "initial", message, f"should it be {turned}?", part=fact, mend=mend
        )


def _is_chain(pairs: list[tuple[str, ...]]) -> bool:
    """Return whether `pairs` are functional both ways, and run to an end: a cycle is no chain."""
    following = {first: second for first, second in pairs}  # noqa: C416 - pairs have no fixed length
    if len(following) < len(pairs) or len({second for _, second in pairs}) < len(pairs):
        return False
    starts = following.keys() - following.values()
    return len(starts) == 1
