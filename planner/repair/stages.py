"""Choices about given steps: special actions, and the steps that they put into a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.model import Action, Atom, Literal, Not, Problem, Term, When
from planner.model.formulas import substitute
from planner.plan import Step
from planner.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Choice:
    """A plain ADL problem that has special actions, and what these stand for.

    `steps` are the steps that each of them puts into the plan, and `penalties` what it is to be charged beside costs.
    """

    problem: Problem
    steps: Mapping[str, tuple[Step, ...]]
    penalties: Mapping[str, int] = field(default_factory=dict)


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
