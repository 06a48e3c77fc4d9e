"""A pointer that special actions move from stage to stage, in what is otherwise a classical problem.

Stages are facts about names that are no objects, so that no quantifier ranges over them. Of all stages one holds at a
time, which grounding proves: the pointer is one variable of the task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from planner.annotations import Final
from planner.model import Action, Atom, Formula, Goal, Literal, Metric, Not, Number, Predicate, Problem, Variable
from planner.model.actions import added
from planner.model.formulas import conjunction, conjuncts
from planner.records import replace

STAGE: Final = "@stage"
"""The predicate of stages; authors cannot declare a name that clashes by accident."""


def stage(number: int) -> Atom:
    """Return the fact that the pointer is at stage `number`."""
    return Atom(STAGE, (str(number),))


def moving(action: Action, name: str, origin: int, target: int, cost: Number) -> Action:
    """Return `action`, which has no parameters, as the special action `name`: it moves the pointer, too."""
    move: list[Literal] = [] if origin == target else [stage(target), Not(stage(origin))]
    requires = conjunction([*conjuncts(action.requires), stage(origin)])
    return replace(action, name=name, requires=requires, provides=(*action.provides, *move), cost=(cost,))


def staged(
    plain: Problem,
    special: Iterable[Action],
    goal: Formula,
    last: int,
    *,
    first_only: bool,
    without: Collection[str] = (),
) -> Problem:
    """Return the plain ADL problem with `special` actions, whose goal is `goal` with the pointer at stage `last`.

    Its own actions stay, except `without` some; with `first_only`, only until the pointer moves.
    """
    domain = plain.domain
    own = [action for action in domain.actions.values() if action.name not in without]
    actions = {action.name: _own(action, plain, first_only=first_only) for action in own}
    actions |= {action.name: action for action in special}
    predicates = {**domain.predicates, STAGE: Predicate(STAGE, (Variable("?number"),))}
    return replace(
        plain,
        domain=replace(domain, actions=actions, predicates=predicates),
        initial=(*plain.initial, stage(0)),
        goal=Goal(conjunction([*conjuncts(goal), stage(last)])),
        metric=Metric.COST,
    )


def _own(action: Action, plain: Problem, *, first_only: bool) -> Action:
    if plain.metric is Metric.LENGTH:
        action = replace(action, cost=(1,))
    if first_only:
        action = replace(action, requires=conjunction([*conjuncts(action.requires), stage(0)]))
    return action


def without_numbers(problem: Problem) -> Problem:
    """Return the `staged` problem with a predicate for each stage, for planners that want arguments to be objects."""
    domain = problem.domain
    actions = {
        name: replace(action, requires=_named(action.requires), provides=tuple(map(_named_literal, action.provides)))
        for name, action in domain.actions.items()
    }
    initial = tuple(map(_named_atom, problem.initial))
    written = [*initial, *(atom for action in actions.values() for atom in added(action.provides))]
    predicates = {atom.predicate: Predicate(atom.predicate) for atom in written if atom.predicate.startswith(STAGE)}
    kept = {name: each for name, each in domain.predicates.items() if name != STAGE}
    return replace(
        problem,
        domain=replace(domain, predicates={**kept, **predicates}, actions=actions),
        initial=initial,
        goal=Goal(_named(problem.goal.hard)),
    )


def _named(condition: Formula) -> Formula:
    return conjunction([_named_atom(part) if isinstance(part, Atom) else part for part in conjuncts(condition)])


def _named_literal(literal: Literal) -> Literal:
    if isinstance(literal, Not) and isinstance(literal.part, Atom):
        return Not(_named_atom(literal.part))
    return _named_atom(literal) if isinstance(literal, Atom) else literal


def _named_atom(atom: Atom) -> Atom:
    return Atom(f"{STAGE}-{atom.args[0]}") if atom.predicate == STAGE else atom
