"""The driver: solves a problem by compiled ones, and keeps of their answers what each claims to say of the problem.

The driver lifts plans, lets the plan checker judge them, and keeps each that is better than the best so far. It keeps
the bounds that are claimed to hold for all plans. The status follows from both.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.compilations import Compiled
from planner.lightweight import Any, replace
from planner.limits import Finishing, Limits, Stop
from planner.model.formulas import Number
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Status, StoppedBy, exact_sum
from planner.portfolio.search_history import Recorder
from planner.problem_kinds import classical_of
from planner.validation.verdict import Verdict


def value_plan(plan: Plan, verdict: Verdict) -> Plan:
    """Return `plan` with its utility and forgone wishes, as the plan checker finds them."""
    wishes = classical_of(plan.problem).wishes
    if not wishes:
        return plan
    lost: list[Number] = [-(wish.utility or 0) for wish in verdict.forgone]
    return replace(plan, utility=exact_sum([*[wish.utility or 0 for wish in wishes], *lost]), forgone=verdict.forgone)


def as_plan_of(problem: Any, plan: Plan) -> Plan:
    """Return `plan`, of a problem that is compiled from `problem` and keeps its steps, as one of `problem`."""
    return replace(plan, problem=problem, forgone=(), utility=None)


class Driver:
    """The best plan of `problem` and the bound so far, while `solve` answers problems that are compiled from it.

    `check` is the checker of plans: that of plans without tasks where there is none.
    """

    def __init__(
        self, problem: Any, options: SolveOptions, solve: Solve, check: Callable[[Plan], Verdict] | None = None
    ) -> None:
        self.problem = problem
        self.options = options
        self.limits = options.limits()
        self.plan: Plan | None = None
        self.bound: Number | None = None
        self._solve, self._check = solve, check
        self._recorder = Recorder()
        self._latest: Plan | None = None

    def check_plan(self, plan: Plan) -> Verdict:
        """Check `plan` with the plan checker."""
        if self._check is not None:
            return self._check(plan)
        from planner.validation.validate import check_steps

        return check_steps(self.problem, plan)

    def ask(
        self, compiled: Compiled, limits: Limits | None = None, *, until_proved: bool = False, **changes: Any
    ) -> Result:
        """Solve the compiled problem within `limits`, with `changes` of the options; keep what holds of the source.

        With `until_proved`, the search ends when a bound from before proves its plan. Return the answer about the
        compiled problem.
        """

        def report(progress: Progress) -> None:
            self.keep(compiled, progress.plan, progress.lower_bound)
            self._recorder.note_progress(self.limits.elapsed, self.plan, self.bound, progress.statistics)
            if self.options.on_progress is not None:
                self.options.on_progress(
                    replace(progress, plan=self.plan, lower_bound=self.bound, elapsed=self.limits.elapsed)
                )

        limits = limits or self.limits
        cancel = Stop(limits.cancel, lambda: self.is_optimal) if until_proved else limits.cancel
        options = self.options.within(limits, **{"on_progress": report, "cancel": cancel, **changes})
        found = self.search(compiled.problem, options)
        self.keep(compiled, found.plan, found.lower_bound)
        return found

    def search(self, problem: Any, options: SolveOptions) -> Result:
        """Solve `problem` with `options`; note when which searches are at work, and keep nothing else."""
        began = self.limits.elapsed
        found = self._solve(problem, options)
        self._recorder.take_turns(found.history, began)
        return found

    def keep(self, compiled: Compiled, plan: Plan | None, bound: Number | None) -> None:
        """Keep what `plan` and `bound` of the compiled problem say of the source."""
        if compiled.claim.bounds and bound is not None:
            self.raise_bound(compiled.bound(bound))
        if plan is None or plan is self._latest:
            return
        with Finishing():
            lifted = compiled.lift(plan)
            verdict = self.check_plan(lifted)
        self._latest = plan
        if not verdict.valid and compiled.claim.plans:
            raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        lifted = self.value(lifted, verdict)
        if verdict.valid and self.is_better(lifted, plan):
            self.plan = lifted

    def value(self, plan: Plan, verdict: Verdict) -> Plan:
        """Return `plan` with what it is worth, as the plan checker finds it."""
        return value_plan(plan, verdict)

    def is_better(self, plan: Plan, _compiled: Plan) -> bool:
        """Return whether `plan`, lifted from one of the compiled problem, is better than the best one so far."""
        return self.plan is None or plan.charge < self.plan.charge

    def raise_bound(self, bound: Number | None) -> None:
        """Note that no plan of the problem is charged less than `bound`."""
        if bound is not None and (self.bound is None or bound > self.bound):
            self.bound = bound

    @property
    def is_optimal(self) -> bool:
        """Whether no plan is charged less than the best one."""
        return self.plan is not None and self.bound is not None and self.plan.charge <= self.bound

    def finish(self, found: Result, compiled: Compiled) -> Result:
        """Return the answer about the problem, after `found`, the last answer, which is about `compiled`."""
        claim, reason = compiled.claim, compiled.words(found.reason)
        if found.status is Status.UNSUPPORTED and claim.plans and self.plan is None:
            return replace(found, reason=reason)
        status, stopped_by = Status.UNKNOWN if self.plan is None else Status.SOLVED, found.stopped_by
        if self.is_optimal or (found.status is Status.OPTIMAL and claim.plans and claim.bounds):
            status, stopped_by = Status.OPTIMAL, StoppedBy.EXHAUSTED
        elif found.status is Status.UNSOLVABLE and claim.unsolvable and self.plan is None:
            status = Status.UNSOLVABLE
        elif found.status in (Status.OPTIMAL, Status.UNSOLVABLE, Status.UNSUPPORTED):
            stopped_by, reason = StoppedBy.INCOMPLETE, claim.doubt
        return self.end(replace(found, status=status, stopped_by=stopped_by, reason=reason))

    def end(self, answer: Result) -> Result:
        """Return `answer`, about the problem, with the best plan, the bound and the history."""
        answer = replace(answer, plan=self.plan, lower_bound=self.bound)
        return self._recorder.finish(self.limits.elapsed, answer)
