"""Mends plans with numbers: first the fewest steps to leave out are searched for, then the cheapest new steps."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor
from typing import TYPE_CHECKING

from planner.lightweight import Final, replace
from planner.limits import Limits
from planner.model import Number, Problem
from planner.model.problem import NumericMetric
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, Step, exact_sum
from planner.repair.repair_search import Choice
from planner.semantics.simulation import price_steps
from planner.semantics.undefined_values import keep_needed
from planner.solve import answer
from planner.validation.validate import check_steps

if TYPE_CHECKING:
    from planner.repair.mending import Mended

FIRST_SHARE: Final = 0.6
"""Share of the time in which the fewest steps to leave out are searched for; the rest is for the cost of new steps."""


def mend_numbers(
    problem: Problem,
    choice: Choice,
    known: Mended,
    usable: Mapping[int, Step],
    limits: Limits,
) -> Mended:
    """Return `known`, which has no steps yet, with a plan for the numeric `problem` that keeps as many as possible.

    `choice` keeps or skips each given step; only those in `usable`, by place, can be kept. Where the metric reads
    numbers, it is not proved that the new steps cost least.
    """
    is_priced = not isinstance(problem.metric, NumericMetric)
    whole = tuple([usable[place] for place in sorted(usable)])
    if is_priced and check_steps(problem, whole).valid:
        steps = price_steps(problem, whole)
        cost, origins = exact_sum([step.cost for step in steps]), tuple(sorted(usable))
        return replace(known, status=Status.OPTIMAL, steps=steps, origins=origins, cost=cost, extra=0, keeps_most=True)
    fewest = _solve(choice, limits, FIRST_SHARE, skip=1, own=False)
    if fewest.plan is None:
        reason = "no steps lead to the goal" if fewest.status is Status.UNSOLVABLE else fewest.reason
        reason = reason or f"no plan was found: {fewest.stopped_by.value}"
        return replace(known, status=fewest.status, stopped_by=fewest.stopped_by, reason=reason)
    found, last, price = _Mending(problem, choice, fewest.plan), fewest, ""
    if not is_priced:
        price = "the new steps may cost less: the metric reads numbers"
    elif found.extra:
        last = _solve(choice, limits, 1, skip=floor(found.extra) + 1, own=True)
        found = min([found, *([] if last.plan is None else [_Mending(problem, choice, last.plan)])])
        price = "" if last.status is Status.OPTIMAL else f"the new steps may cost less: {last.stopped_by.value}"
    keeps_most = fewest.status is Status.OPTIMAL or found.left_out == len(known.given) - len(usable)
    reason = price if keeps_most else f"another plan may keep more: {fewest.stopped_by.value}"
    return replace(
        known,
        status=Status.SOLVED if reason else Status.OPTIMAL,
        stopped_by=last.stopped_by,
        steps=found.steps,
        origins=found.origins,
        cost=exact_sum([step.cost for step in found.steps]),
        extra=found.extra,
        reason=reason,
        keeps_most=keeps_most,
    )


class _Mending:
    """The mended plan that stands for a plan of the choice; compared by the steps left out, and then by its price."""

    def __init__(self, problem: Problem, choice: Choice, plan: Plan) -> None:
        from planner.repair.mending import origin_of

        taken = [(step.action, each) for step in plan.steps for each in choice.steps.get(step.action, (step,))]
        self.steps = price_steps(problem, [step for _, step in taken])
        verdict = check_steps(problem, self.steps)
        if not verdict.valid:
            raise RuntimeError(f"internal error: a plan was mended and does not work: {verdict.reason}")
        self.origins = tuple([origin_of(name) for name, _ in taken])
        new = zip(self.steps, self.origins, strict=True)
        self.extra: Number = exact_sum([step.cost for step, origin in new if origin is None])
        self.left_out = sum([choice.penalties.get(step.action, 0) for step in plan.steps])

    def __lt__(self, other: _Mending) -> bool:
        return (self.left_out, self.extra) < (other.left_out, other.extra)


def _solve(choice: Choice, limits: Limits, share: float, *, skip: Number, own: bool) -> Result:
    """Solve the choice where skipping a step costs `skip`; new steps cost nothing unless their `own` costs count."""
    domain = choice.problem.domain
    actions = {
        name: replace(
            action,
            cost=(skip,) if name in choice.penalties else action.cost if own else (),
            needs_values=keep_needed(action, choice.problem),
        )
        for name, action in domain.actions.items()
    }
    return answer(
        replace(choice.problem, domain=replace(domain, actions=actions)), SolveOptions().within(limits, share)
    )
