"""Whether the goal of a run holds: always looked at afresh, and never claimed from what was assumed."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from executor.events import Event, FactsSeen
from executor.observe import Lookout
from executor.state import RunState
from executor.status import StepStatus


class Verdict(Enum):
    """What a look at the goal says."""

    SEEN = "it was seen to hold"
    ASSUMED = "nothing of it was seen to be missing, but not all was seen"
    MISSING = "it does not hold"


async def looked_at(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> Verdict:
    """Return whether the goal of `state` holds; a run without a goal is as sure as its steps."""
    if not state.has_goal:
        unsure = any(state.steps[id_].status is StepStatus.UNVERIFIED for id_ in state.order)
        missing = any(state.steps[id_].status in {StepStatus.FAILED, StepStatus.PARTIAL} for id_ in state.order)
        return Verdict.MISSING if missing else Verdict.ASSUMED if unsure else Verdict.SEEN
    beliefs = state.beliefs
    facts = beliefs.facts_of(state.goal, {})
    looked = await lookout.look([fact for fact in facts if lookout.can_see(fact)], beliefs)
    for each in looked.disagreements:
        emit(each)
    news = beliefs.would_change(looked.notes)
    if news:
        emit(FactsSeen(tuple(news), "the goal"))
    if not beliefs.is_true(state.goal):
        return Verdict.MISSING
    unseen = [fact for fact in facts if fact not in looked.seen and not beliefs.is_trusted(fact)]
    rests = beliefs.decisive(unseen, lambda simulation: simulation.holds(state.goal))
    return Verdict.ASSUMED if rests else Verdict.SEEN
