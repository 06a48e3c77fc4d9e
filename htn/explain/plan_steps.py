"""Which tasks the steps of a plan are there for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from htn.model import HtnProblem
from htn.plan import Decomposition
from htn.verification.chart_parsing import decomposition_of
from planner.errors import PlanError
from planner.lightweight import Any, Final, dataclass
from planner.limits import Limits
from planner.plan import Plan

LEVELS: Final = 8
"""So many tasks above a step are written."""
MOST_LEVELS: Final = 100
"""So many tasks above a step are kept; all of them, for all steps, would be a square of the plan's length."""


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """For each step of `plan` up to a hundred tasks above it, nearest first, each with the method that did it."""

    plan: Plan
    purposes: tuple[tuple[tuple[str, str], ...], ...]

    def __str__(self) -> str:
        lines = []
        for number, (step, purpose) in enumerate(zip(self.plan.steps, self.purposes, strict=True), start=1):
            lines.append(f"{number}. {step}")
            lines += [f"   for {task}, by {method}" for task, method in purpose[:1]]
            lines += [f"   ← {task}, by {method}" for task, method in purpose[1:LEVELS]]
            lines += ["   ← …"] if len(purpose) > LEVELS else []
            lines += ["   a task of the problem itself"] if not purpose else []
        return "\n".join(lines) or "the plan is empty: the tasks come to nothing that needs doing"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready data."""
        return {
            "steps": [
                {
                    "action": step.action,
                    "arguments": list(step.arguments),
                    "for": [{"task": task, "method": method} for task, method in purpose],
                }
                for step, purpose in zip(self.plan.steps, self.purposes, strict=True)
            ]
        }


def explain_plan(problem: HtnProblem, plan: Plan, limits: Limits | None = None) -> TaskExplanation:
    """Return which tasks each step of the valid `plan` is there for; a missing decomposition is searched for.

    Raises `PlanError` where there is none.
    """
    tree: Decomposition | None = plan.tree
    if tree is None:
        tree = decomposition_of(problem, plan.steps, limits or Limits())
    if tree is None:
        raise PlanError("no decomposition of the tasks gives these steps", hint="`forethought validate` says more")
    above = {child: place for place, node in enumerate(tree.nodes) for child in node.children}
    labels = [(str(node.task), node.method) for node in tree.nodes]
    purposes: list[tuple[tuple[str, str], ...]] = [()] * len(plan.steps)
    for place, node in enumerate(tree.nodes):
        if node.step is not None:
            purposes[node.step] = tuple([labels[each] for each in islice(_chain(place, above), MOST_LEVELS)])
    return TaskExplanation(plan, tuple(purposes))


def _chain(place: int, above: dict[int, int]) -> Iterator[int]:
    """Yield the nodes above that at `place`, nearest first."""
    while place in above:
        place = above[place]
        yield place
