"""The incumbent of a search for decompositions: the best plan and bound so far, with the plan's decomposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from htn.grounding.ground import GroundHtn
from htn.model import HtnProblem
from htn.search.plan_extraction import plan_of, tree_of
from htn.verification.validate import validate
from planner.limits import Limits
from planner.model import COST
from planner.options import SolveOptions
from planner.plan import Plan
from planner.portfolio.incumbent import Incumbent
from planner.resources import spent
from planner.validation.verdict import Verdict

Translation = Callable[[GroundHtn], "list[int] | None"]
"""From the ground form of a problem to the moves of a plan."""


def _none(_ground: GroundHtn) -> None:
    return None


class HtnIncumbent(Incumbent):
    """What one search knows about a hierarchical problem."""

    def __init__(self, problem: HtnProblem, options: SolveOptions, limits: Limits | None = None) -> None:
        super().__init__(problem.classical, options, limits)
        self._source = problem
        self._ground: GroundHtn | None = None
        self._offered: Plan | None = None
        self._moves: list[int] = []
        self._translated: Translation = _none

    def take_hierarchy(self, ground: GroundHtn) -> None:
        """Note that grounding is done, and gave this hierarchy."""
        self._ground = ground
        self.take_task(ground.task)
        if self._offered is not None and self.run.plan is self._moves:
            self.run.limit = int(self._offered.cost * ground.task.resolution)

    def offer(self, plan: Plan, translation: Translation) -> None:
        """Take a plan that was found without grounding; `translation` gives its moves when that is done.

        Before it is, costs are rounded up to the problem's units. One that does not keep the budgets is left.
        """
        if not _keeps_budgets(plan):
            return
        resolution = self._ground.task.resolution if self._ground else 1
        cost = ceil(plan.cost * resolution)
        if cost < self.run.limit:
            self._offered, self._moves, self._translated = plan, [], translation
            self.run.report_plan(self._moves, cost)

    def moves(self) -> Sequence[int] | None:
        """Return the moves of the best plan, None if there are none for it (see `htn.search.plan_extraction`)."""
        if self._offered is not None and self.run.plan is self._moves:
            return self._translated(self._ground) if self._ground else None
        return self.run.plan

    def plan_of(self, actions: list[int]) -> Plan:
        """Return the moves that a search has found as a plan with its decomposition."""
        if self._offered is not None and actions is self._moves:
            return self._offered
        assert self._ground is not None
        return plan_of(tree_of(self._ground, actions), self._source, self._ground)

    def check(self, plan: Plan) -> Verdict:
        """Return what the independent checker says about `plan`."""
        return validate(self._source, plan)


def _keeps_budgets(plan: Plan) -> bool:
    budgets = plan.problem.classical.budgets
    within = COST not in budgets or plan.cost <= budgets[COST]
    return within and all(used <= most for name, (used, most) in spent(plan).items() if name in budgets)
