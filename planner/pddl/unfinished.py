"""What a domain file leaves to the files of problems: objects, constraints, and what preferences of steps are worth."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from planner.annotations import Final
from planner.errors import PddlError, UnsupportedError
from planner.model import Action, DomainModel, Formula, Not, Number, Object
from planner.model.constraints import Constraint, Stated
from planner.model.formulas import conjunction
from planner.pddl.lenient import warn_at
from planner.pddl.parts import free_name
from planner.pddl.preferences import instances
from planner.pddl.trees import nearest, quote
from planner.pddl.typed import Types
from planner.pddl.vocabulary import Vocabulary, wrong_type
from planner.records import replace

MOST_PREFERENCES: Final = 6
"""Counted preferences of one action: each doubles the number of actions that stand for it."""


def with_constants(domain: DomainModel, types: Types, known: Mapping[str, Object]) -> DomainModel:
    """Return `domain` with those of the objects `known` as constants that it names without declaring them.

    Raises `PddlError` where there is no such object, or it is of another type than where it is named.
    """
    moved = []
    for name, mentions in domain.unfinished.undeclared.items():
        place = mentions[0].place
        if name not in known:
            hint = nearest(name, known) or "declare it in ':constants', or in the problem's ':objects'"
            raise PddlError(f"the object {quote(name)} is not declared", place, hint)
        for mention in mentions:
            if mention.types and not types.hierarchy.is_a(known[name].types, mention.types):
                message = wrong_type(name, known[name].types, mention.types, mention.role)
                raise PddlError(message, mention.place, "use another object, or correct its type")
        warn_at(place, f"the domain names the object {quote(name)}, which only the problem declares")
        moved.append(known[name])
    return replace(domain, constants=(*domain.constants, *moved))


def with_counted_preferences(domain: DomainModel, worth: Mapping[str, Number], words: Vocabulary) -> DomainModel:
    """Return `domain` with an action for each set of preferences that a step may break, at the price that it pays.

    Preferences that the metric does not count are left out. Plans call all these actions by the name of the file's.
    """
    actions: dict[str, Action] = {}
    versions = dict(domain.versions)
    taken = set(domain.actions)
    for name, action in domain.actions.items():
        counted = [each for each in domain.unfinished.preferences.get(name, ()) if worth.get(each.preference)]
        for version in _versions(action, list(instances(counted, words)), worth, taken):
            actions[version.name] = version
            if version.name != name:
                versions[version.name] = domain.versions.get(name, name)
    return replace(domain, actions=actions, versions=versions) if len(actions) > len(domain.actions) else domain


def _versions(
    action: Action, preferences: list[Stated], worth: Mapping[str, Number], taken: set[str]
) -> Iterable[Action]:
    """Yield `action` for each set of `preferences` that its steps may break, the empty set first."""
    if len(preferences) > MOST_PREFERENCES:
        construct = f"{len(preferences)} counted preferences in the precondition of '{action.name}'"
        raise UnsupportedError(construct, f"at most {MOST_PREFERENCES} are counted")
    for broken in itertools.product((False, True), repeat=len(preferences)):
        pairs = list(zip(preferences, broken, strict=True))
        requires = [_as_demanded(each.wanted, is_broken=is_broken) for each, is_broken in pairs]
        names = [each.preference for each, is_broken in pairs if is_broken]
        yield replace(
            action,
            name=_name(action.name, names, taken) if names else action.name,
            requires=conjunction([action.requires, *requires]) if requires else action.requires,
            cost=(*action.cost, *(worth[name] for name in names)),
        )


def _as_demanded(wanted: Formula | Constraint, *, is_broken: bool) -> Formula:
    assert not isinstance(wanted, Constraint)  # noqa: S101 - preconditions have none
    return Not(wanted) if is_broken else wanted


def _name(action: str, preferences: list[str], taken: set[str]) -> str:
    """Return a new name for `action` where it breaks `preferences`, and add it to `taken`."""
    return free_name(f"{action}-without-{'-'.join(preferences)}", taken)
