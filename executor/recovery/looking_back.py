"""Whether what a run wrote is as it was before: looked at afresh, and never claimed from what was assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from executor.looking.beliefs import is_in_place
from executor.looking.goal import confirmed
from executor.looking.observe import Looked, Lookout, believe
from executor.record.events import Event
from executor.record.state import RunState
from executor.record.steps import StepRecord
from planner.model import Atom
from planner.validate.simulation import bound

_LEFT_ALONE: Final = frozenset({"irreversible", "read_only"})


@dataclass(frozen=True, slots=True)
class Remains:
    """What was not seen to be as before the run: the `facts`, and in words, but for what the run `left` anyway."""

    facts: frozenset[Atom]
    reasons: tuple[str, ...]


async def looked_back(state: RunState, lookout: Lookout, emit: Callable[[Event], None]) -> Remains:
    """Return what is otherwise than before the run, or was not seen to be so; what steps may have written counts."""
    beliefs = state.beliefs
    written = {fact: id_ for record in state.steps.values() for fact, id_ in _written(state, record)}
    visible = [fact for fact in written if lookout.can_see(fact)]
    looked = await lookout.look(visible, beliefs) if visible else Looked()
    believe(looked, beliefs, emit, "what is undone")
    before, listed = frozenset(state.problem.initial), "; ".join(state.left)
    found = {}
    for fact, id_ in written.items():
        holds = beliefs.holds(fact)
        if holds is not (fact in before):
            found[fact] = f"{fact} {_NOW[holds]}, since {id_}"
        elif not confirmed(fact, looked, beliefs):
            found[fact] = f"nobody has seen that {fact} {_NOW[holds]} after {id_}"
    reasons = [why for fact, why in found.items() if str(fact) not in listed]
    reasons += [why for record in state.steps.values() for why in _in_place(state, record)]
    return Remains(frozenset(found), tuple(reasons))


_NOW: Final = {True: "holds", False: "does not hold", None: "is unknown"}


def _written(state: RunState, record: StepRecord) -> Iterator[tuple[Atom, str]]:
    """Yield what a step wrote, or may have written if it was not done, with its id."""
    tags = state.problem.domain.actions[record.step.action].tags
    if not record.attempts or "read_only" in tags:
        return
    facts = dict.fromkeys([note.fact for note in record.facts] if tags.isdisjoint(_LEFT_ALONE) else [])
    if not _is_done(record):
        changes = state.beliefs.simulation.changes(record.step)
        facts |= dict.fromkeys([*changes.provided, *changes.removed])
    yield from ((fact, record.id) for fact in facts if not state.beliefs.is_internal(fact))


def _in_place(state: RunState, record: StepRecord) -> Iterator[str]:
    """Yield what a step that was not done may have changed in place, and which has no version that tells."""
    action = state.problem.domain.actions[record.step.action]
    if not record.attempts or _is_done(record) or "read_only" in action.tags:
        return
    for item in filter(is_in_place, action.modifies):
        fact = item.substitute(bound(action, record.step))
        if state.beliefs.note(fact).version is None:
            yield f"nobody has seen whether {record.id} has changed {fact}"


def _is_done(record: StepRecord) -> bool:
    """Return whether what a step did to what is believed is all that it did."""
    return record.status.is_done or record.status.name == "COMPENSATED"
