"""Questions to people: what is allowed, what happened, what to do when nothing else is left.

A question is asked of a callback first. Where there is none, or it has no answer, the question stays open, what rests
on it waits, and the answer may come in another process: `Executor.resume(run, answers={question: answer})`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from executor.record.answers import GIVE_UP, HAPPENED, NO, NOTHING, RETRY, YES, meant
from executor.record.events import Answered, Asked, Event, StepWaiting
from executor.record.state import RunState
from executor.record.steps import StepRecord
from executor.world.threads import called
from planner.model import Action

__all__ = ["GIVE_UP", "HAPPENED", "LATER", "NO", "NOTHING", "RETRY", "YES", "Asking", "Callback", "Request", "meant"]

Callback = Callable[..., Any] | None
_LOG: Final = logging.getLogger(__name__)
LATER: Final = "later"
"""Instead of a callback: questions stay open, and the run waits for an answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a permission or an approval is asked for: a step that is about to be done, by whom, and why it is asked."""

    run: str
    step: str
    action: str
    arguments: dict[str, str]
    reason: str


@dataclass(slots=True, eq=False)
class Asking:
    """Asks on behalf of one run, by asynchronous callbacks or by plain ones, which run in threads.

    `ask(question)` answers an `Asked`, or returns None; without it, nobody is asked what to do next. `permit(request)`
    and `approve(request)` return whether a step may be done, or why not as text; `approve` may return None where nobody
    has decided yet.
    """

    state: RunState
    emit: Callable[[Event], None]
    ask: Callback | Literal["later"] = None
    permit: Callback = None
    approve: Callback = None

    async def answer(self, question: Asked) -> Any:
        """Return the answer to `question`, None while there is none."""
        state = self.state
        if question.question in state.answers:
            return state.answers[question.question]
        if question.question not in state.questions:
            self.emit(question)
        answer = await _asked(self.ask, question) if callable(self.ask) else None
        if answer is None or meant(question, answer) is None:
            return None
        self.emit(Answered(question.question, answer))
        return answer

    async def approval(self, record: StepRecord, action: Action) -> str | None:
        """Return why the step is not allowed; nothing where it is, None where nobody has decided: then it waits."""
        if self.permit is None and "needs_approval" not in action.tags:
            return ""
        request = Request(self.state.run, record.id, action.name, dict(record.plan.arguments), "")
        if self.permit is not None:
            refused = _refusal(await _decided(self.permit, request), "permission")
            if refused:
                return refused
        if "needs_approval" not in action.tags:
            return ""
        given = None
        if self.approve is not None:
            given = await _decided(self.approve, request)
        if given is None:
            text = f"May {record.step} be done?"
            known = tuple([str(each) for each in (action.description,) if each])
            question = Asked(f"approve:{record.id}", record.id, text, (YES, NO), known)
            given = await self.answer(question)
        if given is None:
            self.emit(StepWaiting(record.id, {"question": f"approve:{record.id}"}, 0.0))
            return None
        return _refusal(given, "approval")


def _refusal(answer: Any, what: str) -> str:
    """Return why `answer` is no consent; nothing where it is."""
    if answer is True or answer == YES:
        return ""
    if isinstance(answer, str) and answer != NO:
        return f"{what} was refused: {answer}"
    return f"{what} was refused"


async def _decided(function: Callable[..., Any], request: Request) -> Any:
    """Return what `function` decides; one that raises allows nothing."""
    try:
        return await called(partial(function, request), {})
    except Exception as error:  # noqa: BLE001 - whatever a callback raises, it has not said yes
        return f"{type(error).__name__}: {error}"


async def _asked(function: Callable[..., Any], question: Asked) -> Any:
    """Return the answer of `function`; one that raises has none."""
    try:
        return await called(partial(function, question), {})
    except Exception:  # noqa: BLE001 - whatever a callback raises, the question stays open
        _LOG.exception("nobody answered %s", question.question)
        return None
