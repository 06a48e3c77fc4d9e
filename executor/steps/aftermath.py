"""What comes after a handler has answered: its effects are looked at, judged, and said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from executor.looking.judge import Expected, Judgement, judged
from executor.looking.observe import Looked, Lookout, believe
from executor.looking.outcomes import alternatives, as_it_came_out, labels
from executor.looking.reports import reported
from executor.record.allowance import can_try_again
from executor.record.events import Disagreement, Event, StepEnded, StepReturned
from executor.record.facts import Note, Provenance
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from executor.steps.created import with_all_created
from executor.steps.given_up import at_work, call_of
from executor.steps.perform import Attempt
from executor.steps.retries import callable_next, is_harmless
from executor.world.data import data_of
from executor.world.policy import Policy
from executor.world.world import Skill, World
from planner.errors import InputError
from planner.model import Action, Atom
from planner.records import replace

UNPAID: Final = "the budgets do not suffice for another attempt"
UNTRIED: Final = "no other handler is called, as nobody knows that this one has done nothing"


@dataclass(frozen=True, slots=True)
class Another:
    """Another attempt is to be made, by one of `skills`; where none is after all, the step has ended as `otherwise`."""

    skills: Sequence[Skill]
    otherwise: StepEnded


@dataclass(slots=True, eq=False)
class Aftermath:
    """Says what came of attempts at the steps of one run."""

    world: World
    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout
    aborted: asyncio.Event

    async def ended(
        self, record: StepRecord, got: Attempt, wanted: Expected, policy: Policy, skills: Sequence[Skill] = ()
    ) -> Another | None:
        """Look at what an attempt has done and say so; return whether one of `skills` is to be called instead."""
        action = self.state.domain.actions[record.step.action]
        got = with_all_created(self.state, record, action, got)
        result = data_of(got.result, got.seconds)
        if action.creates:
            self._returned(record, got, result)
        ways = [wanted, *(alternatives(self.state.beliefs, record.step) if action.outcomes else ())]
        visible = [fact for way in ways for fact in way.all if self.lookout.can_see(fact)]
        if visible:
            self._returned(record, got, result)
        looked = await self._looked(visible, ways) if visible else Looked()
        got, told = self._told(record, got)
        found = self._judged(action, got, looked, told, wanted)
        if len(ways) > 1:
            judge, said = partial(self._judged, action, got, looked, told), got.result.observed
            found = as_it_came_out(ways, judge, looked, self.state.beliefs, observed=said, doubt=got.in_doubt)
        found = self._settled(record, action, _disputed(action, found, looked, ways))
        if found.status.is_done:
            outcome = "" if found.way is None else labels(action)[found.way]
            self.emit(StepEnded(record.id, found.status, found.reason, result, found.notes, outcome=outcome))
            return None
        others: Sequence[Skill] = ()
        if skills and not self.aborted.is_set() and not self._is_at_work(record):
            others = callable_next(skills, record, policy, got, found)
            if others and not can_try_again(self.state, record):
                others, found = (), replace(found, reason=f"{found.reason}; {UNPAID}")
            left = [each for each in skills if each.name not in (*record.failed, record.skill)]
            if left and not others and UNPAID not in found.reason and found.status is StepStatus.FAILED:
                found = replace(found, reason=f"{found.reason}; {UNTRIED}")
        in_doubt = found.status is StepStatus.IN_DOUBT
        nothing_lost = found.absent if "irreversible" in action.tags else found.known or is_harmless(action)
        repeatable = not in_doubt and (nothing_lost or not got.begun)
        awaited = _awaited(wanted) if in_doubt else ()
        end = StepEnded(record.id, found.status, found.reason, result, found.notes, repeatable, awaited)
        if others:
            self._returned(record, got, result)
            return Another(others, end)
        self.emit(end)
        return None

    def _returned(self, record: StepRecord, got: Attempt, result: Mapping[str, Any]) -> None:
        """Have what an attempt gave be kept, unless it is, or there is nothing that it gave."""
        if record.result is None and not got.crashed:
            raised = "" if got.raised is None else result["error"]
            self.emit(StepReturned(record.id, result, got.in_doubt, raised))

    def _is_at_work(self, record: StepRecord) -> bool:
        """Return whether a handler of the step that was given up has not come back, in this process."""
        return at_work(call_of(self.state, record, self.world)) is not None

    def _judged(
        self, action: Action, got: Attempt, looked: Looked, told: Mapping[Atom, bool], wanted: Expected
    ) -> Judgement:
        return judged(action, got.result, wanted, looked, self.state.beliefs, told=told, doubt=got.in_doubt)

    def _told(self, record: StepRecord, got: Attempt) -> tuple[Attempt, Mapping[Atom, bool]]:
        """Return the facts that a handler reports, and `got`, which has failed where one of them is none."""
        try:
            found = reported(got.result, self.state.beliefs, self.state.objects)
        except InputError as error:
            return replace(got, result=replace(got.result, success=False, error=str(error)), raised=error), {}
        for fact, holds in found.strangers.items():
            reason = f"{record.step} reports {fact}: {self.state.beliefs.stranger(fact)}"
            self.emit(Disagreement((fact,), reason, (Note(fact, holds, Provenance.REPORTED),)))
        return got, found.facts

    async def _looked(self, visible: list[Atom], ways: Sequence[Expected]) -> Looked:
        """Look until the first of `ways` is seen, or it is time to give up; believe what else is seen."""
        beliefs, wanted = self.state.beliefs, ways[0]
        self.lookout.acted(visible)
        now, facts = asyncio.get_running_loop().time(), [fact for fact in wanted.all if fact in visible]
        looked = await self.lookout.confirm(facts, lambda looked: wanted.is_missed(looked, beliefs), beliefs, now)
        others = [fact for fact in visible if fact not in looked.seen]
        if len(ways) > 1 and others:
            looked = looked.with_more(await self.lookout.look(others, beliefs))
        leaving = {fact for way in ways for fact in (*way.facts, *way.items)}
        believe(looked, beliefs, self.emit, "observed", leaving=leaving)
        return looked

    def _settled(self, record: StepRecord, action: Action, found: Judgement) -> Judgement:
        """Return what is to be said in the end about a step that may still be at work, or may be done twice."""
        if found.status.is_done:
            return found
        if self._is_at_work(record):
            reason = f"{found.reason}, and its handler is still at work"
            return Judgement(StepStatus.IN_DOUBT, reason, found.notes)
        if found.status is StepStatus.IN_DOUBT and is_harmless(action):
            return replace(found, status=StepStatus.FAILED)
        return found


def _disputed(action: Action, found: Judgement, looked: Looked, ways: Sequence[Expected]) -> Judgement:
    """Return that an irreversible step is in doubt where observers contradict each other about its effects."""
    if "irreversible" not in action.tags:
        return found
    changed = {fact for way in ways for fact in (*way.changed, *way.items)}
    reasons = [each.source for each in looked.notes if each.holds is None and each.fact in changed]
    return replace(found, status=StepStatus.IN_DOUBT, reason=reasons[0]) if reasons else found


def _awaited(wanted: Expected) -> tuple[Note, ...]:
    """Return what holds if a step happened of which nobody knows."""
    facts = {**wanted.facts, **dict.fromkeys(wanted.stale, False)}
    return tuple([Note(fact, holds, Provenance.ASSUMED) for fact, holds in facts.items()])
