"""Patches within budgets and a deadline: the best of all patches, if it keeps them, else a new plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from planner.compilations.adl import compile_adl, keep_items_busy
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import COST, Number, Problem
from planner.model.domain import creates_objects
from planner.options import SolveOptions
from planner.plan import Result, Status, Step, exact_sum
from planner.repair.forbidden_steps import actions_of, barred
from planner.repair.repair_search import with_spare
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps

if TYPE_CHECKING:
    from planner.repair.patching import Patch

SHARE = 0.5
"""The part of the time that is for the patch that leaves limits out of account."""


def less(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem` with what its budgets leave when `steps`, which fit it, have been paid for."""
    simulation, steps = Simulation(problem), list(steps)
    uses = [simulation.uses(step) | {COST: simulation.cost(step)} for step in steps]
    left: dict[str, Number] = {
        name: exact_sum([limits, *[-each.get(name, 0) for each in uses]]) for name, limits in problem.budgets.items()
    }
    return replace(problem, budgets=left)


def patch_within(
    problem: Problem,
    remaining: Sequence[Step],
    patch: Callable[..., Patch],
    after: Callable[[Problem, Iterable[Step]], Problem],
    limits: Limits,
    *,
    weight: Number,
    fixed: Sequence[Step],
    **bans: Any,
) -> Patch:
    """Return a patch that keeps the budgets and the deadline of `problem`, `fixed` steps being paid for.

    `patch` gives one that leaves them out of account: if it keeps them, no other is better. Else it is the cheapest
    plan that does, with whatever it happens to keep of the old one. The deadline is for the new steps alone.
    """
    free = replace(problem, budgets={}, deadline=None)
    share = None if limits.remaining is None else SHARE * limits.remaining
    found = patch(free, remaining, weight=weight, fixed=fixed, time_limit=share, **bans)
    if found.status is Status.UNSOLVABLE:
        return found
    rest = less(after(with_spare(problem, (*fixed, *remaining)), fixed), fixed)
    if found.steps is not None and check_steps(rest, found.steps).valid:
        return found
    if any(left < 0 for left in rest.budgets.values()):
        reason = "the budgets are used up"
        return replace(_nothing(found), status=Status.UNSOLVABLE, reason=reason)
    if creates_objects(problem.domain):
        return replace(_nothing(found), reason="no patch was found that keeps the budgets")
    return _anew(_solved(rest, limits, **bans), found, remaining, weight)


def _solved(rest: Problem, limits: Limits, *, forbidden: Iterable[Step], not_first: Iterable[Step], **_: Any) -> Result:
    from planner.solve import answer

    plain = barred(compile_adl(rest).problem, actions_of(forbidden), actions_of(not_first))
    return answer(plain if rest.deadline is None else keep_items_busy(plain, rest), SolveOptions().within(limits))


def _anew(result: Result, found: Patch, remaining: Sequence[Step], weight: Number) -> Patch:
    """Return a new plan as a patch; `found` is the one that leaves the limits out of account."""
    none = replace(_nothing(found), status=result.status, stopped_by=result.stopped_by, reason=result.reason)
    if result.plan is None:
        return none
    steps = result.plan.steps
    kept = _alike(steps, remaining)
    dropped = len(remaining) - kept
    objective = exact_sum([result.plan.cost, weight * dropped])
    bounds = [each for each in (found.lower_bound, result.lower_bound) if each is not None]
    bound = max(bounds, default=None)
    return replace(
        none,
        status=Status.OPTIMAL if bound == objective else Status.SOLVED,
        steps=steps,
        new=len(steps) - kept,
        kept=kept,
        dropped=dropped,
        cost=result.plan.cost,
        objective=objective,
        lower_bound=bound,
    )


def _alike(steps: Sequence[Step], others: Sequence[Step]) -> int:
    """Return how many steps at the end of both are the same."""
    number = 0
    for one, other in zip(reversed(steps), reversed(others), strict=False):
        if (one.action, one.arguments) != (other.action, other.arguments):
            break
        number += 1
    return number


def _nothing(found: Patch) -> Patch:
    """Return `found` without its steps."""
    nothing: dict[str, Any] = {"steps": None, "cost": None, "objective": None, "lower_bound": None}
    return replace(found, status=Status.UNKNOWN, new=0, kept=0, dropped=0, **nothing)
