"""The best plan in time so far, what is known of better ones, and the result that this makes."""

from __future__ import annotations

from collections.abc import Sequence

from planner.compilations.duration_choices import NOT_ALL
from planner.errors import PlanError
from planner.jit.common_kernel import INFINITE
from planner.lightweight import Final, dataclass, field, replace
from planner.limits import Finishing, Limits
from planner.model.formulas import Number
from planner.model.problem import NumericMetric, Problem
from planner.model.timing import TOTAL_TIME
from planner.options import SolveOptions
from planner.plan import Plan, Progress, Result, Statistics, Status, Step, StoppedBy
from planner.portfolio.search_history import Recorder
from planner.scheduling.happening_schedule import Moment, in_sequence, schedule_happenings
from planner.search.search_run import Run
from planner.semantics.snap_actions import SnapProblem
from planner.task.temporal_task import TemporalTask
from planner.validation.validate import check_steps

NO_PROOF: Final = ("the searches gave up parts without proof", NOT_ALL)
"""Why there may be a plan that was not found: of all problems, and of those that are solved by some durations."""


@dataclass(slots=True)
class TimedIncumbent:
    """The best plan in time of `problem` so far, and the lower bound `bound` of what plans cost.

    If it `is_partial`, the problem has only some of the plans of the declared one: nothing is proved by it. A search
    that proves that there is no plan sets `no_plan`. `actions` is the number of ground happenings.
    """

    problem: Problem
    snap: SnapProblem
    options: SolveOptions
    is_partial: bool = False
    limits: Limits = field(init=False)
    plan: Plan | None = None
    bound: Number | None = None
    no_plan: bool = False
    by: str = ""
    actions: int = 0
    run: Run = field(default_factory=lambda: Run(failures=[]))
    recorder: Recorder = field(default_factory=Recorder)

    def __post_init__(self) -> None:
        self.limits = self.options.limits()

    @property
    def is_timed(self) -> bool:
        """Whether the makespan is all that plans are compared by."""
        return self.problem.metric == NumericMetric(TOTAL_TIME) and not self.problem.due

    def is_done(self) -> bool:
        """Return whether no search is asked for any more."""
        return self.plan is not None and (self.options.mode == "first" or self.is_proved())

    def is_proved(self) -> bool:
        """Return whether no plan is better."""
        return self.plan is not None and self.bound is not None and self.plan.cost <= self.bound

    def limit_of(self, task: TemporalTask, plan: Plan | None) -> int:
        """Return the tick before which plans are to end that are better than `plan`, and in time."""
        deadline = self.problem.deadline
        limit = INFINITE if deadline is None else int(deadline * task.resolution) + 1
        if self.problem.metric == NumericMetric(TOTAL_TIME) and plan is not None and plan.makespan is not None:
            limit = min(limit, int(plan.makespan * task.resolution))
        return limit

    def take_sequence(self, steps: Sequence[Step]) -> None:
        """Schedule `steps`, which can be taken one after another, and take the plan."""
        plain = [replace(step, cost=0) for step in steps]
        self.take_happenings(plain, in_sequence(len(plain)), "sequence")

    def take_happenings(self, steps: Sequence[Step], sequence: Sequence[Moment], by: str) -> Plan | None:
        """Schedule the happenings of `steps` in the order of `sequence`; return the plan if it is valid."""
        try:
            plan = schedule_happenings(self.problem, self.snap, steps, sequence, check=self.limits.check)
        except PlanError:
            return None
        if plan is None:
            return None
        with Finishing():
            is_valid = check_steps(self.problem, plan).valid
        if not is_valid:
            return None
        self.take(plan, by)
        return plan

    def take(self, plan: Plan, by: str) -> None:
        """Take the valid `plan` if it is better than the best one so far."""
        if self.plan is not None and self.plan.cost <= plan.cost:
            return
        self.plan, self.by = plan, by
        self.note(by)
        if self.options.on_progress is not None:
            self.options.on_progress(Progress(plan, self.bound, self.limits.elapsed, self.statistics()))

    def raise_bound(self, bound: Number) -> None:
        """Take a lower `bound` of what plans cost, if it is greater than the one so far."""
        self.bound = bound if self.bound is None else max(self.bound, bound)

    def note(self, by: str) -> None:
        """Record what is known."""
        search, _, how = by.partition(", ")
        cost = None if self.plan is None else self.plan.cost
        self.recorder.note(self.limits.elapsed, cost, self.bound, (search, how))

    def statistics(self) -> Statistics:
        """Return what was searched so far."""
        run = self.run
        return Statistics(
            search="in time",
            heuristic=self.by,
            actions=self.actions,
            expanded=run.expanded,
            evaluated=run.evaluated,
            generated=run.generated,
            search_seconds=self.limits.elapsed,
        )

    def end(self, stopped_by: StoppedBy) -> Result:
        """Return the result of searches that `stopped_by` ended."""
        self.recorder.note_failures(self.run.failures or ())
        history = self.recorder.history()
        if self.is_proved():
            return Result(
                Status.OPTIMAL, StoppedBy.EXHAUSTED, self.plan, self.bound, self.statistics(), history=history
            )
        status = Status.UNKNOWN if self.plan is None else Status.SOLVED
        reason = NO_PROOF[self.is_partial] if self.plan is None else ""
        if stopped_by is StoppedBy.FIRST_PLAN and self.plan is None:
            stopped_by = StoppedBy.INCOMPLETE
        reason = reason if stopped_by is StoppedBy.INCOMPLETE else ""
        return Result(status, stopped_by, self.plan, self.bound, self.statistics(), reason, history)

    def end_unsolvable(self, reason: str) -> Result:
        """Return that there is no plan."""
        self.recorder.note_failures(self.run.failures or ())
        history = self.recorder.history()
        return Result(
            Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=self.statistics(), reason=reason, history=history
        )
