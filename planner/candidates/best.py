"""`k_best`: the cheapest plans as a set, and what is proved of it."""

from __future__ import annotations

from itertools import islice

from planner.annotations import TYPE_CHECKING, Any
from planner.candidates.diversity import Diversity
from planner.candidates.iterate import candidates
from planner.errors import InputError
from planner.kinds import AnyProblem
from planner.model import Number
from planner.plan import Plan, StoppedBy, json_number
from planner.records import dataclass

if TYPE_CHECKING:
    import threading


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Some plans, by their costs.

    `proved`: no plan that is not among them costs less than any of them. All others cost `lower_bound` or more; None
    where there are no others: then the set is `complete`. `stopped_by` says why there are no more: FIRST_PLAN where
    there are as many as were asked for. `diversity` says how far plans are from each other that were chosen for that.
    """

    plans: tuple[Plan, ...]
    proved: bool
    stopped_by: StoppedBy
    lower_bound: Number | None
    complete: bool
    diversity: Diversity | None = None

    def summary(self) -> str:
        """Return for people how many there are, and what is proved of them."""
        said = self._said()
        return said if self.diversity is None or not self.plans else f"{said}; {self.diversity.summary(self.plans)}"

    def _said(self) -> str:
        number = len(self.plans)
        if not number and self.complete:
            return "proved unsolvable"
        said = f"{number} candidate{'' if number == 1 else 's'}"
        if self.complete:
            return f"{said}: there are no others"
        bound = "" if self.lower_bound is None else f"; others cost {self.lower_bound} or more"
        which = "the cheapest" if self.proved else f"ended: {self.stopped_by.value}"
        if self.diversity is not None and not self.proved:
            return said
        return f"{said}, {which}{bound}"

    def to_dict(self) -> dict[str, Any]:
        """Return the set as JSON-ready data."""
        return {
            "candidates": [{"cost": json_number(plan.cost), **plan.to_dict()} for plan in self.plans],
            "proved": self.proved,
            "stopped_by": self.stopped_by.name.lower(),
            "lower_bound": json_number(self.lower_bound),
            "complete": self.complete,
            **({} if self.diversity is None else {"diversity": self.diversity.to_dict()}),
        }


def k_best(
    problem: AnyProblem,
    k: int | None,
    *,
    within: Number | float | None = None,
    orders: bool = False,
    wasteful: bool = False,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> CandidateSet:
    """Return the `k` cheapest plans for `problem`, or all where there are fewer, or `k` is None.

    The options are those of `candidates`.

    Where a limit ends the work before, those are returned that were found. Raises as `candidates` does.
    """
    checked_number(k)
    limits: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, "cancel": cancel}
    found = candidates(problem, within=within, orders=orders, wasteful=wasteful, **limits)
    plans = tuple(islice(found, k))
    stopped_by = found.stopped_by or StoppedBy.FIRST_PLAN
    proved = found.misses_none and stopped_by in (StoppedBy.EXHAUSTED, StoppedBy.FIRST_PLAN)
    return CandidateSet(plans, proved, stopped_by, found.lower_bound, found.complete)


def checked_number(k: Any) -> None:
    """Raise `InputError` unless `k` is a number of plans, or None."""
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise InputError(f"the number of plans is a whole number of 1 or more, not {k!r}")
