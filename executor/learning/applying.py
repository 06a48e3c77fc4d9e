"""Domains and problems with what was seen of their actions, in place of what is declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from executor.learning.learned import Learned
from executor.learning.options import Learning
from executor.learning.tallies import Tally
from planner.declare import resolve_action
from planner.errors import InputError, did_you_mean
from planner.kinds import is_other_problem
from planner.model import Action, DomainModel, Object, Problem, TypeHierarchy
from planner.model.problem import sealed_as
from planner.records import replace

Tallies = Mapping[tuple[str, tuple[tuple[str, str], ...]], Tally]
"""What attempts come to, by action and its objects by parameter."""


def applied(what: Any, tallies: Tallies, learning: Learning) -> Any:
    """Return `what`, a domain or a problem, with actions as they have been seen; raises `InputError`."""
    if isinstance(what, Problem):
        return sealed_as(replace(what, domain=_domain(what.domain, what.all_objects, tallies, learning)), what)
    if is_other_problem(what):
        return _with_tasks(what, applied(what.classical, tallies, learning))
    if isinstance(what, DomainModel):
        return _domain(what, (), tallies, learning)
    hint = "such as domain.model, or domain.problem(…)"
    raise InputError(f"what is learned is applied to a domain or a problem, not to {what!r}", hint=hint)


def _with_tasks(problem: Any, classical: Problem) -> Any:
    """Return `problem`, one with tasks, with another classical part."""
    return replace(problem, domain=replace(problem.domain, classical=classical.domain), classical=classical)


def _domain(domain: DomainModel, objects: Iterable[Object], tallies: Tallies, learning: Learning) -> DomainModel:
    """Return `domain` with its actions as they have been seen; `objects` may be told apart though nothing was."""
    apart = {action.name: names for action, names in _apart(domain, learning)}
    seen: dict[str, list[tuple[Mapping[str, str], Tally]]] = {name: [] for name in domain.actions}
    for (name, arguments), tally in tallies.items():
        action = _named(domain, name)
        if action is not None:
            seen[action.name].append((dict(arguments), tally))
    by_type = TypeHierarchy(domain.types).objects_by_type(tuple(objects))
    count = sum(each.count for each in tallies.values())
    actions = [
        Learned(action, apart.get(name, ()), seen[name], learning, f"{learning.seed} {count} {name}")
        for name, action in domain.actions.items()
    ]
    return replace(domain, actions={each.declared.name: each.action(by_type) for each in actions})


def _apart(domain: DomainModel, learning: Learning) -> Iterable[tuple[Action, tuple[str, ...]]]:
    """Yield the actions whose parameters are told apart; raises `InputError` where there are no such."""
    for name, wanted in learning.by.items():
        action = resolve_action(domain, name)
        known = [each.name.removeprefix("?") for each in action.parameters]
        for each in wanted:
            if each not in known:
                hint = did_you_mean(each, known) or f"it has {', '.join(known) or 'none'}"
                raise InputError(f"{action.signature} has no parameter {each!r} to tell apart", hint=hint)
        yield action, tuple([each for each in known if each in wanted])


def _named(domain: DomainModel, name: str) -> Action | None:
    """Return the action that plans meant by `name`; None where the domain has none any more."""
    try:
        return resolve_action(domain, name)
    except InputError:
        return None
