"""What a run asks when it cannot know by itself: whether something happened, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

from executor.record.events import Asked, Event, StepEnded
from executor.record.facts import ANSWER, Note, Provenance
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from executor.recovery.asking import GIVE_UP, HAPPENED, NOTHING, RETRY, Asking, meant
from executor.recovery.options import MOST_TRIES


@dataclass(slots=True, eq=False)
class Questions:
    """Asks on behalf of one run that is in trouble."""

    state: RunState
    emit: Callable[[Event], None]
    asking: Asking

    async def settle(self, record: StepRecord) -> bool:
        """Ask whether a step in doubt happened; return whether anybody knows."""
        text = f"Nobody can say whether {record.step} happened: {record.reason}. Did it?"
        name = f"doubt:{record.id}" + (f":{record.attempts}" if record.attempts > 1 else "")
        question = Asked(name, record.id, text, (HAPPENED, NOTHING), self._known(record))
        answer = await self.asking.answer(question)
        if answer is None:
            return False
        self.emit(self._settled(record, happened=meant(question, answer) == HAPPENED))
        return True

    def _settled(self, record: StepRecord, *, happened: bool) -> StepEnded:
        if happened and any(self.state.objects.is_open(each) for each in record.plan.created.values()):
            reason = "somebody says that it happened, but nobody what it created"
            return StepEnded(record.id, StepStatus.FAILED, reason, None, (), repeatable=False)
        beliefs = self.state.beliefs
        notes = [
            Note(each.fact, each.holds if happened else not each.holds, Provenance.REPORTED, ANSWER)
            for each in record.awaited
        ]
        again = StepStatus.PENDING if record.attempts < MOST_TRIES else StepStatus.FAILED
        status = StepStatus.UNVERIFIED if happened else again
        reason = "somebody says that it happened" if happened else "somebody says that it did not happen"
        return StepEnded(record.id, status, reason, None, tuple(beliefs.would_change(notes)))

    async def ask_for_another_try(self, about: str, reasons: Iterable[str]) -> str | None:
        """Ask what to do, with what is known; return `RETRY` or `GIVE_UP`, None while nobody has said.

        Whoever has given up what `about` names is not asked again.
        """
        for number in count(1):
            question = f"stuck:{about or 'goal'}:{number}"
            if question not in self.state.answers:
                break
            if meant(self.state.answered[question], self.state.answers[question]) == GIVE_UP:
                return GIVE_UP
        text = f"The run cannot go on: {'; '.join(reasons) or 'the plan does not work'}. What now?"
        record = self.state.steps.get(about)
        known = self._known(record) if record else ()
        asked = Asked(question, about, text, (RETRY, GIVE_UP), known)
        answer = await self.asking.answer(asked)
        return None if answer is None else meant(asked, answer)

    def _known(self, record: StepRecord) -> tuple[str, ...]:
        """Return what is known about a step, in words."""
        found: list[Any] = [record.reason, record.result and record.result.get("error")]
        return tuple(dict.fromkeys(str(each) for each in found if each))
