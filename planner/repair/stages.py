"""Choices about given steps as one classical problem: a pointer that special actions move from stage to stage.

Stages are facts about names that are no objects, so that no quantifier ranges over them. Of all stages one holds at a
time, which grounding proves: the pointer is one variable of the task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from planner.annotations import Final
from planner.model import (
    Action,
    Atom,
    Formula,
    Goal,
    Literal,
    Metric,
    Not,
    Number,
    Predicate,
    Problem,
    Term,
    Variable,
    When,
)
from planner.model.formulas import conjunction, conjuncts, substitute
from planner.plan import Step
from planner.records import dataclass, field, replace

STAGE: Final = "@stage"
"""The predicate of stages; authors cannot declare a name that clashes by accident."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A plain ADL problem that has special actions, and what these stand for.

    `steps` are the steps that each of them puts into the plan, and `penalties` what it is to be charged beside costs.
    """

    problem: Problem
    steps: Mapping[str, tuple[Step, ...]]
    penalties: Mapping[str, int] = field(default_factory=dict)


def stage(number: int) -> Atom:
    """Return the fact that the pointer is at stage `number`."""
    return Atom(STAGE, (str(number),))


def instance(action: Action, step: Step) -> Action:
    """Return the plain `action` without parameters: as it is with the arguments of `step`."""
    binding = {parameter.name: value for parameter, value in zip(action.parameters, step.arguments, strict=True)}
    return replace(
        action,
        parameters=(),
        requires=substitute(action.requires, binding),
        provides=_bound(action.provides, binding),
        when=tuple([_inside(when, binding) for when in action.when]),
    )


def _inside(when: When, binding: Mapping[Term, Term]) -> When:
    hidden = {variable.name for variable in when.variables}
    binding = {name: value for name, value in binding.items() if name not in hidden}
    return replace(when, requires=substitute(when.requires, binding), provides=_bound(when.provides, binding))


def _bound(literals: Iterable[Literal], binding: Mapping[Term, Term]) -> tuple[Literal, ...]:
    found: list[Literal] = []
    for literal in literals:
        part = substitute(literal, binding)
        assert isinstance(part, Atom | Not)  # noqa: S101 - a literal stays one
        found.append(part)
    return tuple(found)


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
