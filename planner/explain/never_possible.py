"""What a problem in time says that can never help a plan: windows that are over, and steps that no capacity fits."""

from __future__ import annotations

from collections.abc import Iterator

from planner.model.formulas import Number
from planner.model.problem import Problem
from planner.semantics.snap_actions import sum_of


def describe_never_possible(problem: Problem) -> Iterator[str]:
    """Yield each fact whose windows are over before the plan begins, and each action that holds more than there is."""
    for window in problem.past:
        yield f"the last window of {window.condition} ended {-window.by} s before the plan begins"
    for action in problem.domain.actions.values():
        for name, terms in action.holds.items():
            amount, most = sum_of(terms), problem.capacity.get(name, 0)
            if isinstance(amount, Number) and amount > most:
                yield f"no step of {action.name} can start, as it holds {amount} of {name}, and there is {most}"
