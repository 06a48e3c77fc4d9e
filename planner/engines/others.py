"""Kinds of problems that other packages convert, found by the entry point group `forethought.unified_planning`.

The name of an entry point is what unified-planning calls the class of problems, such as `HIERARCHICAL`; it leads to a
module with `FEATURES`, the names of the features that it takes besides those of classical problems, and
`from_unified_planning(source)`. The way out is a method of the problems themselves: see `planner.kinds.OtherProblem`.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, Protocol

from planner.errors import InputError

if TYPE_CHECKING:
    import unified_planning.model as up
    from unified_planning.plans import Plan as ForeignPlan

    from planner.kinds import OtherProblem
    from planner.plan import Plan
    from planner.validate import Verdict

GROUP: Final = "forethought.unified_planning"


class OtherIncoming(Protocol):
    """A problem of another kind than the classical one, made from `source`, with plans mapped both ways."""

    @property
    def problem(self) -> OtherProblem:
        """The problem as one of ours."""

    @property
    def source(self) -> up.Problem:
        """The problem as one of unified-planning."""

    def plan(self, plan: Plan) -> ForeignPlan:
        """Return a plan of ours as a plan for `source`."""

    def verdict(self, plan: ForeignPlan) -> Verdict:
        """Return whether a plan for `source` works."""


class OtherOutgoing(Protocol):
    """A problem of another kind as one of unified-planning, with the way back for plans."""

    @property
    def problem(self) -> up.Problem:
        """The problem as one of unified-planning."""

    def plan(self, plan: ForeignPlan) -> Plan:
        """Return a plan for `problem` as one of ours, with exact costs."""


@cache
def converters() -> dict[str, Any]:
    """Return the modules that convert other kinds of problems, by unified-planning's names of these."""
    found: dict[str, Any] = {}
    for entry in entry_points(group=GROUP):
        try:
            found.setdefault(entry.name, entry.load())
        except ImportError as error:
            raise InputError(
                f"the converter {entry.value} of {entry.name} problems cannot be imported: {error}"
            ) from error
    return found


def converter(features: frozenset[str]) -> Any:
    """Return the module that converts problems with `features`, which name their class; None where none does."""
    return next((module for name, module in converters().items() if name in features), None)


def features() -> frozenset[str]:
    """Return the features that the other kinds of problems have besides those of classical ones."""
    return frozenset().union(*(module.FEATURES for module in converters().values()))
