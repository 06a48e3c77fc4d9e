"""Lint with objects: actions that can never apply and goals that nothing brings about, by relaxed reachability."""

from __future__ import annotations

from collections.abc import Iterator

from planner.check.actions import contradiction
from planner.check.findings import Finding, Level
from planner.check.possible import Possible
from planner.check.usage import plain_atoms
from planner.model import Action, Problem, TypeHierarchy


def check_reach(problem: Problem, reach: Possible) -> Iterator[Finding]:
    """Yield the actions that can never apply in `problem`, and the goal facts that no action can bring about.

    Deletes are ignored, so that all that is reported is certain, and more may be true.
    """
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    for action in problem.domain.actions.values():
        if action.name not in reach.actions and contradiction(action.requires) is None:
            yield from _never_applies(action, members, reach)
    yield from _goal(problem, reach)


def _never_applies(action: Action, members: dict[str, list[str]], reach: Possible) -> Iterator[Finding]:
    """Yield why `action` never applies, unless the cause is a predicate without any fact: that is a finding itself."""
    place = f"action {action.name}"
    empty = [parameter for parameter in action.parameters if not any(members.get(name) for name in parameter.types)]
    missing = [atom for atom in plain_atoms(action.requires) if not reach.holds(atom)]
    if empty:
        message = f"it can never apply: there is no object for {empty[0]}"
        yield Finding(Level.NOTE, "empty-type", place, message)
    elif all(reach.has_any(atom.predicate) for atom in missing):
        reason = f"no fact matches {missing[0]}" if missing else "no objects satisfy all of what it requires"
        message = f"it can never apply: {reason}, neither initially nor after any action"
        yield Finding(Level.NOTE, "never-applies", place, message)


def _goal(problem: Problem, reach: Possible) -> Iterator[Finding]:
    clash = contradiction(problem.goal.hard)
    if clash is not None:
        yield Finding(Level.ERROR, "contradicting-goal", "goal", f"it contradicts itself ({clash})")
        return
    for atom in reach.normal.goal.atoms:
        if not reach.holds(atom):
            message = f"nothing can bring about {reach.normal.written.get(atom, atom)}"
            yield Finding(Level.ERROR, "unreachable-goal", "goal", message)
