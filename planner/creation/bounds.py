"""What is known about plans that create more than there are placeholders for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from planner.answer import EXACT
from planner.creation.expansion import created_types
from planner.creation.placeholders import with_placeholders
from planner.model import Action, Atom, Metric, Number, Problem
from planner.normalise import relevant_part
from planner.plan import exact
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Creation:
    """One type of objects that can help: a step creates at most `each` of it, and costs `least` or more."""

    kind: str
    each: int
    least: Number

    def beyond(self, count: int) -> Number:
        """Return what a plan costs at least that creates more than `count` objects of this type."""
        return exact(EXACT.multiply(Decimal(self.least), count // self.each + 1))

    def enough(self, cost: Number) -> int | None:
        """Return how many objects a plan that costs less than `cost` can create at most; None if that has no bound."""
        if self.least == 0:
            return None
        steps, rest = divmod(cost, self.least)
        return max(int(steps) if rest else int(steps) - 1, 0) * self.each


def creations(problem: Problem) -> list[Creation]:
    """Return what can be created that may help to reach the goal of `problem`."""
    expanded = with_placeholders(problem, 1)
    return creations_by([problem.domain.actions[name] for name in relevant_part(expanded).domain.actions], problem)


def creations_by(actions: Sequence[Action], problem: Problem) -> list[Creation]:
    """Return what `actions` of `problem` can create."""
    return [
        Creation(kind, each, min(least_cost(action, problem) for action in actions if kind in action.creates.values()))
        for kind, each in created_types(actions).items()
    ]


def least_cost(action: Action, problem: Problem) -> Number:
    """Return a number that no instance of `action` costs less than."""
    if problem.metric is Metric.LENGTH:
        return 1
    total: Number = 0
    for term in action.cost:
        if isinstance(term, Atom):
            total += min((value for key, value in problem.values.items() if key.predicate == term.predicate), default=0)
        else:
            total += term if isinstance(term, Number) else 0
    return total


def beyond(known: Iterable[Creation], counts: Mapping[str, int]) -> Number | None:
    """Return what a plan costs at least that creates more of some type than `counts` says; None if nothing can."""
    return min((each.beyond(counts[each.kind]) for each in known), default=None)
