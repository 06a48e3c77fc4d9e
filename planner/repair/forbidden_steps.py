"""Compiles forbidden ground actions into static facts: actions that no plan may take, or not as its first step."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planner.lightweight import Final, replace
from planner.model import Action, Atom, Formula, Not, Or, Predicate, Problem
from planner.model.formulas import with_conjuncts
from planner.model.problem import is_temporal, seal
from planner.plan import Step

BEGUN: Final = Atom("@begun")
"""The fact that some step was taken."""


def forbid_actions(plain: Problem, forbidden: Collection[Atom], not_first: Collection[Atom]) -> Problem:
    """Return the plain ADL problem whose plans take no action of `forbidden`, and begin with none of `not_first`.

    In time, a step counts from its start.
    """
    domain, early = plain.domain, is_temporal(plain)
    predicates, initial = dict(domain.predicates), list(plain.initial)
    actions = dict(domain.actions)
    for action in domain.actions.values():
        never, late = _ban_facts("@never", action, forbidden), _ban_facts("@late", action, not_first)
        for fact in (*never, *late):
            predicates[fact.predicate] = Predicate(fact.predicate, action.parameters)
        initial += [*never, *late]
        barred = _add_bars(action, never=bool(never), late=bool(late))
        actions[action.name] = _note_begin(barred, early=early) if not_first else barred
    if not_first:
        predicates[BEGUN.predicate] = Predicate(BEGUN.predicate)
    plain_domain = replace(domain, actions=actions, predicates=predicates)
    return replace(plain, domain=plain_domain, initial=tuple(initial))


def disable_actions(problem: Problem, names: Collection[str]) -> Problem:
    """Return `problem` without any applicable action of these `names`."""
    if not names:
        return problem
    actions = {
        name: replace(action, requires=Or(())) if name in names else action
        for name, action in problem.domain.actions.items()
    }
    return seal(replace(problem, domain=replace(problem.domain, actions=actions)))


def actions_of(steps: Iterable[Step]) -> frozenset[Atom]:
    """Return the ground actions of `steps`."""
    return frozenset([Atom(step.action, step.arguments) for step in steps])


def _ban_facts(prefix: str, action: Action, banned: Collection[Atom]) -> list[Atom]:
    return [Atom(f"{prefix}-{action.name}", each.args) for each in banned if each.predicate == action.name]


def _add_bars(action: Action, *, never: bool, late: bool) -> Action:
    arguments = tuple([parameter.name for parameter in action.parameters])
    bars: list[Formula] = []
    if never:
        bars.append(Not(Atom(f"@never-{action.name}", arguments)))
    if late:
        bars.append(Or((Not(Atom(f"@late-{action.name}", arguments)), BEGUN)))
    return replace(action, requires=with_conjuncts(action.requires, *bars)) if bars else action


def _note_begin(action: Action, *, early: bool) -> Action:
    """Return `action`, which makes it true that some step was taken; with `early`, at the start of steps that last."""
    if early and action.duration is not None:
        start = action.at_start
        return replace(action, at_start=replace(start, provides=(*start.provides, BEGUN)))
    return replace(action, provides=(*action.provides, BEGUN))
