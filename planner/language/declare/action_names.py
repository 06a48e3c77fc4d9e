"""Names and alternative names of actions: which action a name means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.errors import InputError, did_you_mean
from planner.language.declare.fields import Place
from planner.model import Action, DomainModel


def fold_name(name: str) -> str:
    """Return what counts in `name`: letters in one case, without underscores, hyphens and spaces."""
    return "".join(name.casefold().replace("_", " ").replace("-", " ").split())


def resolve_action(domain: DomainModel, name: str) -> Action:
    """Return the action that `name` means: its name exactly, or its name or a simile up to case, `_`, `-` and spaces.

    Raises `InputError` where there is none, with the nearest known name, and where there is more than one.
    """
    if name in domain.actions:
        return domain.actions[name]
    wanted = fold_name(name)
    found = [
        action
        for action in domain.actions.values()
        if any(fold_name(each) == wanted for each in (action.name, *action.similes))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(repr(action.name) for action in found)
        raise InputError(f"the name {name!r} is ambiguous: it may mean {names}")
    known = [each for action in domain.actions.values() for each in (action.name, *action.similes)]
    raise InputError(f"there is no action {name!r} in domain {domain.name!r}", hint=did_you_mean(name, known))


def check_similes(actions: Iterable[Action], places: Mapping[str, Place]) -> None:
    """Raise an error where an alternative name also means another action."""
    names = {fold_name(action.name): action.name for action in actions}
    similes: dict[str, str] = {}
    for action in actions:
        for simile in action.similes:
            key = fold_name(simile)
            other = names.get(key) or similes.setdefault(key, action.name)
            if not key:
                raise places[action.name].error(f"the simile {simile!r} of action {action.name!r} is no name")
            if other != action.name:
                raise places[action.name].error(
                    f"the simile {simile!r} of action {action.name!r} also means action {other!r}, "
                    f"declared at {places[other].location}"
                )
