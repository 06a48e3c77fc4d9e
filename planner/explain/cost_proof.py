"""Why a plan costs what it costs: what its actions cost, and disjoint action landmarks that every plan pays.

LM-cut (Helmert and Domshlak, 2009) of the initial state gives sets of steps, one of which is in every plan, and an
amount that every plan pays for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planner.lightweight import Any, Final, dataclass
from planner.limits import LimitReached, Limits
from planner.model import Problem
from planner.model.constructs import Construct, has
from planner.model.formulas import Number
from planner.model.problem import is_numeric, is_temporal
from planner.plan import Plan, Step, divide_exactly, exact_sum, json_number, name_as_written

FEW: Final = 3
"""Most steps of a landmark that are named; of others, their actions are."""


@dataclass(frozen=True, slots=True)
class CostShare:
    """A part of the lower bound: every plan pays `worth` for one of these `steps`, beyond all other shares."""

    worth: Number
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        if len(self.steps) <= FEW:
            return f"{self.worth} for {' or '.join(map(str, self.steps))}"
        counts = Counter(step.action for step in self.steps)
        actions = [name if len(counts) == 1 else f"{count} {name}" for name, count in counts.most_common()]
        return f"{self.worth} for one of {len(self.steps)} steps: {', '.join(actions)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the share as JSON-ready data."""
        return {"cost": json_number(self.worth), "one_of": list(map(str, self.steps))}


def find_cost_shares(problem: Problem, limits: Limits) -> tuple[CostShare, ...]:
    """Return the landmarks that LM-cut finds for the initial state; none for problems that it does not take."""
    if is_numeric(problem) or is_temporal(problem) or problem.wishes or problem.is_limited:
        return ()
    if has(problem, Construct.UNKNOWN, Construct.CREATION):
        return ()
    try:
        return tuple(_cut(problem, limits))
    except LimitReached:
        return ()


def _cut(problem: Problem, limits: Limits) -> list[CostShare]:
    from planner.grounding.ground import ground
    from planner.heuristics.lmcut import LmCut
    from planner.heuristics.relaxation import relax
    from planner.task.ground_task import INFINITY, bits

    task = ground(problem, limits)
    if task.unreachable_goal is not None:
        return []
    costs = [action.cost for action in task.actions]
    _, landmarks = LmCut(relax(task, costs), len(costs), limits.check).evaluate(bits(task.initial), None, INFINITY)
    found = []
    for landmark in landmarks:
        steps = name_as_written([task.actions[number].step for number in sorted(landmark.actions)], problem)
        found.append(CostShare(divide_exactly(landmark.worth, task.resolution), tuple(dict.fromkeys(steps))))
    return sorted(found, key=lambda each: -each.worth)


def describe_costs(plan: Plan) -> list[str]:
    """Return what the steps of each action of `plan` cost together, the dearest first."""
    by_action: dict[str, list[Number]] = {}
    for step in name_as_written(plan.steps, plan.problem):
        by_action.setdefault(step.action, []).append(step.cost)
    if plan.time_cost:
        by_action["time"] = [plan.time_cost]
    sums = sorted([(exact_sum(costs), name, costs) for name, costs in by_action.items()], key=lambda each: -each[0])
    return [f"{total} for {name}{_describe_terms(costs)}" for total, name, costs in sums if total]


def _describe_terms(costs: Sequence[Number]) -> str:
    if len(costs) == 1:
        return ""
    same = len(set(costs)) == 1
    return f" ({len(costs)} x {costs[0]})" if same else f" ({' + '.join(map(str, costs))})"
