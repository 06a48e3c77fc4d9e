"""`k_best`: the cheapest plans as a set, and what is proved of it."""

from __future__ import annotations

import sys
from itertools import islice

from planner.annotations import TYPE_CHECKING, Any
from planner.candidates.diversity import Diversity
from planner.candidates.filling import SHARE, filling
from planner.candidates.iterate import candidates
from planner.errors import InputError
from planner.kinds import AnyProblem
from planner.model import Number
from planner.plan import Plan, StoppedBy, forgone_data, json_number
from planner.records import dataclass

if TYPE_CHECKING:
    import threading


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Some plans, by their costs.

    `proved`: no plan that is not among them costs less than any of them. All others cost `lower_bound` or more; None
    where there are no others: then the set is `complete`. `stopped_by` says why there are no more: FIRST_PLAN where
    there are as many as were asked for. `diversity` says how far plans are from each other that were chosen for that.
    Of the last ones, `unproved` were come upon where time ended: others may cost less, and some of their steps may be
    of no use.
    """

    plans: tuple[Plan, ...]
    proved: bool
    stopped_by: StoppedBy
    lower_bound: Number | None
    complete: bool
    diversity: Diversity | None = None
    unproved: int = 0

    def summary(self) -> str:
        """Return for people how many there are, and what is proved of them."""
        said = self._said()
        return said if self.diversity is None or not self.plans else f"{said}; {self.diversity.summary(self.plans)}"

    def _said(self) -> str:
        number = len(self.plans) - self.unproved
        if self.unproved and not number:
            return f"{_candidates(self.unproved)} of which nothing is proved{self._others()}"
        if not number and self.complete:
            return "proved unsolvable"
        said = _candidates(number)
        if self.complete:
            return f"{said}: there are no others"
        which = "the cheapest" if self.proved else f"ended: {self.stopped_by.value}"
        if not self.proved and self.stopped_by is StoppedBy.FIRST_PLAN:
            which = "of which nothing is proved"
        if self.diversity is not None and not self.proved:
            return said
        more = f", and {self.unproved} more of which nothing is proved" if self.unproved else ""
        return f"{said}, {which}{more}{self._others()}"

    def _others(self) -> str:
        if self.lower_bound is None:
            return ""
        counted = ", with what they forgo," if any(plan.forgone for plan in self.plans) else ""
        return f"; others{counted} cost {self.lower_bound} or more"

    def to_dict(self) -> dict[str, Any]:
        """Return the set as JSON-ready data."""
        return {
            "candidates": [_dumped(plan) for plan in self.plans],
            "proved": self.proved,
            "stopped_by": self.stopped_by.name.lower(),
            "lower_bound": json_number(self.lower_bound),
            "complete": self.complete,
            **({"unproved": self.unproved} if self.unproved else {}),
            **({} if self.diversity is None else {"diversity": self.diversity.to_dict()}),
        }


def _dumped(plan: Plan) -> dict[str, Any]:
    data = {"cost": json_number(plan.cost), **plan.to_dict()}
    if plan.utility is not None:
        data["forgone"] = forgone_data(plan.forgone)
    return data


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
    """Return the `k` cheapest plans for `problem`, or all where there are fewer, or `k` is None.

    The options are those of `candidates`. Where a limit ends the work before, those are returned that were found. To
    `fill` the set, some of the time is kept for a search for good plans, whose costs nothing is proved of; whether they
    are `within` the factor is known only where the cheapest plan is. Raises as `candidates` does.
    """
    checked_number(k)
    limits: dict[str, Any] = {"memory_limit": memory_limit, "cancel": cancel}
    kept = time_limit * SHARE if fill and time_limit is not None else 0.0
    first = None if time_limit is None else time_limit - kept
    found = candidates(problem, within=within, orders=orders, wasteful=wasteful, time_limit=first, **limits)
    plans = tuple(islice(found, None if k is None else min(k, sys.maxsize)))
    stopped_by = found.stopped_by or StoppedBy.FIRST_PLAN
    proved = found.misses_none and stopped_by in (StoppedBy.EXHAUSTED, StoppedBy.FIRST_PLAN)
    more: list[Plan] = []
    if fill and stopped_by is StoppedBy.TIME:
        more = filling(problem, plans, found.most, time_limit=kept, **limits)[: None if k is None else k - len(plans)]
    return CandidateSet((*plans, *more), proved, stopped_by, found.lower_bound, found.complete, unproved=len(more))


def checked_number(k: Any) -> None:
    """Raise `InputError` unless `k` is a number of plans, or None."""
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise InputError(f"the number of plans is a whole number of 1 or more, not {k!r}")


def _candidates(number: int) -> str:
    return f"{number} candidate{'' if number == 1 else 's'}"
