"""Questions to people: what is allowed, what happened, what to do when nothing else is left.

A question is asked of a callback first. Where there is none, or it has no answer, the question stays open, what rests
on it waits, and the answer may come in another process: `Executor.resume(run, answers={question: answer})`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from executor.record.answers import GIVE_UP, HAPPENED, NO, NOTHING, RETRY, YES, kept, meant, refusal
from executor.record.events import Answered, Asked, Event, Purpose, StepWaiting
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from executor.steps.filling import Fill
from executor.steps.origins import RETURNED, returned
from executor.world.containment import containment, log_failure, said, text_from
from executor.world.data import text_of
from executor.world.threads import called
from planner.model import Action

__all__ = ["GIVE_UP", "HAPPENED", "LATER", "NO", "NOTHING", "RETRY", "YES", "Asking", "Callback", "Request", "meant"]

Callback = Callable[..., Any] | None
_LOG: Final = logging.getLogger(__name__)
LATER: Final = "later"
"""Instead of a callback: questions stay open, and the run waits for an answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a permission or an approval is asked for: a step that is about to be done.

    `arguments` are the names of objects, and `parameters` the values of data parameters, with which it will be done.
    `returned` are those of an irreversible step that have text which tools returned. `purpose` says whether the step
    belongs to the plan, to a patch or new plan made later, or undoes what was done; `undoes` are the ids of the steps
    that it undoes.
    """

    run: str
    step: str
    action: str
    arguments: dict[str, str]
    parameters: Mapping[str, Any]
    returned: tuple[str, ...] = ()
    purpose: Purpose = "plan"
    undoes: tuple[str, ...] = ()


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
    fill: Fill | None = None

    async def answer(self, question: Asked) -> Any:
        """Return the answer to `question`, None while there is none."""
        state = self.state
        if question.question in state.answers:
            return state.answers[question.question]
        if question.question not in state.questions:
            self.emit(question)
        answer = await _asked(self.ask, question) if callable(self.ask) else None
        if answer is None:
            return None
        self.emit(Answered(question.question, kept(answer)))
        return answer

    async def approval(
        self, record: StepRecord, action: Action, values: Mapping[str, Any], sources: Mapping[str, str]
    ) -> str | None:
        """Return why the step is not allowed with these `values` of its data parameters; nothing where it is.

        `sources` say where they came from. None where nobody has decided: then it waits.
        """
        told = returned(self.state, record, action, values, sources)
        needed = record.needs_approval(action) or bool(told)
        if self.permit is None and not needed:
            return ""
        purpose, undoes = self.state.purpose_of(record), record.plan.undoes
        arguments = dict(record.plan.arguments)
        request = Request(self.state.run, record.id, action.name, arguments, values, told, purpose, undoes)
        if self.permit is not None:
            refused = refusal(await _decided(self.permit, request), "permission")
            if refused:
                return refused
        if not needed:
            return ""
        question = self._may(record, action, request)
        given = await self._approved(record, request, question)
        if given is None and record.status is StepStatus.SKIPPED:
            return None
        if given is None:
            wait = {"question": question.question, "parameters": values, RETURNED: told}
            self.emit(StepWaiting(record.id, wait, 0.0))
            return None
        return refusal(given, "approval")

    def _may(self, record: StepRecord, action: Action, request: Request) -> Asked:
        """Return the question whether the step may be done; it says what the step is for and all that it is about."""
        names = ", ".join(request.parameters)
        filled = f", its {names} as follows" if names else ""
        text = f"May {record.step} be done{self._in_order_to(record, request)}{filled}?"
        known = [
            f"{name} = {text_of(value)}{' (a tool returned this)' if name in request.returned else ''}"
            for name, value in request.parameters.items()
        ]
        shown = (*filter(None, [action.description]), *known)
        return Asked(f"approve:{record.id}", record.id, text, (YES, NO), shown, request.purpose)

    def _in_order_to(self, record: StepRecord, request: Request) -> str:
        """Return what the step is for, in words, if it was not in the plan from the beginning."""
        if request.purpose == "undo":
            undone = [str(self.state.steps[id_].step) for id_ in request.undoes]
            return f" to undo {', '.join(undone) or 'what was done'}"
        return f" ({record.because})" if request.purpose == "patch" else ""

    async def _approved(self, record: StepRecord, request: Request, question: Asked) -> Any:
        """Return what somebody says to a step, None where nobody says anything.

        An answer from before counts only where the step is still to be done with what was shown then.
        """
        state, name = self.state, question.question
        is_as_shown = "parameters" in (record.wait or {}) or (
            not record.attempts and state.answered.get(name) == question
        )
        if is_as_shown and name in state.answers:
            return state.answers[name]
        if state.questions.get(name) != question and not (record.attempts and name in state.answers):
            self.emit(question)
        given = None if self.approve is None else await _decided(self.approve, request)
        if given is None:
            return await self.answer(question)
        self.emit(Answered(name, given))
        return given


async def _decided(function: Callable[..., Any], request: Request) -> Any:
    """Return what `function` decides; one that raises allows nothing."""
    try:
        return decision(await called(partial(function, request), {}))
    except Exception as error:  # noqa: BLE001 - whatever a callback raises, it has not said yes
        return said(error)


def decision(given: Any) -> bool | str | None:
    """Return what a callback has `given` as a decision: what is neither a bool, a text nor None refuses."""
    if given is None or type(given) is bool:
        return given
    return text_from(given) if issubclass(type(given), str) else NO


async def _asked(function: Callable[..., Any], question: Asked) -> Any:
    """Return the answer of `function`; one that raises, or says what means nothing, has none."""
    try:
        answer = await called(partial(function, question), {})
        with containment():
            answer = text_from(answer) if issubclass(type(answer), str) else answer
            return None if meant(question, answer) is None else answer
    except Exception as error:  # noqa: BLE001 - whatever a callback raises, the question stays open
        log_failure(_LOG, "nobody answered %s", question.question, error=error)
        return None
