"""Lint by repair: where there is no plan, the single changes of the model with which there is one.

Each change that `list_repairs` yields is tried by a short search, the likeliest first. Of those that give a plan, the
first are told whose models leave lint the least to say: a slip leaves more traces than that there is no plan, such as
a fact that nothing requires or an action that never applies, and undoing it removes them all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from planner.errors import ForethoughtError
from planner.explain.single_edits import UNLIKELY
from planner.lightweight import Final
from planner.limits import LimitReached, Limits, Stop
from planner.lint.findings import Finding, Level
from planner.options import ANY_PLAN
from planner.problem_kinds import AnyProblem

if TYPE_CHECKING:
    from planner.explain.single_repairs import Repair

SECONDS: Final = 4.0
"""Most processor time for all repairs of one problem."""
SEARCH_SECONDS: Final = 0.15
"""Most processor time of the search for a plan of one repaired problem: models that authors check are small."""
FIRST_SECONDS: Final = 2.0
"""Most processor time of the first search, which may load machine code."""
MOST_REPAIRS: Final = 1500
"""Most repairs that are tried."""
MOST_JUDGED: Final = 25
"""Most repairs that give a plan and are compared by what lint says of them."""
MOST_TOLD: Final = 3
"""Most declarations of which a repair is told."""
WEIGHTS: Final = {Level.ERROR: 3, Level.WARNING: 2, Level.HINT: 1}
"""How much a finding counts against a repaired model, in the unit of prices of repairs."""

Judge = Callable[[AnyProblem, Limits], Iterable[Finding]]
"""Lints a problem without searching for a plan."""


def find_repairs(repairs: Sequence[Repair], judge: Judge, limits: Limits) -> list[Repair]:
    """Return the repairs that give a plan, the best first."""
    until = time.process_time() + SECONDS
    helping: list[Repair] = []
    for repair in repairs[:MOST_REPAIRS]:
        if time.process_time() > until or limits.remaining == 0:
            break
        if len(helping) >= MOST_JUDGED and not (repair.states and repair.price < UNLIKELY):
            continue
        if has_plan(repair.make(), limits, FIRST_SECONDS if repair is repairs[0] else SEARCH_SECONDS):
            helping.append(repair)
    judged = [(each.price + count_signs(each.make(), judge, limits), number) for number, each in enumerate(helping)]
    return [helping[number] for _, number in sorted(judged)]


def has_plan(problem: AnyProblem, limits: Limits, seconds: float) -> bool:
    """Return whether a search finds a plan in `seconds` of processor time."""
    from planner.solve import answer

    until = time.process_time() + seconds
    stop = Stop(limits.cancel, lambda: time.process_time() > until)
    try:
        return answer(problem, ANY_PLAN.within(limits, cancel=stop)).plan is not None
    except (ForethoughtError, LimitReached):
        return False


def count_signs(problem: AnyProblem, judge: Judge, limits: Limits) -> int:
    """Return how much lint says against `problem`."""
    try:
        return sum(WEIGHTS[each.level] for each in judge(problem, limits))
    except (ForethoughtError, LimitReached):
        return 100


def report_repairs(repairs: Sequence[Repair]) -> Iterator[Finding]:
    """Yield the findings that a problem without a plan has one with these changes: of few declarations the best.

    The likeliest is a warning, the others are hints, which stand after it in all reports.
    """
    best: dict[str, Repair] = {}
    for each in repairs:
        best.setdefault(each.place, each)
    told = list(best.values())[:MOST_TOLD]
    stated = next((each for each in repairs if each.states), None)
    if stated is not None and not any(each.states for each in told):
        told.append(stated)
    for each in told:
        message, hint = f"there is a plan {each.words}", "is it meant as it stands?"
        level = Level.WARNING if each is repairs[0] else Level.HINT
        yield Finding(level, "single-repair", each.place, message, hint, each.field, each.part)
