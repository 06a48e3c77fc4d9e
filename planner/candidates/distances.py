"""How different plans are: by their actions, or by what provides what for what.

The distance of two plans is the part of what either has that not both have: 0 where all is the same, 1 where nothing
is (Jaccard, of multisets; so do Srivastava et al., 2007, "Domain Independent Approaches for Finding Diverse Plans", and
Bryce, 2014, "Landmark-Based Plan Distance Measures for Diverse Planning", among others). It is a metric.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from fractions import Fraction

from planner.annotations import Final
from planner.kinds import classical_of
from planner.plan import Plan
from planner.records import replace

Features = Counter[Hashable]
"""What a plan has, and how many times."""


def actions_of(plan: Plan) -> Features:
    """Return the steps of `plan`."""
    return Counter[Hashable]([(step.action, step.arguments) for step in plan.steps])


def links_of(plan: Plan) -> Features:
    """Return the causal links of `plan`: which step provides which condition for which step, or for the goal."""
    from planner.order import causal_links  # noqa: PLC0415 - only this needs it

    ends: list[Hashable] = ["initial state", *[(step.action, step.arguments) for step in plan.steps], "goal"]
    problem = replace(classical_of(plan.problem), budgets={}, deadline=None)
    links = causal_links(problem, replace(plan, problem=problem, tree=None))
    return Counter[Hashable]([(ends[each.provider], str(each.condition), ends[each.consumer]) for each in links])


DISTANCES: Final[dict[str, Callable[[Plan], Features]]] = {"actions": actions_of, "links": links_of}
"""What plans may differ by."""


def distance(one: Features, other: Features) -> Fraction:
    """Return how different plans with these features are: from 0 to 1."""
    both = common(one, other)
    either = one.total() + other.total() - both
    return Fraction(0) if not either else 1 - Fraction(both, either)


def common(one: Features, other: Features) -> int:
    """Return how many features both have."""
    return sum([min(times, other[each]) for each, times in one.items() if each in other])
