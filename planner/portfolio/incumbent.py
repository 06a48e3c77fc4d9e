"""The incumbent: the best plan and lower bound so far, validated and in the units of the problem."""

from __future__ import annotations

import time
from collections.abc import Callable

from planner.compilations.trajectory_constraints import constraint_of
from planner.garbage_collection import pause_collector
from planner.lightweight import TYPE_CHECKING, Final, replace
from planner.limits import Finishing, LimitReached, Limits, enforce
from planner.model import DomainModel, Number, Problem
from planner.model.arithmetic import exact_value
from planner.model.constructs import Service, name_refused
from planner.model.domain import uncertain_actions
from planner.model.problem import NumericMetric
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Statistics, Status, StoppedBy, divide_exactly, unsupported_result
from planner.portfolio.search_history import By, Recorder
from planner.portfolio.tiers import describe_machine_code
from planner.search import Ending, Run
from planner.search.search_run import Steps
from planner.semantics.undefined_values import name_lacking
from planner.task.ground_task import INFINITY, Task

if TYPE_CHECKING:
    from planner.validation.verdict import Verdict

REPORT_SECONDS: Final = 0.05
"""Seconds between two reports of bounds; plans are reported at once."""


class Incumbent:
    """The best plan and bound of one search, from which it makes the `Result`.

    Without `limits`, those of the options begin to count now.
    """

    def __init__(self, problem: Problem, options: SolveOptions, limits: Limits | None = None) -> None:
        self.problem = problem
        self.limits = limits or options.limits()
        self.run = Run(on_change=self._report_progress, failures=[])
        self.run.seed, self.run.most_simulations = options.seed, options.simulations
        if options.jobs > 1:
            from planner.search.lanes import Lanes

            self.run.lanes = Lanes(options.jobs)
        if options.expansion_limit is not None or options.on_expansion is not None:
            from planner.search.expansion import ExpansionWatch

            self.run.watch = ExpansionWatch(options.expansion_limit, options.on_expansion)
        self.has_bounds = True
        """Whether the costs of steps in the ground task are those of the problem, so that bounds hold."""
        self.offset = 0
        """What the costs of plans in the ground task are greater by, in units of its resolution."""
        self.caveat = ""
        """A sentence about what the search cannot prove."""
        self._on_progress = options.on_progress
        self._task: Task | None = None
        self._ground_seconds = 0.0
        self._searching_since = 0.0
        self._plan: Plan | None = None
        self._plan_actions: list[int] | None = None
        self._next_report = 0.0
        self._recorder = Recorder()

    def run_within_limits(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`, or a result from the incumbent when a limit ends it."""
        try:
            with pause_collector(), enforce(self.limits):
                return self._work(work)
        except LimitReached as limit:
            return self.result_at_limit(limit.stopped_by)
        except MemoryError:
            return self.result_at_limit(StoppedBy.MEMORY)
        except KeyboardInterrupt:
            return self.result_at_limit(StoppedBy.CANCELLED)

    def _work(self, work: Callable[[], Result]) -> Result:
        """Return the result of `work`, after which no lane is in use."""
        try:
            return work()
        finally:
            if self.run.lanes is not None:
                self.run.lanes.close()

    def improve(self, steps: Steps, mode: str) -> Result:
        """Run `steps` to their end, or to the first plan in mode "first"; raises `LimitReached`.

        Raises the error that ends them unless there is a plan by then.
        """
        try:
            return self._improve(steps, mode)
        finally:
            steps.close()

    def _improve(self, steps: Steps, mode: str) -> Result:
        now = self.limits.elapsed
        while True:
            self.limits.check()
            ending: Ending | None = None
            try:
                next(steps)
            except StopIteration as stop:
                ending = stop.value
            except Exception as error:
                if self.run.plan is None:
                    raise
                self.run.contain(error)
                ending = Ending.INCOMPLETE
            finally:
                before, now = now, self.limits.elapsed
                self._note_turns(before, now)
            if ending is not None:
                return self.result_of(ending)
            if mode == "first" and self.run.plan is not None and not self.run.refining:
                return self.result_of(Ending.FIRST_PLAN)

    def _note_turns(self, begin: float, end: float) -> None:
        self._recorder.note_turn(self.run.by, begin, end)
        for each in [*self.run.beside.values()]:  # other threads add to it
            self._recorder.note_turn(each.by, begin, end)

    def take_task(self, task: Task) -> None:
        """Take the ground task, and note the time of grounding."""
        self._task = task
        self._ground_seconds = self.limits.elapsed
        self._searching_since = time.thread_time()

    def unreachable_result(self) -> Result:
        """Return the result where not even the relaxed goal can be reached."""
        goal = self._task.unreachable_goal if self._task else None
        constraint = None if goal is None else constraint_of(goal, self.problem)
        reason = f"nothing makes this part of the goal true: {goal}{name_lacking(self.problem)}"
        if constraint is not None:
            reason = f"nothing can keep this constraint: {constraint}"
        return self._result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason)

    def result_at_limit(self, stopped_by: StoppedBy) -> Result:
        """Return the result when a limit ends the search."""
        return self._result(self._status(), stopped_by, self._reason())

    def result_of(self, ending: Ending) -> Result:
        """Return the result when the search ends of its own accord."""
        if self.run.plan is None and ending is Ending.EXHAUSTED:
            return self._result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, self.run.excluded)
        status = self._status()
        if status is Status.OPTIMAL:
            return self._result(status, StoppedBy.EXHAUSTED)
        first = ending is Ending.FIRST_PLAN
        done = f"{self.run.simulations} simulations were made" if self.run.has_made_all_simulations else ""
        return self._result(status, StoppedBy.FIRST_PLAN if first else StoppedBy.INCOMPLETE, self._reason(done))

    def _reason(self, done: str = "") -> str:
        """Join the reasons why the search has no proof."""
        return "; ".join(filter(None, [self.caveat, self.run.failed, done]))

    def _status(self) -> Status:
        run = self.run
        if run.plan is None:
            return Status.UNKNOWN
        return Status.OPTIMAL if self.has_bounds and run.lower_bound >= run.limit else Status.SOLVED

    def _result(self, status: Status, stopped_by: StoppedBy, reason: str = "") -> Result:
        bound = None if status is Status.UNSOLVABLE or self._task is None else self._bound()
        plan = self._validated_plan()
        if plan is not None or bound is not None:
            self._recorder.note(self.limits.elapsed, None if plan is None else plan.charge, bound, self.run.by)
        self._recorder.note_failures(self.run.failures or ())
        by = {Status.SOLVED: self.run.found_by, Status.OPTIMAL: self.run.news_by}.get(status)
        return Result(status, stopped_by, plan, bound, self._statistics(by), reason, self._recorder.history())

    def _bound(self) -> Number | None:
        bound = self.run.lower_bound
        resolution = self._task.resolution if self._task else 1
        return None if bound >= INFINITY or not self.has_bounds else divide_exactly(bound - self.offset, resolution)

    def _validated_plan(self) -> Plan | None:
        """Return the best plan; when it is new, check it by the independent validator."""
        actions = self.run.plan
        if actions is None or actions is self._plan_actions:
            return self._plan
        with Finishing():
            plan = self.plan_of(actions)
            verdict = self.check(plan)
        if not verdict.valid:
            raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        self._plan, self._plan_actions = plan, actions
        return plan

    def plan_of(self, actions: list[int]) -> Plan:
        """Convert action numbers to a plan."""
        assert self._task is not None
        steps = tuple([self._task.actions[action].step for action in actions])
        if isinstance(self.problem.metric, NumericMetric):
            from planner.semantics.simulation import price_steps

            steps = price_steps(self.problem, steps)
        return Plan(steps, self.problem)

    def price_plan(self, actions: list[int]) -> int:
        """Return the cost of action numbers in units of the ground task; `offset` is in it."""
        assert self._task is not None
        cost = sum([exact_value(step.cost) for step in self.plan_of(actions).steps])
        return int(cost * self._task.resolution) + self.offset

    def check(self, plan: Plan) -> Verdict:
        """Validate `plan` with code that shares nothing with the search."""
        from planner.validation.validate import check_steps

        return check_steps(self.problem, plan)

    def _statistics(self, by: By | None = None) -> Statistics:
        """Return the statistics so far, credited to the search `by`, or to the one at work."""
        run, task = self.run, self._task
        search, heuristic = by or run.by
        return Statistics(
            search,
            heuristic,
            len(task.facts) if task else 0,
            len(task.actions) if task else 0,
            len(task.variables) if task else 0,
            run.expanded,
            run.evaluated,
            run.generated,
            self._ground_seconds if task else self.limits.elapsed,
            self.limits.elapsed - self._ground_seconds if task else 0.0,
            self._work_seconds() if task else 0.0,
            run.stored,
            run.stored_bytes,
            run.simulations,
            ", ".join(run.tiers),
            describe_machine_code(),
        )

    def _work_seconds(self) -> float:
        """Return the processor time of searching, in this thread and in lanes."""
        beside = 0.0 if self.run.lanes is None else self.run.lanes.seconds
        return time.thread_time() - self._searching_since + beside

    def _charge(self) -> Number | None:
        """Return the charge of the best plan, without checking it."""
        actions = self.run.plan
        if actions is None or actions is self._plan_actions:
            return None if self._plan is None else self._plan.charge
        if self._task is None or not self.has_bounds:
            return self.plan_of(actions).charge
        return divide_exactly(self.run.limit - self.offset, self._task.resolution)

    def _report_progress(self) -> None:
        self._recorder.note(self.limits.elapsed, self._charge(), self._bound(), self.run.news_by)
        if self._on_progress is None:
            return
        now = time.monotonic()
        if self.run.plan is self._plan_actions and now < self._next_report:
            return
        self._next_report = now + REPORT_SECONDS
        self._on_progress(
            Progress(self._validated_plan(), self._bound(), self.limits.elapsed, self._statistics(self.run.news_by))
        )


def refuse_constructs(problem: Problem, service: Service) -> Result | None:
    """Return a refusal if `problem` has a construct that `service`, which searches, does not take."""
    named = name_refused(problem, service)
    return unsupported_result(f"search does not take {named[0]} yet") if named else None


def refuse_plain(problem: Problem, options: SolveOptions, *_: object) -> Result | None:
    """Return a refusal of plain search if `problem` has a construct for which several searches share the work."""
    named = name_refused(problem, Service.PLAIN_SEARCH) if options.plain else []
    reason = f"plain search does not take {', '.join(named)}: several searches share that work"
    return unsupported_result(reason) if named else None


def weaken_to_intended(domain: DomainModel, result: Result) -> Result:
    """Say in `result` that planning assumed the intended outcomes; UNSOLVABLE becomes UNKNOWN.

    Other outcomes might reach the goal, so that planning on the intended ones proves nothing unsolvable.
    """
    names = uncertain_actions(domain)
    if not names or result.status is Status.UNSUPPORTED:
        return result
    reason = "; ".join(filter(None, [result.reason, f"planned on the intended outcomes (of {', '.join(names)})"]))
    if result.status is not Status.UNSOLVABLE:
        return replace(result, reason=reason)
    return replace(result, status=Status.UNKNOWN, stopped_by=StoppedBy.INCOMPLETE, reason=reason)


def qualify_intended(problem: Problem, result: Result, limits: Limits, answer: Solve) -> Result:
    """Say in `result` that planning assumed the intended outcomes; keep UNSOLVABLE where no outcomes reach the goal."""
    if result.status is Status.UNSOLVABLE and uncertain_actions(problem.domain):
        from planner.compilations.determinization import is_hopeless

        if is_hopeless(problem, limits, answer):
            return result
    return weaken_to_intended(problem.domain, result)
