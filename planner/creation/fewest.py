"""How many steps that create objects a plan has at least: what each part of the goal needs for itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.model import Action, Atom, Exists, Problem, is_variable
from planner.model.actions import added
from planner.model.formulas import conjuncts


def fewest_creations(problem: Problem) -> int:
    """Return a number of creating steps of one kind that every plan has at least; 0 where none is known to be needed.

    A part of the goal may ask for some object with a fact that only a creating step provides, about its new object and
    other arguments: `some ?t: closed(?t) and about(?t, o1)`. Parts with other arguments need steps of their own, but
    for as many as one step provides such facts.
    """
    asked: dict[str, set[tuple[str, ...]]] = {}
    for fact in _asked(problem):
        asked.setdefault(fact.predicate, set()).add(fact.args)
    return max((_needed(problem, predicate, rows) for predicate, rows in asked.items()), default=0)


def _asked(problem: Problem) -> Iterator[Atom]:
    """Yield the facts with one open argument that the goal asks for about some object."""
    for part in conjuncts(problem.goal.hard):
        if isinstance(part, Exists):
            names = {each.name for each in part.variables}
            for atom in conjuncts(part.part):
                if isinstance(atom, Atom) and len(names.intersection(atom.args)) == 1 and len(atom.args) > 1:
                    yield Atom(atom.predicate, tuple(["?" if each in names else each for each in atom.args]))


def _needed(problem: Problem, predicate: str, rows: set[tuple[str, ...]]) -> int:
    """Return how many steps provide the facts of `rows` at least; 0 where others than creating steps may."""
    places = {row.index("?") for row in rows}
    stated = {fact.predicate for fact in (*problem.initial, *problem.unknown)}
    if len(places) > 1 or predicate in stated or predicate in problem.domain.derived:
        return 0
    (place,) = places
    most = 0
    for action in problem.domain.actions.values():
        facts = [fact for fact in _provided(action) if fact.predicate == predicate]
        own = {each.name for each in action.parameters}
        if any(fact.args[place] not in action.creates for fact in facts):
            return 0
        terms = {each for fact in facts for each in fact.args if is_variable(each)}
        if not terms <= own | action.creates.keys():
            return 0
        most = max(most, len(set(facts)))
    return -(-len(rows) // most) if most else 0


def _provided(action: Action) -> Iterable[Atom]:
    parts = [each.provides for each in action.effects] + [each.provides for each in action.outcomes]
    return (fact for provides in parts for fact in added(provides))
