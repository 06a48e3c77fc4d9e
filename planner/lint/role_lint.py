"""Lint of roles: arguments of one type in the wrong order, and what sets one object or fact apart from its likes.

Types cannot tell `road(origin, target)` from `road(target, origin)`. Roles can: an action that moves an item from one
value to another gives its parameters the roles of old and new value; relations that never change, and functions, are
used with these roles in one order. Where a relation is used in the other order against the rest, it is told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from planner.lint.findings import Finding, Level, Mend, conjoined_atoms, goal_atoms
from planner.model.actions import Action, CostFunction, positive_atoms
from planner.model.domain import ROOT_TYPE, DomainModel, TypeHierarchy, amounts_of, written_predicates
from planner.model.formulas import Atom, atoms_in, functions_in, unmarked
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


_FEWEST = 4
"""Facts that make a chain."""


def check_facts(problem: Problem) -> Iterator[Finding]:
    """Yield initial facts that break a chain, and objects that alone lack a fact."""
    static = problem.domain.predicates.keys() - written_predicates(problem.domain)
    facts: dict[str, list[Atom]] = defaultdict(list)
    for fact in problem.initial:
        if fact.predicate in static and len(fact.args) <= 2:
            facts[fact.predicate].append(fact)
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    required = {x.predicate for y in problem.domain.actions.values() for x in conjoined_atoms(y.requires)}
    for own in facts.values():
        if len(own[0].args) == 2:
            yield from _check_reflexive(own, problem)
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
    if len(lacking) == 1 and lacking[0] in named and len(having) > 1:
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
