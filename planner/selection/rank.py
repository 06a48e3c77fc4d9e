"""Plans in, in the order of what they are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from planner.errors import InputError, kind_of
from planner.model import Number
from planner.plan import Plan
from planner.selection.criteria import Criterion, measured
from planner.selection.orders import Order, order
from planner.selection.ranking import Excluded, Ranked, Ranking
from planner.selection.rules import Rule, RuleKind, rule
from planner.selection.steps import Steps, classical

By = str | Criterion | Callable[[Plan], Number] | Iterable[Any] | Mapping[Any, Any]


def rank(
    plans: Iterable[Plan], by: By = ("cost",), *, rules: str | Iterable[str | Rule] = (), pareto: bool = False
) -> Ranking:
    """Return `plans`, the best first, with reasons.

    `by` lists criteria, the most important first: a later one decides between plans that are equal in all before it
    (`"cost, duration"` or `["cost", "duration"]`). With weights, `"2*cost + duration"` or `{"cost": 2, "duration": 1}`,
    the weighted sum of the values decides. The values are taken as they are, in their own units, so that a weight says
    what one unit is worth, and no plan changes places when another joins the list. Names of criteria: `cost`,
    `length`, `duration` (the makespan, in seconds), `risk` (the probability that some step does not come out as
    intended), `forgone` (what the wishes are worth that do not come true), `irreversible` and `approvals` (numbers of
    such steps), `count ACTION` or `count @TAG`, and every resource that actions use; a function from a plan to a number
    is one, too. Less is better; with `-` before the name, more is.

    `rules`, one or several, are `never WHAT`, `at most 2 times WHAT` and `only if approved WHAT`, with an action, a
    pattern `action(args, _)` or `@TAG`. Plans that break one are excluded; steps that need approval are named. With
    `pareto`, plans are excluded to which another is preferred by one criterion and by none the other way round.

    Raises `InputError` for criteria and rules that mean nothing, `PlanError` for invalid plans where that matters.
    """
    given = _listed(plans)
    for plan in given:
        if not isinstance(plan, Plan):
            raise InputError(f"{kind_of(plan)} is no plan", hint="candidates(…) gives plans; result.plan is one")
    if not given:
        return Ranking(Order(()), (), ())
    problem = classical(given[0])
    ordered = order(by, problem)
    obeyed = [rule(each, problem) for each in ((rules,) if isinstance(rules, str) else rules)]
    excluded, kept = list[Excluded](), list[Ranked]()
    for number, plan in enumerate(given, start=1):
        reasons = tuple(filter(None, [each.broken_by(plan) for each in obeyed]))
        if reasons:
            excluded.append(Excluded(number, plan, reasons))
        else:
            values = tuple([measured(each, plan) for each in ordered.criteria])
            kept.append(Ranked(number, plan, values, ordered.score(values), _approvals(plan, obeyed)))
    if pareto:
        kept, dominated = _front(kept, ordered)
        excluded = sorted([*excluded, *dominated], key=lambda each: each.number)
    return Ranking(ordered, tuple(_placed(kept, ordered)), tuple(excluded))


def _listed(plans: Any) -> list[Any]:
    if not isinstance(plans, Iterable):
        hint = "k_best(…).plans are plans, and so is [result.plan]"
        raise InputError(f"rank takes several plans, not {kind_of(plans)}", hint=hint)
    return list(plans)


def _approvals(plan: Plan, rules: list[Rule]) -> tuple[int, ...]:
    """Return the numbers of the steps that need approval, by their tag or by a rule."""
    asked = [Steps("needs_approval"), *(each.steps for each in rules if each.kind is RuleKind.ONLY_IF_APPROVED)]
    return tuple(sorted({number for each in asked for number in each.among(plan)}))


def _placed(plans: list[Ranked], ordered: Order) -> list[Ranked]:
    """Return `plans` in their order, with places; equal ones share the place, and keep their order."""
    plans = sorted(plans, key=lambda each: ordered.key(each.values))
    keys = [ordered.key(each.values) for each in plans]
    return [each.at(keys.index(key) + 1) for each, key in zip(plans, keys, strict=True)]


def _front(plans: list[Ranked], ordered: Order) -> tuple[list[Ranked], list[Excluded]]:
    """Return the plans that no other dominates, and the others with the reason."""
    charges = [ordered.charges(each.values) for each in plans]
    kept, dominated = [], []
    for mine, one in zip(charges, plans, strict=True):
        better = next((other for theirs, other in zip(charges, plans, strict=True) if _dominates(theirs, mine)), None)
        if better is None:
            kept.append(one)
            continue
        theirs = ordered.charges(better.values)
        names = [each.name for each, a, b in zip(ordered.criteria, theirs, mine, strict=True) if a < b]
        reason = f"candidate {better.number} is better in {' and '.join(names)}, and worse in nothing"
        dominated.append(Excluded(one.number, one.plan, (reason,)))
    return kept, dominated


def _dominates(one: list[Number], other: list[Number]) -> bool:
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))
