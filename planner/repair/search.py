"""The search behind every repair: one ground task, searched with costs and penalties put together as needed."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from planner.budget import Budget, LimitReached
from planner.collector import collector_paused
from planner.grounding import ground
from planner.model import Number
from planner.plan import Step, StoppedBy
from planner.records import dataclass, replace
from planner.repair.stages import Choice
from planner.search import Ending, Run, Space
from planner.strategy import automatic
from planner.task import GroundAction, Task
from planner.workplace import Workplace


@dataclass(frozen=True, slots=True)
class Prices:
    """What an action is charged: `cost` for each unit of its cost, and `penalty` for each of its penalty."""

    cost: int = 1
    penalty: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has found: the best plan, as the `actions` of the task, if there is one.

    `proved` says that nothing is charged less: less than the limit, where there is no plan. `at_least` is a lower bound
    of what is charged. `stopped_by` says what ended the search.
    """

    actions: tuple[GroundAction, ...] | None
    at_least: int
    proved: bool
    stopped_by: StoppedBy


Charge = tuple[Number, int]
"""What a plan costs, in the units of the problem, and its penalties."""


class Chooser:
    """Searches a choice; it is ground once, when the first search begins."""

    def __init__(self, choice: Choice, budget: Budget) -> None:
        self.choice = choice
        self.task: Task | None = None
        self._budget = budget

    def best(self, prices: Prices | None, below: Charge | None = None) -> Found:
        """Return the plan that is charged least, or the best one found when a limit is reached.

        Without `prices`, a penalty is more than all actions cost together. With `below`, only plans count that are
        charged less than that.
        """
        run = Run()
        try:
            with collector_paused():
                ending = self._search(prices, below, run)
            stopped_by = StoppedBy.EXHAUSTED if ending is Ending.EXHAUSTED else StoppedBy.INCOMPLETE
        except LimitReached as limit:
            stopped_by = limit.stopped_by
        except MemoryError:
            stopped_by = StoppedBy.MEMORY
        except KeyboardInterrupt:
            stopped_by = StoppedBy.CANCELLED
        proved = stopped_by is StoppedBy.EXHAUSTED or run.lower_bound >= run.limit
        actions = None if run.plan is None or self.task is None else [self.task.actions[each] for each in run.plan]
        return Found(None if actions is None else tuple(actions), run.lower_bound, proved, stopped_by)

    def _search(self, prices: Prices | None, below: Charge | None, run: Run) -> Ending:
        if self.task is None:
            self.task = ground(self.choice.problem, self._budget)
        if self.task.unreachable_goal is not None:
            return Ending.EXHAUSTED
        if prices is None:
            prices = Prices(penalty=sum([action.cost for action in self.task.actions]) + 1)
        if below is not None:
            run.limit = ceil(below[0] * self.task.resolution) * prices.cost + below[1] * prices.penalty
        task = replace(self.task, actions=tuple([self._charged(each, prices) for each in self.task.actions]))
        search = automatic(Workplace(task, Space(task), run, self._budget.check), "anytime")
        while True:
            self._budget.check()
            try:
                next(search)
            except StopIteration as stop:
                ending: Ending = stop.value
                return ending

    def _charged(self, action: GroundAction, prices: Prices) -> GroundAction:
        penalty = self.penalty([action])
        return replace(action, cost=action.cost * prices.cost + penalty * prices.penalty)

    def penalty(self, actions: Iterable[GroundAction]) -> int:
        """Return the penalties of `actions` together."""
        return sum([self.choice.penalties.get(action.step.action, 0) for action in actions])

    def fewest(self, below: Charge | None = None) -> Found:
        """Return the plan with the fewest penalties and, of these, one that costs least; see `best`.

        A penalty that is dearer than all actions together decides, unless the plan would take actions again and again
        to avoid it. So what remains of penalties is searched for a plan with fewer, whatever that costs.
        """
        found = self.best(None, below)
        most = self.penalty(found.actions) if found.actions is not None else below[1] if below is not None else 0
        while found.proved and most:
            fewer = self.best(Prices(cost=0), (0, most))
            if fewer.actions is None:
                return replace(found, proved=fewer.proved, stopped_by=fewer.stopped_by)
            found = self.best(Prices(penalty=sum([action.cost for action in fewer.actions]) + 1))
            if found.actions is None:
                return replace(fewer, proved=False, stopped_by=found.stopped_by)
            most = self.penalty(found.actions)
        return found

    def steps(self, actions: Iterable[GroundAction]) -> tuple[Step, ...]:
        """Return the steps that `actions` put into the plan."""
        return tuple([step for each in actions for step in self.choice.steps.get(each.step.action, (each.step,))])
