"""A language model for handlers: what they ask is checked, and counted in the allowance of their run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from pydantic import Field

from executor.errors import RunError
from executor.language.allowance import Allowance, Meter
from executor.language.checked import ROUNDS, TIMEOUT, Check, answered
from executor.language.protocol import Answer, LanguageModel, Origin, Part, Purpose, Request, Usage
from executor.world.data import text_of
from planner.records import dataclass, replace

Kind = TypeVar("Kind", bound=Answer)


class TextAnswer(Answer):
    """An answer in words."""

    text: str = Field(description="the answer")


@dataclass(frozen=True, slots=True)
class ModelClient:
    """A language `model` that handlers of an executor may ask, as far as the `allowance` of their run goes.

    `meter` counts what a run spends, where somebody else spends it, too.
    """

    model: LanguageModel
    allowance: Allowance = Allowance()
    meter: Meter | None = None

    def for_run(self, spent: Mapping[str, float]) -> ModelClient:
        """Return it for one run, which has `spent` so many calls, tokens and so much cost before."""
        before = Usage(int(spent["calls"]), int(spent["tokens"]), money=spent["cost"])
        return replace(self, meter=self.meter or Meter(self.allowance, before))

    def for_step(self, note: Callable[[Mapping[str, Any]], None]) -> Asking:
        """Return what the handler of one step asks with; what each question took goes to `note`."""
        return Asking(self.model, self.meter or Meter(self.allowance), note, asyncio.get_running_loop())


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks a language model for one step; every question counts in the allowance and in the metrics of the run."""

    _model: LanguageModel
    _meter: Meter
    _note: Callable[[Mapping[str, Any]], None]
    _loop: asyncio.AbstractEventLoop

    @overload
    async def ask(self, instructions: str, *, data: Mapping[str, Any] = ...) -> TextAnswer: ...
    @overload
    async def ask(
        self,
        instructions: str,
        answer: type[Kind],
        *,
        data: Mapping[str, Any] = ...,
        check: Check = ...,
        rounds: int = ...,
        timeout: float = ...,  # noqa: ASYNC109 - of each call, not of all
    ) -> Kind: ...
    async def ask(
        self,
        instructions: str,
        answer: type[Any] = TextAnswer,
        *,
        data: Mapping[str, Any] | None = None,
        check: Check = lambda _: (),
        rounds: int = ROUNDS,
        timeout: float = TIMEOUT,  # noqa: ASYNC109 - of each call, not of all
    ) -> Any:
        """Return the answer of the model to `instructions`, an instance of `answer` to which `check` does not object.

        `data` are values by title, which the model sees as data and not as instructions. An answer that does not fit is
        sent back, `rounds` times at most, and each call may take `timeout` seconds. Raises `NoAnswer` with what was
        wrong, `Unpaid` where the allowance of the run is spent, and `ModelError` where the model cannot be had.
        """
        meter = self._meter.share()
        parts = tuple([Part(title, text_of(value), Origin.TOOL) for title, value in (data or {}).items()])
        request = Request(Purpose.HANDLER, instructions, parts, answer)
        try:
            found = await answered(
                self._model, request, answer, check=check, meter=meter, rounds=rounds, timeout=timeout
            )
        finally:
            took = meter.spent
            self._note({"calls": took.calls, "tokens": took.tokens, "cost": took.money})
        return found.value

    def ask_in_thread(self, instructions: str, answer: type[Any] = TextAnswer, **options: Any) -> Any:
        """Return what `ask` returns; for plain handlers, which run in a thread. Raises `RunError` in an event loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asked = self.ask(instructions, answer, **options)
            return asyncio.run_coroutine_threadsafe(asked, self._loop).result()
        raise RunError("this would stop the event loop", hint="await context.model.ask(…)")
