"""Who reads, provides and ends which predicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from planner.model import Action, Atom, DomainModel, Formula, Goal, Problem
from planner.model.actions import added, deleted
from planner.model.formulas import atoms_in, conjuncts


@dataclass(frozen=True, slots=True)
class Usage:
    """Predicates by use, each with the places that use it so, in the order of declaration.

    `required` are those that some condition needs to be true or false, `needed` those that an action requires as they
    stand: without such a fact the action can never apply.
    """

    required: dict[str, list[str]] = field(default_factory=dict)
    needed: dict[str, list[str]] = field(default_factory=dict)
    provided: dict[str, list[str]] = field(default_factory=dict)
    ended: dict[str, list[str]] = field(default_factory=dict)
    sensed: dict[str, list[str]] = field(default_factory=dict)


def usage(domain: DomainModel) -> Usage:
    """Return who uses which predicates in `domain`."""
    found = Usage()
    for action in domain.actions.values():
        place = f"action {action.name}"
        _note(found.required, place, conditions_of(action))
        _note(found.needed, place, plain_atoms(action.requires))
        _note(found.provided, place, (atom for effect in action.effects for atom in added(effect.provides)))
        _note(found.provided, place, (atom for outcome in action.outcomes for atom in added(outcome.provides)))
        _note(found.ended, place, (atom for effect in action.effects for atom in deleted(effect.provides)))
        _note(found.ended, place, (atom for effect in action.effects for atom in effect.modifies))
        _note(found.sensed, place, action.senses)
    for axiom in domain.axioms:
        _note(found.required, f"derived predicate {axiom.predicate}", atoms_in(axiom.condition))
        _note(found.provided, f"derived predicate {axiom.predicate}", [axiom.head])
    for predicate in domain.predicates.values():
        _note(found.ended, f"predicate {predicate.name}", [Atom(predicate.name)] if predicate.stale_with else [])
        _note(found.required, f"predicate {predicate.name}", predicate.stale_with)
    return found


def conditions_of(action: Action) -> Iterator[Atom]:
    """Yield all atoms that the action reads: in its conditions, and where its data comes from."""
    yield from atoms_in(action.requires)
    for effect in action.effects:
        yield from atoms_in(effect.requires)
    for parameter in action.data:
        if parameter.source is not None:
            yield parameter.source.fact


def plain_atoms(formula: Formula) -> Iterator[Atom]:
    """Yield the atoms that must be true for `formula` to hold, as far as a look at its conjuncts tells."""
    return (part for part in conjuncts(formula) if isinstance(part, Atom))


def goal_atoms(goal: Goal) -> Iterator[Atom]:
    """Yield all atoms that the goal, hard or soft, mentions."""
    yield from atoms_in(goal.hard)
    for wish in goal.soft:
        yield from atoms_in(wish.condition)


def wanted_atoms(problem: Problem) -> Iterator[Atom]:
    """Yield all atoms that the goal of `problem` mentions, or one of its constraints."""
    yield from goal_atoms(problem.goal)
    for constraint in problem.constraints:
        for condition in constraint.conditions:
            yield from atoms_in(condition)


def _note(table: dict[str, list[str]], place: str, atoms: Iterable[Atom]) -> None:
    for name in dict.fromkeys(atom.predicate for atom in atoms):
        table.setdefault(name, []).append(place)
