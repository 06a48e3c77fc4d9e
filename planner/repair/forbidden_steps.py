"""Ground actions that may not be taken, or not as the first step, said by static facts about their arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planner.lightweight import Final, replace
from planner.model import Action, Atom, Formula, Not, Or, Predicate, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.model.problem import seal
from planner.plan import Step

BEGUN: Final = Atom("@begun")
"""The fact that a step was taken."""


def barred(plain: Problem, forbidden: Collection[Atom], not_first: Collection[Atom]) -> Problem:
    """Return the plain ADL problem in which no action of `forbidden` can be taken, and none of `not_first` first."""
    domain = plain.domain
    predicates, initial = dict(domain.predicates), list(plain.initial)
    actions = dict(domain.actions)
    for action in domain.actions.values():
        never, late = _banned("@never", action, forbidden), _banned("@late", action, not_first)
        for fact in (*never, *late):
            predicates[fact.predicate] = Predicate(fact.predicate, action.parameters)
        initial += [*never, *late]
        actions[action.name] = _barred(action, never=bool(never), late=bool(late), counted=bool(not_first))
    if not_first:
        predicates[BEGUN.predicate] = Predicate(BEGUN.predicate)
    plain_domain = replace(domain, actions=actions, predicates=predicates)
    return replace(plain, domain=plain_domain, initial=tuple(initial))


def without_actions(problem: Problem, names: Collection[str]) -> Problem:
    """Return `problem` in which no action of `names` is applicable."""
    if not names:
        return problem
    actions = {
        name: replace(action, requires=Or(())) if name in names else action
        for name, action in problem.domain.actions.items()
    }
    return seal(replace(problem, domain=replace(problem.domain, actions=actions)))


def actions_of(steps: Iterable[Step]) -> frozenset[Atom]:
    """Return the ground actions that `steps` take, whatever these cost."""
    return frozenset([Atom(step.action, step.arguments) for step in steps])


def _banned(prefix: str, action: Action, banned: Collection[Atom]) -> list[Atom]:
    return [Atom(f"{prefix}-{action.name}", each.args) for each in banned if each.predicate == action.name]


def _barred(action: Action, *, never: bool, late: bool, counted: bool) -> Action:
    arguments = tuple([parameter.name for parameter in action.parameters])
    bars: list[Formula] = []
    if never:
        bars.append(Not(Atom(f"@never-{action.name}", arguments)))
    if late:
        bars.append(Or((Not(Atom(f"@late-{action.name}", arguments)), BEGUN)))
    requires = conjunction([*conjuncts(action.requires), *bars]) if bars else action.requires
    return replace(action, requires=requires, provides=(*action.provides, BEGUN) if counted else action.provides)
