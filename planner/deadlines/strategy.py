"""Which searches are run for a task with a deadline, and how they share the time."""

from __future__ import annotations

from planner.annotations import Final
from planner.budgets import counting, within_budgets
from planner.budgets.allowance import allowances, cost_allowance
from planner.budgets.labels import Limits, Rest
from planner.deadlines.clock import Clock, clock_of
from planner.deadlines.critical import Finish, critical_path
from planner.deadlines.timed import Aims, TimedSpace, timed_search
from planner.heuristics import REGISTRY as HEURISTICS
from planner.model import Number, Problem
from planner.order.timing import makespan
from planner.plan import Plan
from planner.records import dataclass, replace
from planner.search import Ending, Run
from planner.search.run import Steps
from planner.strategy import automatic
from planner.turns import Contender, take_turns
from planner.workplace import Workplace

NOT_ALL: Final = "not all plans that may meet the deadline were tried"


@dataclass(slots=True)
class Meeting:
    """The search for plans of `problem`, which has a deadline, that meet it.

    `unsolvable` says that there is no plan, however long it takes.
    """

    workplace: Workplace
    problem: Problem
    clock: Clock
    finish: Finish
    unsolvable: bool = False

    @property
    def run(self) -> Run:
        """The best plan that meets the deadline."""
        return self.workplace.run

    def take(self, actions: list[int]) -> bool:
        """Take a plan if it meets the deadline; return whether it does."""
        steps = tuple([self.workplace.task.actions[action].step for action in actions])
        if makespan(Plan(steps, replace(self.problem, deadline=None))) > (self.problem.deadline or 0):
            return False
        self.run.found(actions, self.workplace.space.cost_of(actions))
        return True

    def whenever(self, mode: str) -> Steps:
        """Search for plans that may be late: they may be in time, and what is proved of them holds for all."""
        run, free = Run(), replace(self.problem, deadline=None)
        workplace = Workplace(self.workplace.task, self.workplace.space, run, self.workplace.check)
        steps = within_budgets(workplace, free, mode) if free.budgets else automatic(workplace, mode)
        plan: list[int] | None = None
        ending: Ending | None = None
        while ending is None:
            try:
                next(steps)
            except StopIteration as stop:
                ending = stop.value
            if run.plan is not plan and run.plan is not None:
                plan = run.plan
                self.take(plan)
            self.run.proved(run.lower_bound)
            self.run.by = run.by
            if ending is Ending.EXHAUSTED and plan is None:
                self.unsolvable, self.run.excluded = True, run.excluded
                return Ending.EXHAUSTED
            if self.run.lower_bound >= self.run.limit:
                return Ending.EXHAUSTED
            yield
        return Ending.INCOMPLETE

    def timed(self, heuristic: str, *, hurry: bool) -> Steps:
        """Search with times, for what is done soon if in a `hurry`, else for what costs little."""
        task, check, run = self.workplace.task, self.workplace.check, self.run
        limited = allowances(self.problem, task)
        columns = [cost_allowance(self.problem, task).uses, *(each.uses for each in limited)]
        limits = Limits([each.most for each in limited], run)
        rest = Rest([HEURISTICS[heuristic].build(task, column, check) for column in columns])
        space = TimedSpace(self.workplace.space, self.clock, list(zip(*columns, strict=True)))
        run.by = ("timed", heuristic)
        aims = Aims(limits, rest, self.finish, self.clock.deadline)
        return (yield from timed_search(space, aims, self.take, run, hurry=hurry))

    def turns(self, mode: str) -> Steps:
        """Let all searches take turns."""
        contenders = [
            Contender(self.whenever(mode), 2),
            Contender(self.timed("blind", hurry=True), 2),
            Contender(self.timed("lmcut", hurry=False), 1),
        ]
        return take_turns(contenders, self.run)


def meeting_deadline(
    workplace: Workplace, problem: Problem, mode: str, search: str | None = None, heuristic: str | None = None
) -> Steps:
    """Search for the cheapest plan of `problem` that meets its deadline; `search` is one of `LABELLED`, if given.

    Where every plan is late, `run.excluded` says so.
    """
    task, run = workplace.task, workplace.run
    deadline: Number = problem.deadline or 0
    clock = clock_of(problem, task, deadline)
    meeting = Meeting(workplace, problem, clock, critical_path(task, clock.durations))
    least = meeting.finish(workplace.space.initial, {})
    if least > clock.deadline:
        run.excluded = f"every plan takes {clock.seconds(least)} seconds or more, and the deadline is {deadline}"
        return Ending.EXHAUSTED
    run.limit = min(run.limit, cost_allowance(problem, task).most + 1)
    if search is None:
        ending = yield from meeting.turns(mode)
    else:
        name = counting(workplace, search, heuristic)
        ending = yield from meeting.timed(name, hurry=False)
        ending = ending if run.trusted else Ending.INCOMPLETE
    if ending is Ending.EXHAUSTED and run.plan is None and not meeting.unsolvable:
        also = " and keeps the budgets" if problem.budgets else ""
        run.excluded = f"no plan meets the deadline of {deadline} seconds{also}"
    return ending
