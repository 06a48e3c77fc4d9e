"""Whether the goal of a run holds: always looked at afresh, and never claimed from what was assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from executor.looking.beliefs import Beliefs
from executor.looking.observe import Looked, Lookout, believe
from executor.plans.supposed import supposed
from executor.record.events import Event, FactsSeen
from executor.record.state import RunState
from executor.record.status import StepStatus
from planner.model import Atom


class Verdict(Enum):
    """What a look at the goal says."""

    SEEN = "it was seen to hold"
    ASSUMED = "nothing of it was seen to be missing, but not all was seen"
    MISSING = "it does not hold"


async def looked_at(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> Verdict:
    """Return whether the goal of `state` holds; tasks, and a run without a goal, are as sure as their steps.

    It does not where something has not happened that was to happen on the way.
    """
    if state.unmet:
        return Verdict.MISSING
    if state.hierarchy is None:
        had_goal = state.has_goal or bool(state.dropped)
        return await _goal(state, lookout, emit) if had_goal else _steps(state, state.order)
    if not all(state.steps[id_].status.is_done for id_ in state.hierarchy.steps):
        return Verdict.MISSING
    tasks = _steps(state, state.hierarchy.steps)
    if not state.has_goal:
        return tasks
    goal = await _goal(state, lookout, emit)
    return tasks if goal is Verdict.SEEN else goal


def _steps(state: RunState, ids: Iterable[str]) -> Verdict:
    """Return what the statuses of steps say."""
    found = {state.steps[id_].status for id_ in ids}
    if not found.isdisjoint({StepStatus.FAILED, StepStatus.PARTIAL}):
        return Verdict.MISSING
    return Verdict.ASSUMED if StepStatus.UNVERIFIED in found else Verdict.SEEN


async def _goal(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> Verdict:
    beliefs = state.beliefs
    facts = beliefs.facts_of(state.goal, {})
    looked = await lookout.look([fact for fact in facts if lookout.can_see(fact)], beliefs)
    believe(looked, beliefs, emit, "the goal")
    supposing = beliefs.supposing(supposed(state.supposes))
    if supposing:
        emit(FactsSeen(tuple(supposing), "supposed"))
    if not beliefs.is_true(state.goal):
        return Verdict.MISSING
    rests = beliefs.resting(state.goal, lambda fact: not confirmed(fact, looked, beliefs))
    return Verdict.ASSUMED if rests else Verdict.SEEN


def confirmed(fact: Atom, looked: Looked, beliefs: Beliefs) -> bool:
    """Return whether a look bears out what is believed; it may not, as what is stale stays false for a while."""
    return looked.seen[fact] is beliefs.holds(fact) if fact in looked.seen else beliefs.is_trusted(fact)
