"""Problems in which what a plan supposes of unknown facts and numbers is given."""

from __future__ import annotations

from collections.abc import Iterable

from planner.lightweight import replace
from planner.model.problem import Problem
from planner.model.unknown_facts import fix_unknown_facts
from planner.plan import Supposition


def suppose(problem: Problem, suppositions: Iterable[Supposition]) -> Problem:
    """Return `problem` with what is supposed as given; nothing else of what was unknown holds."""
    held = list(suppositions)
    facts = [each.fact for each in held if each.value is None and each.holds]
    values = {each.fact: each.value for each in held if each.value is not None}
    return replace(fix_unknown_facts(problem, facts), values={**problem.values, **values}, seal=())
