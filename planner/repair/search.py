"""The search behind every repair: one ground task, searched with costs and penalties put together as needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.annotations import Final
from planner.budget import Budget, LimitReached
from planner.collector import collector_paused
from planner.grounding import ground
from planner.plan import Step, StoppedBy
from planner.records import dataclass, replace
from planner.repair.bounds import least_cost
from planner.repair.lookahead import lookahead
from planner.repair.stages import Choice
from planner.search import Ending, Run, Space
from planner.strategy import automatic
from planner.task import Task
from planner.workplace import Workplace

STOPS: Final = (LimitReached, MemoryError, KeyboardInterrupt)
"""What ends the work before its end."""


def stopped_by(stop: BaseException) -> StoppedBy:
    """Return what one of `STOPS` says."""
    if isinstance(stop, LimitReached):
        return stop.stopped_by
    return StoppedBy.MEMORY if isinstance(stop, MemoryError) else StoppedBy.CANCELLED


@dataclass(frozen=True, slots=True)
class Prices:
    """What an action is charged: `cost` for each unit of its cost, and `penalty` for each of its penalty."""

    cost: int = 1
    penalty: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """The best `plan` that is known, as numbers of the task's actions; None where there is none.

    `proved` says that no plan is charged less. `at_least` is a lower bound of what is charged, and `stopped_by` what
    ended the search.
    """

    plan: list[int] | None
    at_least: int
    proved: bool
    stopped_by: StoppedBy


class Chooser:
    """Searches a choice. Raises `LimitReached` where `budget` does not suffice for grounding."""

    def __init__(self, choice: Choice, budget: Budget) -> None:
        with collector_paused():
            self.task: Task = ground(choice.problem, budget)
        self._choice = choice
        self._budget = budget
        self._space = Space(self.task)
        self._penalties = [choice.penalties.get(action.step.action, 0) for action in self.task.actions]

    def named(self, names: Iterable[str | Step]) -> list[int] | None:
        """Return the plan that takes the special actions of these names, and these steps; None where it is none."""
        numbers: dict[str | tuple[str, tuple[str, ...]], list[int]] = {}
        for number, action in enumerate(self.task.actions):
            step = action.step
            numbers.setdefault(step.action if step.action.startswith("@") else _key(step), []).append(number)
        state, plan = self._space.initial, []
        for name in names:
            full = self._space.closed(state)
            same = numbers.get(name if isinstance(name, str) else _key(name), ())
            fitting = [each for each in same if not self._space.preconditions[each] & ~full]
            if not fitting:
                return None
            plan.append(fitting[0])
            state = self._space.apply(fitting[0], state)
        return plan if self._space.is_goal(state) else None

    def best(self, prices: Prices, known: list[int] | None = None) -> Found:
        """Return the plan that is charged least, or the best one when a limit is reached; `known` is one already."""
        if self.task.unreachable_goal is not None:
            return Found(None, 0, True, StoppedBy.EXHAUSTED)  # noqa: FBT003 - a truth value
        run = Run()
        try:
            with collector_paused():
                ending = self._search(prices, known, run)
            ended = StoppedBy.EXHAUSTED if ending is Ending.EXHAUSTED else StoppedBy.INCOMPLETE
        except STOPS as stop:
            ended = stopped_by(stop)
        proved = ended is StoppedBy.EXHAUSTED or run.lower_bound >= run.limit
        return Found(known if run.plan is None else run.plan, run.lower_bound, proved, ended)

    def _search(self, prices: Prices, known: list[int] | None, run: Run) -> Ending:
        charges = [
            action.cost * prices.cost + penalty * prices.penalty
            for action, penalty in zip(self.task.actions, self._penalties, strict=True)
        ]
        actions = [replace(action, cost=cost) for action, cost in zip(self.task.actions, charges, strict=True)]
        task = replace(self.task, actions=tuple(actions))
        if known is not None:
            run.found(known, sum([charges[number] for number in known]))
        run.proved(least_cost(task, charges, self._budget.check))
        quick = None if run.lower_bound == run.limit else lookahead(task, charges, self._budget.check)
        if quick is not None:
            run.found(quick, sum([charges[number] for number in quick]))
        if run.lower_bound == run.limit:
            return Ending.EXHAUSTED
        search = automatic(Workplace(task, Space(task), run, self._budget.check), "anytime")
        while True:
            self._budget.check()
            try:
                next(search)
            except StopIteration as stop:
                ending: Ending = stop.value
                return ending

    def fewest(self, known: list[int] | None = None) -> Found:
        """Return the plan with the fewest penalties and, of these, one that costs least; see `best`.

        A penalty that is dearer than all actions together decides, unless a plan without it takes actions again and
        again. So what remains of penalties is searched for a plan with fewer, whatever that costs.
        """
        every = range(len(self.task.actions))
        found = self.best(Prices(penalty=self._cost(every) + 1), known)
        while found.proved and found.plan is not None and (most := self.penalty(found.plan)):
            fewer = self.best(Prices(cost=0), found.plan)
            if fewer.plan is None or self.penalty(fewer.plan) == most:
                return replace(found, proved=fewer.proved, stopped_by=fewer.stopped_by)
            found = self.best(Prices(penalty=self._cost(fewer.plan) + 1), fewer.plan)
        return found

    def _cost(self, actions: Iterable[int]) -> int:
        return sum([self.task.actions[number].cost for number in actions])

    def least_cost(self) -> int:
        """Return a lower bound of what all plans cost, in units of the task, without penalties."""
        return least_cost(self.task, [action.cost for action in self.task.actions], self._budget.check)

    def penalty(self, plan: Iterable[int]) -> int:
        """Return the penalties of `plan`."""
        return sum([self._penalties[number] for number in plan])

    def steps(self, plan: Sequence[int]) -> list[tuple[str, Step]]:
        """Return the steps that `plan` takes, each with the name of the action that stands for it."""
        taken = [self.task.actions[number].step for number in plan]
        return [(each.action, step) for each in taken for step in self._choice.steps.get(each.action, (each,))]


def _key(step: Step) -> tuple[str, tuple[str, ...]]:
    return step.action, step.arguments
