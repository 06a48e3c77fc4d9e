"""Which items have one value at a time: the proof behind `modifies` with open arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from planner.grounding.ground import explore
from planner.grounding.joins import Row, getter
from planner.grounding.mutex_groups import MutexFinder
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import OPEN, Atom, Goal, Problem


def single_valued(problem: Problem, patterns: Iterable[Atom], limits: Limits) -> dict[Atom, bool]:
    """Return, for each pattern with open arguments, whether at most one fact that it covers ever holds at a time.

    A pattern stands for one item for each choice of its arguments that are not open: `at(?robot, _)` for one item a
    robot. The proof is by mutex groups over what is reachable from the initial state, whatever the goal; False means
    that it could not be proved.
    """
    found = explore(replace(problem, goal=Goal()), limits)
    derived = {rule.head for rule in found.task.rules}
    facts = [number for number, atom in enumerate(found.atoms) if number not in derived]
    groups = MutexFinder(found.atoms, found.task, facts).groups(limits)
    groups_of: dict[int, set[int]] = defaultdict(set)
    for number, group in enumerate(groups):
        for fact in group:
            groups_of[fact].add(number)
    return {pattern: _is_single(pattern, found.atoms, groups_of) for pattern in patterns}


def _is_single(pattern: Atom, atoms: list[Atom], groups_of: dict[int, set[int]]) -> bool:
    bound = getter(tuple([place for place, arg in enumerate(pattern.args) if arg != OPEN]))
    items: dict[Row, list[int]] = defaultdict(list)
    for number, atom in enumerate(atoms):
        if atom.predicate == pattern.predicate:
            items[bound(atom.args)].append(number)
    return all(len(facts) == 1 or set.intersection(*[groups_of[fact] for fact in facts]) for facts in items.values())
