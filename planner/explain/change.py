"""A change of the initial state that makes a problem solvable, with the plan that proves it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from planner.explain.assumptions import Assumption, changed
from planner.explain.values import cost_values, priced
from planner.model import Atom, Problem
from planner.plan import Plan, Step
from planner.validate import Simulation, validate


@dataclass(frozen=True, slots=True)
class Change:
    """A set of assumptions under which `plan` solves the problem; `problem` is the problem so changed.

    No set of fewer than `at_least` assumptions does. Where `uses_goal` is False, parts of the goal were no candidates;
    where it is True, nothing else helps. `unpriced` are static values that the plan's cost asks for and that the source
    does not have, since they belong to what is assumed: they count as 0.
    """

    assumptions: tuple[Assumption, ...]
    at_least: int
    uses_goal: bool
    plan: Plan
    unpriced: tuple[Atom, ...]
    problem: Problem = field(repr=False, compare=False)

    @property
    def proved_smallest(self) -> bool:
        """Whether it is proved that no smaller set does."""
        return len(self.assumptions) <= self.at_least

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready data."""
        return {
            "assumptions": [assumption.to_dict() for assumption in self.assumptions],
            "at_least": self.at_least,
            "proved_smallest": self.proved_smallest,
            "uses_goal": self.uses_goal,
            "plan": self.plan.to_dict(),
            "unpriced": list(map(str, self.unpriced)),
        }


def change_of(
    problem: Problem, assumed: Iterable[Assumption], steps: Iterable[Step], *, uses_goal: bool
) -> Change | None:
    """Return the change of `problem` by which `steps` become a plan, without the assumptions that they do not need.

    `at_least` is left at 0: how small it is depends on what was searched. None where that would be late,
    or what is assumed would break a constraint.
    """
    kept, left = list(assumed), list(steps)
    if (problem.constraints or problem.deadline is not None) and not _works(changed(problem, kept), left):
        return None
    for assumption in sorted(kept, key=lambda each: -each.price):
        fewer = [each for each in kept if each is not assumption]
        rest = _applicable(changed(problem, fewer), left)
        if rest is not None:
            kept, left = fewer, rest
    new = priced(changed(problem, kept))
    unpriced = tuple([value for value in cost_values(new, left) if value not in problem.values])
    return Change(tuple(kept), 0, uses_goal, _plan(new, left), unpriced, new)


def _applicable(problem: Problem, steps: Iterable[Step]) -> list[Step] | None:
    """Return those of `steps` that can be applied one after the other; None if that is no plan."""
    simulation = Simulation(problem)
    left = []
    for step in steps:
        if simulation.objection(step) is None:
            simulation.apply(step)
            left.append(step)
    return left if _works(problem, left) else None


def _works(problem: Problem, steps: Sequence[Step]) -> bool:
    return validate(priced(problem), steps).valid


def _plan(problem: Problem, steps: Iterable[Step]) -> Plan:
    """Return the plan with its true costs, checked against the changed problem as it was declared."""
    simulation = Simulation(problem)
    plan = Plan(tuple([Step(step.action, step.arguments, simulation.cost(step)) for step in steps]), problem)
    verdict = validate(problem, plan)
    assert verdict.valid, verdict.reason  # noqa: S101 - a change that does not help must never be reported
    return plan
