"""Plans by charge where nothing lists them: solve the problem, forbid the plan, and solve again.

Each answer that is proved continues the sorted list, and "unsolvable" ends it: there are no other plans. After an
answer without a proof, a plan may come after a dearer one, and some may be missing; `reason` says why.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from decimal import Decimal

from planner.compilations.driver import value_plan
from planner.compilations.object_creation import for_steps
from planner.compilations.other_plans import forbid_plans
from planner.errors import UnsupportedError
from planner.lightweight import Any, Final, replace
from planner.limits import Finishing, LimitReached, Limits, Stop
from planner.model import Number, Problem
from planner.model.domain import may_find_out
from planner.options import Solve, SolveOptions
from planner.plan import EXACT, Plan, Progress, Result, Status, Step, StepTime, StoppedBy, exact
from planner.problem_kinds import classical_of
from planner.semantics.simulation import price_steps
from planner.validation.timed_replay import price_plan
from planner.validation.validate import check_steps

ROUND_SHARE: Final = 0.75
"""Share of the remaining time that one plan may take; a second try has all of it."""
NO_PROOF: Final = "a plan was not proved to be the cheapest of those left: others may be cheaper, or missing"


class SolvingRounds:
    """Iterates over the plans of `problem`, of any kind: `solve` solves it again and again without the plans so far.

    `within` is the factor on the optimum that limits the charge of plans.
    """

    def __init__(self, problem: Any, limits: Limits, solve: Solve, within: Decimal | None = None) -> None:
        self._problem, self._limits, self._answer, self._within = problem, limits, solve, within
        self._found: list[Plan] = []
        self.complete = False
        """Whether it is proved that there are no other plans."""
        self.misses_none = True
        """Whether each plan so far is proved to be the cheapest of those left."""
        self.lower_bound: Number | None = None
        """Lower bound on the charge of all further plans; None if none is known."""
        self.most: Number | None = None
        """Largest charge of a plan; None without a factor, and as long as the cheapest plan is not known."""
        self.reason = ""
        """Why plans may be missing."""

    def plans(self) -> Iterator[Plan]:
        """Yield the plans; raise `LimitReached` at a limit, and `UnsupportedError` for what `solve` does not take."""
        while True:
            self._limits.check()
            result = self._solve(ROUND_SHARE)
            if result.status is Status.UNKNOWN and result.stopped_by is StoppedBy.TIME:
                result = self._solve(1.0)
            self._note_proof(result)
            if result.plan is None:
                break
            plan = replace(result.plan, problem=self._problem)
            with Finishing(), contextlib.suppress(LimitReached):
                plan = self._drop_spare_steps(plan, is_cheapest=result.status is Status.OPTIMAL)
            self._found.append(plan)
            if self._is_within_factor(plan):
                yield plan
            elif self.misses_none:
                return
            if result.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
                raise LimitReached(result.stopped_by)
        if not self.complete:
            is_early = result.stopped_by is StoppedBy.EXHAUSTED
            raise LimitReached(StoppedBy.INCOMPLETE if is_early else result.stopped_by)

    def _solve(self, share: float) -> Result:
        """Return the answer for the problem without the plans so far; one plan may take a `share` of the time."""
        problem = forbid_plans(self._problem, self._found) if self._found else self._problem
        found = self._solve_to_bound(problem, share)
        if found is None:
            found = self._answer(problem, SolveOptions().within(self._limits, share))
        classical = classical_of(self._problem)
        if may_find_out(classical.domain):
            from planner.compilations.unlisted_objects import qualify_by_findings

            found = qualify_by_findings(classical, found)
        return found

    def _solve_to_bound(self, problem: Any, share: float) -> Result | None:
        """Return the answer of a search that ends at a plan that is charged no more than the bound: none is cheaper.

        Return None without a bound, and where the search ended so at a plan that became another one.
        """
        least = self.lower_bound if self.misses_none else None
        if least is None:
            return None
        stop = Stop(self._limits.cancel)

        def look(progress: Progress) -> None:
            if progress.plan is not None and progress.plan.charge <= least:
                stop.set()

        found = self._answer(problem, SolveOptions().within(self._limits, share, on_progress=look, cancel=stop))
        if found.plan is not None and found.plan.charge <= least:
            return replace(found, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED, lower_bound=least)
        return None if stop.is_reached else found

    def _note_proof(self, result: Result) -> None:
        """Keep what is proved of the plans that are left, as long as each plan so far is proved to be the cheapest.

        Of another one, the steps may be taken at better times, and with more steps, which is not looked at then.
        """
        if result.status is Status.UNSUPPORTED and not self._found:
            construct, _, way = result.reason.partition("; ")
            raise UnsupportedError(construct, way)
        if self.misses_none:
            bounds = [each for each in (self.lower_bound, result.lower_bound) if each is not None]
            self.lower_bound = max(bounds, default=None)
            self.complete = result.status is Status.UNSOLVABLE
        if result.status not in (Status.OPTIMAL, Status.UNSOLVABLE):
            self.misses_none, self.reason = False, result.reason or self.reason or NO_PROOF

    def _is_within_factor(self, plan: Plan) -> bool:
        """Return whether the factor allows what `plan` is charged; it counts from the cheapest plan so far."""
        if self._within is None:
            return True
        least = min(each.charge for each in self._found)
        more = EXACT.multiply(EXACT.subtract(self._within, Decimal(1)), abs(Decimal(least)))
        most = exact(EXACT.add(Decimal(least), more))
        if self.misses_none:
            self.most = most
        return plan.charge <= most

    def _drop_spare_steps(self, plan: Plan, *, is_cheapest: bool) -> Plan:
        """Return `plan` without steps that it can do without, one after another, with those that need them.

        So do Nakhost and Müller (2010, "Action Elimination and Plan Neighborhood Graph Search"). Steps of tasks, and of
        plans on suppositions, are all kept. Of a cheapest plan, only steps that cost nothing can be left out.
        """
        if not isinstance(self._problem, Problem) or self._problem.unknown:
            return plan
        place = len(plan.steps) - 1
        while place >= 0:
            self._limits.check()
            if not (is_cheapest and plan.steps[place].cost > 0):
                shorter = self._leave_out(plan, place)
                plan = plan if shorter is None else shorter
            place = min(place, len(plan.steps)) - 1
        return plan

    def _leave_out(self, plan: Plan, place: int) -> Plan | None:
        """Return `plan` without the step at `place`, and those that then cannot be done.

        Return None if that is charged more, or forgoes more.
        """
        kept = [number for number in range(len(plan.steps)) if number != place]
        while True:
            times = tuple([plan.times[number] for number in kept]) if plan.times else ()
            found, failing = self._check([plan.steps[number] for number in kept], times)
            if found is not None:
                is_as_good = found.charge <= plan.charge and all(each in plan.forgone for each in found.forgone)
                return found if is_as_good else None
            if failing is None or not 0 < failing <= len(kept):
                return None
            del kept[failing - 1]

    def _check(self, steps: Sequence[Step], times: tuple[StepTime, ...]) -> tuple[Plan | None, int | None]:
        """Return the plan of `steps`, or None and the number of the step that fails, if one does."""
        plan = Plan(tuple([replace(step, cost=0) for step in steps]), self._problem, times=times)
        if times:
            plan = price_plan(plan)
        verdict = check_steps(self._problem, plan if times else plan.steps)
        if not verdict.valid:
            return None, verdict.failing_step
        if not times:
            plan = replace(plan, steps=price_steps(for_steps(self._problem, plan.steps), plan.steps))
        return value_plan(plan, verdict), None
