"""Shorter durations for the steps of a plan whose effects depend on them: as short as the rest of the plan allows.

A step that charges a battery for as long as it may is cut, by bisection, to the least time after which the plan is
still valid. The order of the happenings stays; their times follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil

from planner.errors import PlanError
from planner.lightweight import Final
from planner.model.arithmetic import as_number
from planner.model.formulas import Number
from planner.plan import Plan
from planner.scheduling.happening_schedule import schedule_happenings
from planner.scheduling.rescheduling import order_moments
from planner.semantics.durations import SEPARATION, chosen_durations
from planner.semantics.snap_actions import SnapProblem
from planner.validation.validate import check_steps

_UNITS: Final = (Fraction(1), Fraction(SEPARATION))
"""Durations are multiples of the first unit, in seconds; then of the second one."""


def shorten_durations(plan: Plan, snap: SnapProblem, may_go_on: Callable[[], bool]) -> Plan:
    """Return a valid plan of the same steps that costs no more, with shorter durations where effects depend on them.

    The work ends when `may_go_on` says so.
    """
    known = chosen_durations(plan.problem, plan.steps, [time.duration for time in plan.times])
    sequence = order_moments(plan.problem, snap, plan)

    def schedule(durations: Mapping[int, Number]) -> Plan | None:
        try:
            found = schedule_happenings(plan.problem, snap, plan.steps, sequence, durations)
        except PlanError:
            return None
        return found if found is not None and check_steps(plan.problem, found).valid else None

    best = plan
    for number in list(known):
        too_short = Fraction(-1)
        for unit in _UNITS:
            low, high = int(too_short / unit), ceil(Fraction(known[number]) / unit)
            while low + 1 < high and may_go_on():
                middle = (low + high) // 2
                shorter = {**known, number: _as_seconds(middle * unit)}
                found = schedule(shorter)
                if found is not None and found.cost <= best.cost:
                    best, known, high = found, shorter, middle
                else:
                    low = middle
            too_short = low * unit
    return best


def _as_seconds(value: Fraction) -> Number:
    number = as_number(value)
    assert number is not None
    return number
