"""Judge a run in time: by the true world, and by all schedules that were left when time was lost.

What could go wrong, and what is looked for:

- a run reports success, and the goal does not hold, or was reached after it was due;
- more of a capacity is held than there is, also by what goes on while the process of the run is dead;
- a step starts outside its window, or while something that it requires does not hold, as the run knows;
- a step starts that takes from a step at work what that one needs meanwhile;
- what came about is done again: after a restart, a false report, or a step that was given up;
- a run gives up, or drops a wish, though a schedule is left that meets the deadlines;
- a deadline that could be met at one event cannot be met at the next one, and nothing had gone wrong in between: the
  run has waited for nothing, or has taken a way that is too slow;
- a run does not end, or raises an error, or says not why it failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final

from benchmarks.faults.timed_run import TimedRun
from benchmarks.faults.timed_schedules import Errand, TooManySchedules, find_schedule
from benchmarks.faults.timed_world import CLOSE, Record
from executor.events.events import GoalDropped, RunStatus
from executor.run import RunOutcome

MARGIN: Final = 0.05
"""Seconds by which deadlines must be met for a run to have lost them: it may start each step some thousandths late."""


class TimedEnding(Enum):
    """How a run in time ended."""

    MET = "the goal was reached by its deadlines, with all wishes"
    LOWERED = "the goal was reached by its deadlines; no schedule was left for the wishes that were dropped"
    TOO_LATE = "given up: no schedule was left that meets the deadlines"
    SPENT = "given up: schedules were left only with what had failed"
    ASKED = "the run waits for somebody who knows what happened"
    UNCLEAR = "given up: there are too many schedules to look at all of them"
    VIOLATION = "something that must not happen"


@dataclass(frozen=True, slots=True)
class TimedVerdict:
    """What is to be said about one run; `detail` says what must not have happened."""

    ending: TimedEnding
    detail: str = ""


def judge_in_time(carried: TimedRun) -> TimedVerdict:
    """Return how a run ended, and what was wrong with that."""
    if carried.outcome is None:
        return TimedVerdict(TimedEnding.VIOLATION, carried.error or "no outcome")
    if carried.world.wrongs:
        return TimedVerdict(TimedEnding.VIOLATION, "; ".join(carried.world.wrongs))
    outcome, wishes = carried.outcome, carried.world.dropped
    if outcome.status in (RunStatus.SUCCEEDED, RunStatus.LOWERED):
        false = find_untruth(carried, outcome)
        if false:
            return TimedVerdict(TimedEnding.VIOLATION, false)
        return _judge_loss(carried, TimedEnding.LOWERED) if wishes else TimedVerdict(TimedEnding.MET)
    if not outcome.reason:
        return TimedVerdict(TimedEnding.VIOLATION, f"{outcome.status.name}, and no reason")
    if outcome.status in (RunStatus.IN_DOUBT, RunStatus.WAITING):
        return TimedVerdict(TimedEnding.ASKED)
    return _judge_loss(carried, TimedEnding.TOO_LATE)


def find_untruth(carried: TimedRun, outcome: RunOutcome) -> str:
    """Return what is false about the success that a run reports, or ""."""
    world, errand = carried.world, carried.setting.errand
    wanted = errand.goals if outcome.status is RunStatus.LOWERED else errand.goals.union(errand.wishes)
    for fact in sorted(wanted - world.facts):
        return f"{outcome.status.name}, and {fact} does not hold"
    for fact, due in errand.due.items():
        if world.reached.get(fact, due) > due + CLOSE:
            return f"{outcome.status.name}, and {fact} was reached at {world.reached[fact]:g} s, due at {due:g} s"
    late = [at for at in world.ends if errand.deadline is not None and at > errand.deadline + CLOSE]
    return f"{outcome.status.name}, and a step ended at {late[0]:g} s, after the deadline" if late else ""


def _judge_loss(carried: TimedRun, ending: TimedEnding) -> TimedVerdict:
    """Return whether something was given up, or lost without a reason, that could have been had."""
    errand, records = carried.setting.errand, carried.world.records
    try:
        for record in records:
            if isinstance(record.event, GoalDropped) and _is_open(errand, record, MARGIN):
                return TimedVerdict(TimedEnding.VIOLATION, f"{record.event.condition} was dropped without need")
        lost = find_lost_time(errand, records)
        if lost or ending is TimedEnding.LOWERED:
            return TimedVerdict(TimedEnding.VIOLATION, lost) if lost else TimedVerdict(ending)
        if _is_open(errand, records[-1], MARGIN):
            reason = carried.outcome.reason if carried.outcome else ""
            return TimedVerdict(TimedEnding.VIOLATION, f"given up without need: {reason}")
        if _is_open(errand, records[-1], MARGIN, without_bars=True):
            return TimedVerdict(TimedEnding.SPENT)
    except TooManySchedules:
        return TimedVerdict(TimedEnding.UNCLEAR)
    return TimedVerdict(ending)


def find_lost_time(errand: Errand, records: list[Record]) -> str:
    """Return between which events a deadline got out of reach without a reason; "" if that never happened."""
    for before, after in pairwise(records):
        if after.excuses or before.dropped != after.dropped:
            continue
        if _is_open(errand, before, MARGIN) and not _is_open(errand, after, 0.0):
            one, other = before.situation.now, after.situation.now
            return f"from {one:.3f} to {other:.3f} s ({type(after.event).__name__}) time was lost for nothing"
    return ""


def _is_open(errand: Errand, record: Record, margin: float, *, without_bars: bool = False) -> bool:
    """Return whether some schedule meets the deadlines from an event on."""
    bars = frozenset[str]() if without_bars else record.bars
    return find_schedule(errand, record.situation, bars=bars, dropped=record.dropped, margin=margin) is not None
