"""Lint of `modifies` with open arguments: an item written so should have one value at a time.

`modifies at(robot, _)` reads as "the robot has one place, and it changes". That is proved or reported, never assumed.
Mutex groups leave one argument open at most, so that with more the lack of a proof says little: that is a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from planner.budget import Budget
from planner.check.findings import Finding, Level
from planner.grounding.single import single_valued
from planner.model import OPEN, Action, Atom, DomainModel, Problem
from planner.model.actions import added, deleted, has_open


def check_single_values(problem: Problem, budget: Budget) -> Iterator[Finding]:
    """Yield the open patterns of `modifies` whose items may have several values at once; raises `LimitReached`."""
    places = _open_patterns(problem.domain)
    if not places:
        return
    for pattern, proved in single_valued(problem, places, budget).items():
        if not proved:
            yield Finding(
                Level.WARNING if pattern.args.count(OPEN) == 1 else Level.NOTE,
                "several-values",
                f"action {places[pattern][0].name}",
                f"it modifies {places[pattern][1]}, but that such an item has one value at a time cannot be proved",
                _suspects(pattern, problem),
            )


def _open_patterns(domain: DomainModel) -> dict[Atom, tuple[Action, Atom]]:
    """Return the open patterns of `modifies`, each with the first place that has it."""
    found: dict[Atom, tuple[Action, Atom]] = {}
    for action in domain.actions.values():
        for patterns in [*[effect.modifies for effect in action.effects], *[x.modifies for x in action.outcomes]]:
            for pattern in filter(has_open, patterns):
                found.setdefault(_item(pattern), (action, pattern))
    return found


def _item(pattern: Atom) -> Atom:
    """Return the pattern with its bound arguments named by their places: the same for the same kind of item."""
    return Atom(pattern.predicate, tuple([arg if arg == OPEN else f"?{n}" for n, arg in enumerate(pattern.args, 1)]))


def _suspects(pattern: Atom, problem: Problem) -> str:
    """Return what most likely gives an item a second value."""
    adders = [
        action.name
        for action in problem.domain.actions.values()
        for effect in action.effects
        if any(atom.predicate == pattern.predicate for atom in added(effect.provides))
        and not any(atom.predicate == pattern.predicate for atom in (*effect.modifies, *deleted(effect.provides)))
    ]
    names = ", ".join(dict.fromkeys(adders))
    return f"provided without ending the old value by {names}" if names else "look at the initial state"
