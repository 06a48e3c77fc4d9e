"""What a run asks when it cannot know by itself: whether something happened, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from executor.record.answers import DOUBT, told
from executor.record.events import Asked, Event, StepEnded
from executor.record.facts import ANSWER, Note, Provenance
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from executor.recovery.asking import GIVE_UP, HAPPENED, NOTHING, RETRY, Asking, meant
from executor.recovery.options import MOST_TRIES
from executor.steps.created import with_all_created
from executor.steps.perform import Attempt
from executor.world.data import data_of
from executor.world.results import ActionResult

SAID: Final = "somebody says that it happened"


@dataclass(slots=True, eq=False)
class Questions:
    """Asks on behalf of one run that is in trouble."""

    state: RunState
    emit: Callable[[Event], None]
    asking: Asking

    async def settle(self, record: StepRecord) -> bool:
        """Ask whether a step in doubt happened; return whether anybody knows."""
        creates = tuple(name for name, each in record.plan.created.items() if self.state.objects.is_open(each))
        text = f"Nobody can say whether {record.step} happened: {record.reason}. Did it?{_asking_for(creates)}"
        name = f"{DOUBT}{record.id}" + (f":{record.attempts}" if record.attempts > 1 else "")
        question = Asked(name, record.id, text, (HAPPENED, NOTHING), self._known(record), creates=creates)
        answer = await self.asking.answer(question)
        if answer is None:
            return False
        self.emit(self._settled(record, told(answer), happened=meant(question, answer) == HAPPENED))
        return True

    def _settled(self, record: StepRecord, result: ActionResult | None, *, happened: bool) -> StepEnded:
        """Return what is said of a step in doubt: whether it happened, and with what `result`, if somebody told one."""
        wrong = objection(self.state, record, result) if happened and result is not None else ""
        if wrong:
            return StepEnded(record.id, StepStatus.FAILED, f"{SAID}, but {wrong}", None, (), repeatable=False)
        data = data_of(result) if happened and result is not None else None
        beliefs = self.state.beliefs
        notes = [
            Note(each.fact, each.holds if happened else not each.holds, Provenance.REPORTED, ANSWER)
            for each in record.awaited
        ]
        again = StepStatus.PENDING if record.attempts < MOST_TRIES else StepStatus.FAILED
        status = StepStatus.UNVERIFIED if happened else again
        reason = SAID if happened else "somebody says that it did not happen"
        return StepEnded(record.id, status, reason, data, tuple(beliefs.would_change(notes)))

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


def objection(state: RunState, record: StepRecord, result: ActionResult) -> str:
    """Return why `result` cannot be that of a step: it creates what it cannot; nothing where it can be."""
    action = state.domain.actions[record.step.action]
    return with_all_created(state, record, action, Attempt(result)).result.error


def _asking_for(creates: tuple[str, ...]) -> str:
    if not creates:
        return ""
    names = ", ".join(f'"{each}": …' for each in creates)
    return f' If so, say what it created: {{"created": {{{names}}}}}'
