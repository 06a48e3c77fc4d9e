"""Planning with wishes: soft goals and soft constraints, which a plan may forgo.

The plan with the most net benefit is the one of which steps and what it forgoes together are charged the least. It is
looked for as an ordinary plan, whose last steps settle the wishes (`planner.normalise.wishes`), and handed on without
them, for the declared problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from planner.annotations import TYPE_CHECKING, Any, Final
from planner.kinds import classical_of
from planner.model import COST, Number, Problem
from planner.normalise.constraints import MARK
from planner.normalise.stages import without_numbers
from planner.normalise.wishes import SPENT, without_wishes
from planner.plan import Plan, Progress, Result, Status, StoppedBy, exact_sum
from planner.records import replace

if TYPE_CHECKING:
    from planner.validate import Verdict

_MONITOR: Final = re.compile(rf"nothing makes this part of the goal true: .*?{MARK}(\d+).*", re.DOTALL)
_SPENDING: Final = re.compile(rf"uses (\S+) of {SPENT}")


def solve_with_wishes(problem: Problem, solve: Callable[..., Result], **options: Any) -> Result:
    """Return the answer to `problem`, in which something is wished for; `solve` answers for problems without wishes."""
    compiled = without_wishes(problem)
    if options.get("engine") is not None:
        compiled = without_numbers(compiled)
    return Wishing(problem, options.pop("on_progress", None)).answer(compiled, solve, options)


def valued(plan: Plan, verdict: Verdict) -> Plan:
    """Return `plan` with what it gains and forgoes, as the plan checker says."""
    wishes = classical_of(plan.problem).wishes
    if not wishes:
        return plan
    lost: list[Number] = [-(wish.utility or 0) for wish in verdict.forgone]
    return replace(plan, utility=exact_sum([*[wish.utility or 0 for wish in wishes], *lost]), forgone=verdict.forgone)


class Wishing:
    """One call of `solve`: plans are handed on as those of the declared problem, which may be of another kind."""

    def __init__(self, problem: Any, on_progress: Callable[[Progress], None] | None) -> None:
        self.problem = problem
        self._classical = classical_of(problem)
        self._on_progress = on_progress
        self._latest: tuple[Plan | None, Plan | None] = None, None

    def answer(self, compiled: Any, solve: Callable[..., Result], options: dict[str, Any]) -> Result:
        """Return what is found for the `compiled` problem, without wishes, as the answer to the one with them."""
        report = None if self._on_progress is None else self._report
        found = solve(compiled, on_progress=report, **options)
        result = replace(found, plan=self._declared(found.plan), reason=self._in_words(found.reason))
        settled = result.status is Status.SOLVED and result.gap is not None and result.gap <= 0
        return replace(result, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED) if settled else result

    def bare(self, plan: Plan) -> Plan:
        """Return `plan` without the steps that settle wishes, as one of the declared problem."""
        own = self._classical.domain.actions
        return replace(plan, steps=tuple([step for step in plan.steps if step.action in own]), problem=self.problem)

    def verdict(self, plan: Plan) -> Verdict:
        """Return what the independent checker says about `plan`."""
        from planner.validate import validate  # noqa: PLC0415 - loaded only with a plan

        return validate(self.problem, plan)

    def _report(self, progress: Progress) -> None:
        assert self._on_progress is not None  # noqa: S101 - else nothing is reported
        self._on_progress(replace(progress, plan=self._declared(progress.plan)))

    def _declared(self, plan: Plan | None) -> Plan | None:
        """Return `plan` without the steps that settle wishes, with what it forgoes; the same one for the same.

        Steps may forgo what holds. So an earlier plan may be better: then that is returned.
        """
        if plan is None or plan is self._latest[0]:
            return self._latest[1] if plan is not None else None
        found = self.bare(plan)
        verdict = self.verdict(found)
        if not verdict.valid:
            raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        found, earlier = valued(found, verdict), self._latest[1]
        self._latest = plan, found if earlier is None or found.charge < earlier.charge else earlier
        return self._latest[1]

    def _in_words(self, reason: str) -> str:
        """Return `reason` in words of the declared problem."""
        monitor = _MONITOR.fullmatch(reason)
        if monitor is not None:
            return f"nothing can keep this constraint: {self._classical.constraints[int(monitor[1])]}"
        return _SPENDING.sub(r"costs \1", reason).replace(SPENT, COST)
