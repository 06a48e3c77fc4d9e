"""Ask a language model for a checked answer: objections go back to the model, a bounded number of times.

`ModelClient` gives handlers such a model, within the allowance of their run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar, overload

from pydantic import Field, ValidationError

from executor.errors import ModelError, NoAnswer, RunError, Unpaid, Unreachable
from executor.language_model import protocol as llm
from executor.tools.containment import await_contained
from executor.tools.containment import describe_error as said_by
from executor.tools.json_data import dump_json_value
from planner.lightweight import dataclass, field, replace

ROUNDS: Final = 3
TIMEOUT: Final = 60.0
"""Time limit in seconds of one call of a model without a `patience` of its own."""
LONGEST: Final = 100_000
"""Most characters of an answer; longer ones are refused."""
LONGEST_SHOWN: Final = 2_000
"""Most characters of an answer that the model is shown again."""
MOST_OBJECTIONS: Final = 8
"""Most objections that are sent back."""
Kind = TypeVar("Kind", bound=llm.Answer)
Check = Callable[[Any], Sequence[str] | Awaitable[Sequence[str]]]
"""Returns objections to an answer, or an awaitable of them; no objection accepts the answer."""


@dataclass(frozen=True, slots=True)
class CheckedAnswer(Generic[Kind]):
    """An answer that passed its checks after so many `rounds`; `from_tools`: the request had results of tools."""

    value: Kind
    rounds: int
    from_tools: bool


async def ask_checked(
    model: llm.LanguageModel,
    request: llm.Request,
    kind: type[Kind],
    *,
    check: Check = lambda _: (),
    meter: llm.Meter | None = None,
    rounds: int = ROUNDS,
    timeout: float = TIMEOUT,
) -> CheckedAnswer[Kind]:
    """Ask `model` until its answer fits `kind` and `check` has no objection.

    Raises `NoAnswer` with the objections to the last answer, `Unpaid` where the meter refuses a call or the price is
    unknown although money is limited (the model's `is_priced`), and `ModelError` where the model fails.
    """
    meter, timeout = meter or llm.Meter(), getattr(model, "patience", None) or timeout
    if meter.allowance.money is not None and not getattr(model, "is_priced", True):
        raise Unpaid("money is limited, and nobody knows what the model costs; say its 'prices' in the settings")
    asked, objections = request, list[str]()
    for number in range(1, rounds + 1):
        try:
            reply = await _ask(model, asked, meter, timeout)
        except TimeoutError:
            objections = [f"no answer within {timeout:g} seconds"]
            continue
        value, objections = _validate_answer(reply.value, kind)
        if value is not None:
            said = check(value)
            objections = list(await said if isinstance(said, Awaitable) else said)
            if not objections:
                return CheckedAnswer(value, number, request.shows_tools)
        asked = replace(request, parts=(*request.parts, *_objection_parts(reply.value, objections)))
    raise NoAnswer(request.purpose.value, objections, rounds)


async def _ask(model: llm.LanguageModel, request: llm.Request, meter: llm.Meter, timeout: float) -> llm.Reply:
    """Ask the model; repeat calls that failed for a passing reason, up to the model's `retries`."""
    attempts, failed = 1 + max(0, getattr(model, "retries", 0)), ""
    for attempt in range(1, attempts + 1):
        async with meter.paying():
            try:
                room = meter.room(request.most_tokens, getattr(model, "prices", None))
            except Unpaid as error:
                raise Unpaid(f"{error}{failed}") from None
            try:
                return await _ask_once(model, replace(request, room=room, attempt=attempt), meter, timeout)
            except llm.Failed as error:
                if not error.may_pass or attempt == attempts:
                    raise
                failed = f"; it was asked in vain before: {error}"
    raise AssertionError("the last attempt returns or raises")


async def _ask_once(model: llm.LanguageModel, request: llm.Request, meter: llm.Meter, timeout: float) -> llm.Reply:
    """Call the model once, and count the call even if it fails."""
    took = llm.UNANSWERED
    try:
        reply: llm.Reply = await asyncio.wait_for(await_contained(model.answer(request)), timeout)
        took = replace(reply.usage, calls=max(1, reply.usage.calls))
    except llm.Failed as error:
        took = error.usage
        raise
    except (ModelError, TimeoutError):
        raise
    except Exception as error:  # whatever a client raises, it has not answered
        raise Unreachable(f"the client of the language model failed: {said_by(error)}") from error
    finally:
        meter.add(took)
    return reply


def _validate_answer(said: Any, kind: type[Kind]) -> tuple[Kind | None, list[str]]:
    """Parse and validate an answer; return it, or None and the objections."""
    if isinstance(said, str):
        if len(said) > LONGEST:
            return None, [f"the answer has {len(said):,} characters; {LONGEST:,} are too many"]
        try:
            said = json.loads(said)
        except (ValueError, RecursionError) as error:
            return None, [f"the answer is not JSON: {error}"]
    try:
        return kind.model_validate(said), []
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        return None, [f"{'.'.join(map(str, each['loc'])) or 'the answer'}: {each['msg']}" for each in found]
    except RecursionError:
        return None, ["the answer is nested too deeply"]


def _objection_parts(said: Any, objections: Sequence[str]) -> tuple[llm.Part, llm.Part]:
    """Return parts of a request that show the model its last answer and the objections."""
    text = said if isinstance(said, str) else json.dumps(said, default=str)
    cut = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
    wrong = "\n".join(f"- {each}" for each in objections[:MOST_OBJECTIONS])
    before = llm.Part("Your answer before", cut, llm.Origin.OBJECTION)
    return before, llm.Part("What is wrong with it", wrong, llm.Origin.OBJECTION)


AnswerKind = TypeVar("AnswerKind", bound=llm.Answer)


class TextAnswer(llm.Answer):
    """An answer in words."""

    text: str = Field(description="the answer")


@dataclass(frozen=True, slots=True)
class ModelClient:
    """A language `model` for the handlers of an executor, within the `allowance` of their run.

    `meter` counts what a run spends if others count on it, too.
    """

    model: llm.LanguageModel
    allowance: llm.Allowance = llm.Allowance()
    meter: llm.Meter | None = field(default=None, compare=False)

    def for_run(self, spent: Mapping[str, float]) -> ModelClient:
        """Return a client for one run, which has already `spent` calls, tokens and cost."""
        before = llm.Usage(int(spent["calls"]), int(spent["tokens"]), money=spent["cost"])
        return replace(self, meter=self.meter or llm.Meter(self.allowance, before))

    def for_step(self, note: Callable[[Mapping[str, Any]], None]) -> StepModelClient:
        """Return a client for the handler of one step; `note` gets the usage of each question."""
        return StepModelClient(self.model, self.meter or llm.Meter(self.allowance), note, asyncio.get_running_loop())


@dataclass(frozen=True, slots=True)
class StepModelClient:
    """A language model for the handler of one step; questions count in the allowance and metrics of the run."""

    _model: llm.LanguageModel
    _meter: llm.Meter
    _note: Callable[[Mapping[str, Any]], None]
    _loop: asyncio.AbstractEventLoop

    @overload
    async def ask(self, instructions: str, *, data: Mapping[str, Any] = ...) -> TextAnswer: ...
    @overload
    async def ask(
        self,
        instructions: str,
        answer: type[AnswerKind],
        *,
        data: Mapping[str, Any] = ...,
        check: Check = ...,
        rounds: int = ...,
        timeout: float = ...,
    ) -> AnswerKind: ...
    async def ask(
        self,
        instructions: str,
        answer: type[Any] = TextAnswer,
        *,
        data: Mapping[str, Any] | None = None,
        check: Check = lambda _: (),
        rounds: int = ROUNDS,
        timeout: float = TIMEOUT,
    ) -> Any:
        """Ask the model `instructions`; return an instance of `answer` to which `check` has no objection.

        `data` are values by title, which the model gets as data and not as instructions. The model gets at most
        `rounds` attempts of `timeout` seconds each. Raises `NoAnswer` with the objections to the last answer, `Unpaid`
        where the allowance of the run is spent, and `ModelError` where the model fails.
        """
        meter = self._meter.share()
        values = (data or {}).items()
        parts = tuple([llm.Part(title, dump_json_value(value), llm.Origin.TOOL) for title, value in values])
        request = llm.Request(llm.Purpose.HANDLER, instructions, parts, answer)
        try:
            found = await ask_checked(
                self._model, request, answer, check=check, meter=meter, rounds=rounds, timeout=timeout
            )
        finally:
            took = meter.spent
            self._note({"calls": took.calls, "tokens": took.tokens, "cost": took.money})
        return found.value

    def ask_in_thread(self, instructions: str, answer: type[Any] = TextAnswer, **options: Any) -> Any:
        """Do what `ask` does, for plain handlers, which run in a thread. Raises `RunError` in an event loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asked = self.ask(instructions, answer, **options)
            return asyncio.run_coroutine_threadsafe(asked, self._loop).result()
        raise RunError("this would stop the event loop", hint="await context.model.ask(…)")
