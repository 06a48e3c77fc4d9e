"""Top-k planning: the k cheapest plans, or all plans within a factor of the optimum, and the proved bounds."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from itertools import islice

from planner.errors import InputError
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass
from planner.model import Number
from planner.plan import Plan, Progress, StoppedBy, forgone_as_data, json_number, render_html
from planner.problem_kinds import AnyProblem
from planner.topk.candidates import candidates

if TYPE_CHECKING:
    import threading

    from planner.topk.diverse import Diversity


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Plans in the order of their costs.

    `proved` says that no other plan is cheaper than one of these. All others cost at least `lower_bound`, which is None
    if the set is `complete`: there are no others. `stopped_by` says why there are no more: FIRST_PLAN if there are as
    many as asked for. `reason` says what was not proved, where that is known. `diversity` has the distances of plans
    that were selected to be diverse. The last `unproved` plans were found by a search for good plans when time ended:
    others may cost less, and some of their steps may be useless.
    """

    plans: tuple[Plan, ...]
    proved: bool
    stopped_by: StoppedBy
    lower_bound: Number | None
    complete: bool
    diversity: Diversity | None = None
    unproved: int = 0
    reason: str = ""

    def summary(self) -> str:
        """Return a text for people: the number of plans, and what is proved about them."""
        text = self._describe_proof()
        if self.reason:
            text = f"{text}; {self.reason}"
        return text if self.diversity is None or not self.plans else f"{text}; {self.diversity.summary(self.plans)}"

    def __str__(self) -> str:
        plans = enumerate(self.plans, start=1)
        lines = [f"{number}. cost {plan.cost}: {'; '.join(map(str, plan.steps))}" for number, plan in plans]
        return "\n".join([self.summary(), *lines])

    def _repr_html_(self) -> str | None:
        return render_html(self)

    def _describe_proof(self) -> str:
        number = len(self.plans) - self.unproved
        if self.unproved and not number:
            return f"{_count_candidates(self.unproved)} of which nothing is proved{self._describe_others()}"
        if not number and self.complete:
            return "proved unsolvable"
        text = _count_candidates(number)
        if self.complete:
            return f"{text}: there are no others"
        which = "the cheapest" if self.proved else f"ended: {self.stopped_by.value}"
        if not self.proved and self.stopped_by is StoppedBy.FIRST_PLAN:
            which = "of which nothing is proved"
        if self.diversity is not None and not self.proved:
            return text
        more = f", and {self.unproved} more of which nothing is proved" if self.unproved else ""
        return f"{text}, {which}{more}{self._describe_others()}"

    def _describe_others(self) -> str:
        if self.lower_bound is None:
            return ""
        counted = ", with what they forgo," if any(plan.forgone for plan in self.plans) else ""
        return f"; others{counted} cost {self.lower_bound} or more"

    def to_dict(self) -> dict[str, Any]:
        """Return the set as JSON-ready data."""
        return {
            "candidates": [_plan_data(plan) for plan in self.plans],
            "proved": self.proved,
            "stopped_by": self.stopped_by.name.lower(),
            "lower_bound": json_number(self.lower_bound),
            "complete": self.complete,
            **({"unproved": self.unproved} if self.unproved else {}),
            **({"reason": self.reason} if self.reason else {}),
            **({} if self.diversity is None else {"diversity": self.diversity.to_dict()}),
        }


def _plan_data(plan: Plan) -> dict[str, Any]:
    data = {"cost": json_number(plan.cost), **plan.to_dict()}
    if plan.utility is not None:
        data["forgone"] = forgone_as_data(plan.forgone)
    return data


def _count_candidates(number: int) -> str:
    return f"{number} candidate{'' if number == 1 else 's'}"


FILL_SHARE: Final = 0.3
"""Share of the time limit that is kept for filling the set."""


def k_best(
    problem: AnyProblem,
    k: int | None,
    *,
    within: Number | float | None = None,
    orders: bool = False,
    wasteful: bool = False,
    fill: bool = False,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> CandidateSet:
    """Return the `k` cheapest plans for `problem`, or all plans if there are fewer or `k` is None.

    The options are those of `candidates`. If a limit ends the work, return the plans found so far. With `fill`, a share
    of the time is kept for a search for good plans, which fills the set if time ends. Nothing is proved of these plans;
    whether they are `within` the factor is known only if the cheapest plan is. Raises as `candidates` does.
    """
    check_number(k)
    limits: dict[str, Any] = {"memory_limit": memory_limit, "cancel": cancel}
    kept = time_limit * FILL_SHARE if fill and time_limit is not None else 0.0
    first = None if time_limit is None else time_limit - kept
    found = candidates(problem, within=within, orders=orders, wasteful=wasteful, time_limit=first, **limits)
    plans = tuple(sorted(islice(found, None if k is None else min(k, sys.maxsize)), key=lambda plan: plan.charge))
    stopped_by = found.stopped_by or StoppedBy.FIRST_PLAN
    proved = found.misses_none and stopped_by in (StoppedBy.EXHAUSTED, StoppedBy.FIRST_PLAN)
    more: list[Plan] = []
    if fill and stopped_by is StoppedBy.TIME:
        others = _find_other_plans(problem, plans, found.most, {**limits, "time_limit": kept})
        more = others[: None if k is None else k - len(plans)]
    bound, complete = found.lower_bound, found.complete
    return CandidateSet((*plans, *more), proved, stopped_by, bound, complete, unproved=len(more), reason=found.reason)


def check_number(k: Any) -> None:
    """Raise `InputError` unless `k` is a number of plans, or None."""
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise InputError(f"the number of plans is a whole number of 1 or more, not {k!r}")


def _find_other_plans(
    problem: AnyProblem, known: tuple[Plan, ...], most: Number | None, limits: dict[str, Any]
) -> list[Plan]:
    """Return the plans that an anytime search improves step by step, the cheapest first.

    They have other steps than those `known`, and cost at most `most`. Raises as `planner.solve` does.
    """
    from planner.solve import solve

    found: dict[Hashable, Plan] = {}

    def note(progress: Progress) -> None:
        if progress.plan is not None:
            found.setdefault(_sort_steps(progress.plan), progress.plan)

    last = solve(problem, on_progress=note, **limits).plan
    if last is not None:
        found.setdefault(_sort_steps(last), last)
    for plan in known:
        found.pop(_sort_steps(plan), None)
    cheap = [plan for plan in found.values() if most is None or plan.charge <= most]
    return sorted(cheap, key=lambda plan: plan.charge)


def _sort_steps(plan: Plan) -> Hashable:
    """Return the steps of `plan` in an order that does not depend on the plan's."""
    return tuple(sorted((step.action, step.arguments) for step in plan.steps))
