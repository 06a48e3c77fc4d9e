"""Ask people whether a step is allowed, whether it happened, and what to do when nothing else helps.

A callback is asked first. Without a callback, or without its answer, the question stays open and its dependents
wait; the answer may come in another process: `Executor.resume(run, answers={question: answer})`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final, Literal

from executor.events import answers, events
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.aftermath import object_to_result
from executor.loop.parameters import (
    RETURNED_PARAMETERS,
    Fill,
    check_given_values,
    describe_schemas,
    describe_values,
    find_returned_text,
)
from executor.recovery.options import MOST_TRIES
from executor.tools.containment import as_plain_text, call_contained, contain_errors, describe_error, log_failure
from executor.tools.json_data import data_of
from executor.tools.results import ActionResult
from planner.errors import InputError
from planner.lightweight import replace
from planner.model import Action
from planner.model.object_names import object_name, written_name

Callback = Callable[..., Any] | None
_LOG: Final = logging.getLogger(__name__)
LATER: Final = "later"
"""Value of `ask` instead of a callback: questions stay open, and the run waits for answers."""


@dataclass(frozen=True, slots=True)
class Request:
    """Request for a permission or an approval of a step.

    `arguments` are the names of its objects, without quotes, and `parameters` the values of its data parameters.
    `returned` are those of an irreversible step with text that tools returned. `purpose` says whether the step belongs
    to the initial plan, to a later plan, or undoes other steps; `undoes` has the ids of these. `earlier` tells what
    other runs did or left of the same step.
    """

    run: str
    step: str
    action: str
    arguments: dict[str, str]
    parameters: Mapping[str, Any]
    returned: tuple[str, ...] = ()
    purpose: events.Purpose = "plan"
    undoes: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Asking:
    """Asks on behalf of one run, by asynchronous callbacks or by plain ones, which run in threads.

    `ask(question)` answers an `Asked`, or returns None; without it, nobody is asked what to do next. What a begun step
    waits for, it is asked by `WaitCallbacks`. `permit(request)`
    and `approve(request)` return a bool, or the reason of a refusal as text; `approve` may return None for undecided,
    or other values with which the step is approved: `{"values": {"amount": 20}}`.
    """

    state: RunState
    emit: Callable[[events.Event], None]
    ask: Callback | Literal["later"] = None
    permit: Callback = None
    approve: Callback = None
    fill: Fill | None = None

    def has_callback_for(self, question: str | None) -> bool:
        """Return whether a callback decides on a step that waits for an answer to the `question` of that name."""
        if question is None:
            return False
        return callable(self.ask) or (self.approve is not None and question.startswith(answers.APPROVE))

    async def answer(self, question: events.Asked) -> Any:
        """Ask `question`, and return the answer; None while there is none."""
        state = self.state
        if question.question in state.answers:
            return state.answers[question.question]
        if question.question not in state.questions:
            self.emit(question)
        answer = await ask_for_answer(self.ask, question) if callable(self.ask) else None
        if answer is None:
            return None
        self.emit(events.Answered(question.question, answers.as_journal_data(answer), function=True))
        return answer

    async def ask_for_approval(
        self,
        record: StepRecord,
        action: Action,
        values: Mapping[str, Any],
        sources: Mapping[str, str],
        earlier: tuple[str, ...] = (),
    ) -> str | None:
        """Ask for permission and approval of the step with these `values` of data parameters from `sources`.

        Whoever decides is shown what was done `earlier`, in other runs too.

        Return the reason of a refusal, an empty text for an approval, `SO` if it is so already, or None if nobody has
        decided: then it waits.
        """
        returned = find_returned_text(self.state, record, action, values, sources)
        needed = (
            record.needs_approval(action) or bool(returned) or answers.name_approval(record.id) in self.state.answers
        )
        if self.permit is None and not needed:
            return ""
        request = make_request(self.state, record, values, returned, earlier)
        if self.permit is not None:
            given = await ask_for_decision(self.permit, request)
            if answers.read_changes(given):
                given = f"{answers.UNDECIDED}: `permit` changes no values, `approve` does"
            refused = answers.describe_refusal(given, "permission")
            if refused:
                return refused
        if not needed:
            return ""
        question = make_approval_question(self.state, record, action, request)
        given = await self._get_approval(record, action, request, question)
        if given is None and record.status is events.StepStatus.SKIPPED:
            return None
        if given is None:
            wait = {"question": question.question, "parameters": values, RETURNED_PARAMETERS: returned}
            self.emit(events.StepWaiting(record.id, wait, 0.0))
            return None
        is_so = answers.interpret_answer(question, given) == answers.SO
        return answers.SO if is_so else answers.describe_refusal(given, "approval")

    async def _get_approval(self, record: StepRecord, action: Action, request: Request, question: events.Asked) -> Any:
        """Return the decision on a step, or None while nobody has decided.

        An earlier answer counts only if the step and its parameters are as they were shown then. A callback that
        approves with a value which the step does not have, or which does not fit, has not decided.
        """
        state, name = self.state, question.question
        answered = state.answered.get(name)
        is_as_shown = "parameters" in (record.wait or {}) or (not record.attempts and _is_same(answered, question))
        is_as_shown = is_as_shown and (answered is None or set(request.earlier) <= set(answered.known))
        if is_as_shown and name in state.answers:
            return state.answers[name]
        if state.questions.get(name) != question and not (record.attempts and name in state.answers):
            self.emit(question)
        given = None if self.approve is None else await ask_for_decision(self.approve, request)
        if given is None:
            return await self.answer(question)
        if answers.read_approved_form(given) is not None:
            try:
                answers.check_meaning(question, given)
                check_given_values(question, action, given)
            except InputError as error:
                return f"{answers.UNDECIDED}: {error}"
        self.emit(events.Answered(name, given, function=True))
        return given


def _is_same(answered: events.Asked | None, question: events.Asked) -> bool:
    """Return whether a question that was answered shows what `question` shows."""
    return answered is not None and replace(answered, values=question.values) == question


def make_request(
    state: RunState,
    record: StepRecord,
    values: Mapping[str, Any],
    returned: tuple[str, ...],
    earlier: tuple[str, ...] = (),
) -> Request:
    """Make the request for a permission or an approval of a step with these `values` of data parameters."""
    arguments = {name: written_name(term) for name, term in record.plan.arguments.items()}
    told = [name for name in returned if name in arguments]  # whoever decides reads what the tool has told
    arguments |= {name: object_name(state.objects.real_name(record.plan.arguments[name])) for name in told}
    purpose = state.purpose_of(record)
    asked_by = state.run, record.id, record.step.action
    return Request(*asked_by, arguments, values, returned, purpose, record.plan.undoes, earlier)


def make_approval_question(state: RunState, record: StepRecord, action: Action, request: Request) -> events.Asked:
    """Make the question for an approval, with purpose, description and parameters of the step."""
    names = ", ".join(request.parameters)
    filled = f", its {names} as follows" if names else ""
    text = f"May {record.step} be done{_describe_purpose(state, record, request)}{filled}?"
    objects = {name: each for name, each in request.arguments.items() if name in request.returned}
    known = describe_values({**objects, **request.parameters}, request.returned)
    shown = (*filter(None, [action.description]), *known, *request.earlier)
    values = describe_schemas([each for each in action.data if each.name in request.parameters])
    is_told = bool(request.earlier) and state.is_irreversible(record)
    name, so = answers.name_approval(record.id), (answers.SO,) if is_told else ()
    choices = (answers.YES, answers.NO, *so)
    return events.Asked(name, record.id, text, choices, shown, request.purpose, values=values)


def _describe_purpose(state: RunState, record: StepRecord, request: Request) -> str:
    """Describe the purpose of a step that is not in the initial plan."""
    if request.purpose == "undo":
        undone = [str(state.steps[id_].step) for id_ in request.undoes]
        return f" to undo {', '.join(undone) or 'what was done'}"
    return f" ({record.because})" if request.purpose == "patch" else ""


async def ask_for_decision(function: Callable[..., Any], request: Request) -> Any:
    """Call `function` for a decision; an exception is no approval, and the step fails, but nobody has refused it."""
    try:
        return read_decision(await call_contained(partial(function, request), {}))
    except Exception as error:  # noqa: BLE001 - whatever a callback raises, it has not said yes
        return f"{answers.UNDECIDED}: {describe_error(error)}"


def read_decision(given: Any) -> Any:
    """Convert the value `given` by a callback to a decision: anything but a bool, text, form or None is a refusal."""
    if given is None or type(given) is bool or answers.read_approved_form(given) is not None:
        return given
    return as_plain_text(given) if issubclass(type(given), str) else answers.NO


async def ask_for_answer(function: Callable[..., Any], question: events.Asked) -> Any:
    """Call `function` for an answer; return None if it raises or the meaning of its answer is not clear."""
    try:
        answer = await call_contained(partial(function, question), {})
        with contain_errors():
            answer = as_plain_text(answer) if issubclass(type(answer), str) else answer
            return answer if answers.is_clear(question, answer) else None
    except Exception as error:  # noqa: BLE001 - whatever a callback raises, the question stays open
        log_failure(_LOG, "nobody answered %s", question.question, error=error)
        return None


@dataclass(slots=True, eq=False)
class WaitCallbacks:
    """Asks the callback `ask` what begun steps wait for, beside all else that the run does; `wake` tells of answers."""

    ask: Callback | Literal["later"]
    wake: Callable[[], None]
    tasks: dict[str, asyncio.Task[Any]] = field(init=False, default_factory=dict)
    """The calls so far, by question."""

    def begin(self, questions: Iterable[events.Asked]) -> None:
        """Ask those of the open `questions` that it has not asked yet."""
        if not callable(self.ask):
            return
        for each in questions:
            if answers.is_wait(each) and each.question not in self.tasks:
                task = self.tasks[each.question] = asyncio.create_task(ask_for_answer(self.ask, each))
                task.add_done_callback(lambda _: self.wake())

    def is_at_work(self, questions: Iterable[str]) -> bool:
        """Return whether it is still asking one of the open `questions`."""
        return any(each in self.tasks and not self.tasks[each].done() for each in questions)

    def take_answer(self, question: str) -> Any:
        """Return the answer to a question that nobody has answered otherwise; None without one."""
        task = self.tasks.get(question)
        return None if task is None or not task.done() or task.cancelled() else task.result()


SAID: Final = "somebody says that it happened"


@dataclass(slots=True, eq=False)
class Questions:
    """Asks the questions of recovery for one run."""

    state: RunState
    emit: Callable[[events.Event], None]
    asking: Asking

    async def settle(self, record: StepRecord, seen: str = "") -> bool:
        """Ask whether a step in doubt happened, and tell what was `seen`; return whether that is settled.

        An answer whose created objects do not fit leaves the question open.
        """
        creates = tuple(name for name, each in record.plan.created.items() if self.state.objects.is_open(each))
        text = f"Nobody can say whether {record.step} happened: {record.reason}. Did it?"
        text += seen + answers.ask_for_created(creates)
        question = events.Asked(
            answers.name_doubt(record),
            record.id,
            text,
            (answers.HAPPENED, answers.NOTHING),
            self._list_known(record),
            creates=creates,
        )
        answer = await self.asking.answer(question)
        if answer is None:
            return False
        happened, told = (
            answers.interpret_answer(question, answer) == answers.HAPPENED,
            answers.read_told_result(answer),
        )
        wrong = object_to_result(self.state, record, told) if happened and told is not None else ""
        if wrong:
            self.emit(replace(question, known=(*question.known, wrong)))
            return False
        self.emit(self._make_settlement(record, told, happened=happened))
        return True

    def _make_settlement(self, record: StepRecord, result: ActionResult | None, *, happened: bool) -> events.StepEnded:
        """Return the end of a step in doubt by an answer: whether it `happened`, perhaps with a `result`."""
        data = data_of(result) if happened and result is not None else None
        beliefs = self.state.beliefs
        notes = [
            events.Note(
                each.fact, each.holds if happened else not each.holds, events.Provenance.REPORTED, events.ANSWER
            )
            for each in record.awaited
        ]
        again = events.StepStatus.PENDING if record.attempts < MOST_TRIES else events.StepStatus.FAILED
        status = events.StepStatus.UNVERIFIED if happened else again
        reason = SAID if happened else "somebody says that it did not happen"
        return events.StepEnded(record.id, status, reason, data, tuple(beliefs.select_news(notes)))

    async def ask_for_another_try(self, about: str, reasons: Iterable[str]) -> str | None:
        """Ask what to do now; return `RETRY` or `GIVE_UP`, or None while there is no answer.

        After `GIVE_UP` for the step `about`, the question is not asked again.
        """
        for number in count(1):
            question = f"stuck:{about or 'goal'}:{number}"
            if question not in self.state.answers:
                break
            if answers.interpret_answer(self.state.answered[question], self.state.answers[question]) == answers.GIVE_UP:
                return answers.GIVE_UP
        text = f"The run cannot go on: {'; '.join(reasons) or 'the plan does not work'}. What now?"
        record = self.state.steps.get(about)
        known = self._list_known(record) if record else ()
        asked = events.Asked(question, about, text, (answers.RETRY, answers.GIVE_UP), known)
        answer = await self.asking.answer(asked)
        return None if answer is None else answers.interpret_answer(asked, answer)

    def _list_known(self, record: StepRecord) -> tuple[str, ...]:
        """List the reason and the error of a step."""
        found: list[Any] = [record.reason, record.result and record.result.get("error")]
        return tuple(dict.fromkeys(str(each) for each in found if each))
