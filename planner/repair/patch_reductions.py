"""Patches for problems with budgets, a deadline or unknown facts, by patching a problem without these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from planner.compilations.budgets import without_budgets
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import Atom, Number, Problem
from planner.model.problem import NumericMetric
from planner.model.unknown_facts import find_hidden_variables, fix_unknown_facts
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, Step, StoppedBy, Supposition, exact_sum
from planner.repair.forbidden_steps import actions_of, forbid_actions
from planner.repair.repair_search import add_spare_objects
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.spending import add_up, has_budgets, is_overdrawn, subtract
from planner.semantics.step_effects import spending_of
from planner.validation.validate import check_steps
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    from planner.compilations.contingent.supposition_actions import Supposing
    from planner.repair.patching import Patch

UNLIMITED_SHARE: Final = 0.5
"""Share of the time for the patch without limits."""
ASSUMING_SHARE: Final = 0.15
"""Share of the time for each of the two searches that price a wrong supposition."""


def sum_costs(problem: Problem, steps: Iterable[Step]) -> dict[str, Number]:
    """Return how much `steps`, which fit `problem`, use of each of its budgets."""
    if not has_budgets(problem):
        return {}
    pairs = [(problem.domain.actions[step.action], step) for step in steps]
    return add_up(problem, [spending_of(problem, action, bind_parameters(action, step)) for action, step in pairs])


def subtract_costs(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem` with the budgets that remain after `steps`, which fit it."""
    return subtract(problem, sum_costs(problem, steps))


def patch_within_limits(
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
    """Return a patch that keeps the budgets of `problem`, also for the `fixed` steps, and its deadline.

    First `patch` the problem without limits: if that patch keeps them, no other is better. Otherwise return the
    cheapest plan that keeps them, whatever it keeps of the old plan. The deadline is for the returned steps alone.
    """
    free = replace(without_budgets(problem), deadline=None)
    share = None if limits.remaining is None else UNLIMITED_SHARE * limits.remaining
    found = patch(free, remaining, weight=weight, fixed=fixed, time_limit=share, **bans)
    if found.status is Status.UNSOLVABLE:
        return found
    rest = subtract_costs(after(add_spare_objects(problem, (*fixed, *remaining)), fixed), fixed)
    if found.steps is not None and check_steps(rest, found.steps).valid:
        return found
    if is_overdrawn(rest):
        reason = "the budgets are used up"
        return replace(_without_steps(found), status=Status.UNSOLVABLE, reason=reason)
    return _patch_of_plan(_solve_rest(rest, limits, **bans), found, remaining, weight)


def _solve_rest(
    rest: Problem, limits: Limits, *, forbidden: Iterable[Step], not_first: Iterable[Step], **_: Any
) -> Result:
    from planner.repair.keeping_steps import forbid_steps
    from planner.solve import answer

    asked = forbid_steps(rest, actions_of(forbidden), actions_of(not_first))
    return answer(asked, SolveOptions().within(limits))


def patch_with_numbers(
    now: Problem,
    remaining: Sequence[Step],
    known: Patch | None,
    limits: Limits,
    *,
    weight: Number,
    forbidden: Collection[Atom],
    not_first: Collection[Atom],
    proof_time: float | None,
) -> Patch:
    """Return the better of the patch that is `known` and of a plan made anew."""
    from planner.repair.patching import Patch
    from planner.solve import answer

    if known is not None:
        if known.dropped == 0 and not known.cost and not isinstance(now.metric, NumericMetric):
            return replace(known, status=Status.OPTIMAL, lower_bound=known.objective)
        limits = limits.part(proof_time)
    options = SolveOptions(mode="anytime" if known is None else "optimal").within(limits)
    result = answer(forbid_actions(now, forbidden, not_first), options)
    anew = _patch_of_plan(result, Patch(result.status, result.stopped_by), remaining, weight)
    if known is None or (anew.objective is not None and rank(anew) < rank(known)):
        return anew
    is_best = result.lower_bound is not None and known.objective == result.lower_bound
    return replace(known, status=Status.OPTIMAL if is_best else Status.SOLVED, lower_bound=result.lower_bound)


def rank(patch: Patch) -> tuple[Number, int]:
    """Return the objective of a patch with steps, and the number of dropped steps."""
    assert patch.objective is not None
    return patch.objective, patch.dropped


def _patch_of_plan(result: Result, found: Patch, remaining: Sequence[Step], weight: Number) -> Patch:
    """Return the new plan of `result` as a patch; `found` is the patch without limits, whose bound holds, too."""
    none = replace(_without_steps(found), status=result.status, stopped_by=result.stopped_by, reason=result.reason)
    if result.plan is None:
        return none
    steps = result.plan.steps
    kept = count_common_suffix(steps, remaining)
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


def count_common_suffix(steps: Sequence[Step], others: Sequence[Step]) -> int:
    """Return the length of the longest common suffix."""
    number = 0
    for one, other in zip(reversed(steps), reversed(others), strict=False):
        if (one.action, one.arguments) != (other.action, other.arguments):
            break
        number += 1
    return number


def _without_steps(found: Patch) -> Patch:
    """Return `found` without its steps."""
    nothing: dict[str, Any] = {"steps": None, "cost": None, "objective": None, "lower_bound": None}
    return replace(found, status=Status.UNKNOWN, new=0, kept=0, dropped=0, **nothing)


def patch_with_suppositions(
    problem: Problem, remaining: Sequence[Step], patch: Callable[..., Patch], limits: Limits, **options: Any
) -> Patch:
    """Return a patch for `problem`, which has unknown facts; `patch` is for problems without.

    Steps that suppose facts are among the new ones, at their price. If unknown facts matter, nothing is proved but that
    no steps lead to the goal in any case.
    """
    from planner.compilations.contingent.assumption_based_planning import (
        CARELESS,
        IN_NO_CASE,
        is_exact,
        prepare_translation,
    )
    from planner.compilations.contingent.supposition_actions import add_suppositions, price_of_surprise
    from planner.repair.patching import Patch
    from planner.solve import answer

    others: dict[str, Any] = {"memory_limit": limits.memory_limit, "cancel": limits.cancel}
    used = {step.action for step in (*remaining, *options["fixed"])}.intersection(problem.domain.actions)
    asked = prepare_translation(problem, used)
    if asked is None:
        return patch(fix_unknown_facts(problem, ()), remaining, **options, **others, time_limit=limits.remaining)
    assuming = SolveOptions().within(limits, ASSUMING_SHARE)
    lucky = answer(asked.optimistic(), assuming)
    if lucky.status is Status.UNSOLVABLE and is_exact(asked):
        return Patch(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason=IN_NO_CASE)
    safe = answer(asked.knowing(), assuming)
    made = add_suppositions(asked, asked.knowing(), price_of_surprise(lucky.cost, safe.cost))
    found = patch(made.problem, remaining, **options, **others, time_limit=limits.remaining)
    if found.steps is not None and _begins_with_unwanted(made, found.steps, options["not_first"]):
        options["forbidden"] = [*options["forbidden"], *options["not_first"]]
        found = patch(made.problem, remaining, **options, **others, time_limit=limits.remaining)
    if found.steps is None:
        reason = CARELESS if found.status is Status.UNSOLVABLE and asked.words.guessed else found.reason
        return replace(found, status=Status.UNKNOWN, lower_bound=None, reason=reason)
    return _restore_steps(found, made, apply_to_known(problem, options["fixed"]), options["weight"])


def _begins_with_unwanted(made: Supposing, steps: Sequence[Step], unwanted: Collection[Step]) -> bool:
    """Return whether the first of `steps` that supposes nothing is one of those `unwanted`."""
    real, _ = made.without(steps)
    return bool(real) and any((each.action, each.arguments) == (real[0].action, real[0].arguments) for each in unwanted)


def apply_to_known(problem: Problem, fixed: Sequence[Step]) -> Problem:
    """Return `problem` after the steps `fixed`, whose effects are known facts."""
    if not fixed:
        return problem
    simulation = Simulation(fix_unknown_facts(problem, ()))
    changes = [simulation.apply(step) for step in fixed]
    written = [pattern for each in changes for pattern in (*each.provided, *each.retracted)]
    facts = [fact for variable in find_hidden_variables(problem) for fact in variable.facts]
    unknown = tuple([fact for fact in facts if not any(pattern.matches(fact) for pattern in written)])
    now = simulation.problem_now
    return replace(problem, initial=now.initial, values=now.values, ran=now.ran, unknown=unknown, likely={})


def _restore_steps(found: Patch, made: Supposing, problem: Problem, weight: Number) -> Patch:
    """Return the patch `found` for `problem`, with its supposing steps turned into suppositions."""
    assert found.steps is not None
    steps, supposed = made.without(found.steps)
    expected = tuple([Supposition(fact, holds) for fact, holds in supposed.items()])
    verdict = check_steps(problem, Plan(steps, problem, suppositions=expected))
    if not verdict.valid:
        raise RuntimeError(f"internal error: a patch was found that does not work: {verdict.reason}")
    return replace(
        found,
        status=Status.SOLVED,
        steps=steps,
        new=len(steps) - found.kept,
        cost=verdict.cost,
        objective=exact_sum([verdict.cost, weight * found.dropped]),
        lower_bound=None,
        reason=_describe_suppositions(verdict),
        suppositions=verdict.suppositions,
    )


def _describe_suppositions(verdict: Verdict) -> str:
    return f"it supposes {'; '.join(map(str, verdict.suppositions))}" if verdict.suppositions else ""
