"""Planning with wishes: soft goals and soft constraints, which a plan may forgo.

The plan with the most net benefit is the one of which steps and what it forgoes together are charged the least. It is
looked for as an ordinary plan, whose last steps settle the wishes (`planner.normalise.wishes`), and handed on without
them, for the declared problem.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from planner.annotations import TYPE_CHECKING, Any, Final
from planner.answer import pointing
from planner.model import COST, Number, Problem
from planner.normalise.constraints import MARK
from planner.normalise.stages import without_numbers
from planner.normalise.wishes import SPENT, without_wishes
from planner.plan import Plan, Progress, Result, Status, StoppedBy, exact_sum
from planner.records import replace

if TYPE_CHECKING:
    from planner.validate import Verdict

_MONITOR: Final = re.compile(rf"nothing makes this part of the goal true: .*?{MARK}(\d+).*", re.DOTALL)


def solve_with_wishes(problem: Problem, solve: Callable[..., Result], **options: Any) -> Result:
    """Return the answer to `problem`, in which something is wished for; `solve` answers for problems without wishes."""
    return _Wishing(problem, options.pop("on_progress", None)).answer(solve, options)


def valued(plan: Plan, verdict: Verdict) -> Plan:
    """Return `plan` with what it gains and forgoes, as the plan checker says."""
    wishes = plan.problem.wishes
    if not wishes:
        return plan
    lost: list[Number] = [-(wish.utility or 0) for wish in verdict.forgone]
    return replace(plan, utility=exact_sum([*[wish.utility or 0 for wish in wishes], *lost]), forgone=verdict.forgone)


class _Wishing:
    """One call of `solve`: plans are handed on as those of the declared problem."""

    def __init__(self, problem: Problem, on_progress: Callable[[Progress], None] | None) -> None:
        self._problem = problem
        self._on_progress = on_progress
        self._latest: tuple[Plan | None, Plan | None] = None, None

    def answer(self, solve: Callable[..., Result], options: dict[str, Any]) -> Result:
        """Return what is found for the problem without wishes, as the answer to the one with them."""
        report = None if self._on_progress is None else self._report
        compiled = without_wishes(self._problem)
        if options.get("engine") is not None:
            compiled = without_numbers(compiled)
        found = solve(compiled, on_progress=report, **options)
        result = replace(found, plan=self._declared(found.plan), reason=self._in_words(found.reason))
        result = pointing(self._problem, result)
        settled = result.status is Status.SOLVED and result.gap is not None and result.gap <= 0
        return replace(result, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED) if settled else result

    def _report(self, progress: Progress) -> None:
        assert self._on_progress is not None  # noqa: S101 - else nothing is reported
        self._on_progress(replace(progress, plan=self._declared(progress.plan)))

    def _declared(self, plan: Plan | None) -> Plan | None:
        """Return `plan` without the steps that settle wishes, with what it forgoes; the same one for the same."""
        if plan is None or plan is self._latest[0]:
            return self._latest[1] if plan is not None else None
        from planner.validate import validate  # noqa: PLC0415 - loaded only with a plan

        steps = tuple([step for step in plan.steps if step.action in self._problem.domain.actions])
        found = replace(plan, steps=steps, problem=self._problem)
        verdict = validate(self._problem, found)
        if not verdict.valid:
            raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        self._latest = plan, valued(found, verdict)
        return self._latest[1]

    def _in_words(self, reason: str) -> str:
        """Return `reason` in words of the declared problem."""
        monitor = _MONITOR.fullmatch(reason)
        if monitor is not None:
            return f"nothing can keep this constraint: {self._problem.constraints[int(monitor[1])]}"
        return reason.replace(SPENT, COST)
