"""An answer that was checked: what is wrong with one goes back to the model, a bounded number of times."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from executor.errors import ModelError, NoAnswer, Unpaid, Unreachable
from executor.language.allowance import Meter
from executor.language.protocol import UNANSWERED, Answer, Failed, LanguageModel, Origin, Part, Reply, Request
from executor.world.containment import said as said_by
from executor.world.threads import awaited
from planner.records import dataclass, replace

ROUNDS: Final = 3
TIMEOUT: Final = 60.0
"""Seconds for one call of a model that does not say how long it may take (`patience`)."""
LONGEST: Final = 100_000
"""Characters of an answer that are read."""
SHOWN: Final = 2_000
"""Characters of an answer that are shown to the model again."""
MISTAKES: Final = 8
"""Objections that are sent back at most."""
Kind = TypeVar("Kind", bound=Answer)
Check = Callable[[Any], Sequence[str] | Awaitable[Sequence[str]]]
"""Returns objections to an answer, in words, at once or awaited; none where it will do."""


@dataclass(frozen=True, slots=True)
class Answered(Generic[Kind]):
    """An answer that passed its checks after so many `rounds`; `from_tools`: the model saw what tools returned."""

    value: Kind
    rounds: int
    from_tools: bool


async def answered(
    model: LanguageModel,
    request: Request,
    kind: type[Kind],
    *,
    check: Check = lambda _: (),
    meter: Meter | None = None,
    rounds: int = ROUNDS,
    timeout: float = TIMEOUT,  # noqa: ASYNC109 - of each call, not of all
) -> Answered[Kind]:
    """Return the answer of `model`, which fits `kind` and to which `check` has no objection.

    Raises `NoAnswer` with the objections to the last answer, `Unpaid` where the meter refuses a call or cannot know
    what it costs (the model's `is_priced`), and `ModelError` where the model cannot be had.
    """
    meter, timeout = meter or Meter(), getattr(model, "patience", None) or timeout
    if meter.allowance.money is not None and not getattr(model, "is_priced", True):
        raise Unpaid("money is limited, and nobody knows what the model costs; say its 'prices' in the settings")
    asked, objections = request, list[str]()
    for number in range(1, rounds + 1):
        try:
            reply = await _reply(model, asked, meter, timeout)
        except TimeoutError:
            objections = [f"no answer within {timeout:g} seconds"]
            continue
        value, objections = _read(reply.value, kind)
        if value is not None:
            said = check(value)
            objections = list(await said if isinstance(said, Awaitable) else said)
            if not objections:
                return Answered(value, number, request.shows_tools)
        asked = replace(request, parts=(*request.parts, *_again(reply.value, objections)))
    raise NoAnswer(request.purpose.value, objections, rounds)


async def _reply(model: LanguageModel, request: Request, meter: Meter, timeout: float) -> Reply:  # noqa: ASYNC109 - as above
    """Return what the model says; where it fails for a reason that may pass, it is asked as often again as it says."""
    attempts, failed = 1 + max(0, getattr(model, "retries", 0)), ""
    for attempt in range(1, attempts + 1):
        async with meter.paying():
            try:
                room = meter.room(request.most_tokens, getattr(model, "prices", None))
            except Unpaid as error:
                raise Unpaid(f"{error}{failed}") from None
            try:
                return await _attempt(model, replace(request, room=room, attempt=attempt), meter, timeout)
            except Failed as error:
                if not error.may_pass or attempt == attempts:
                    raise
                failed = f"; it was asked in vain before: {error}"
    raise AssertionError("the last attempt returns or raises")


async def _attempt(model: LanguageModel, request: Request, meter: Meter, timeout: float) -> Reply:  # noqa: ASYNC109 - as above
    """Return what the model says to one call, which is counted, whatever comes of it."""
    took = UNANSWERED
    try:
        reply: Reply = await asyncio.wait_for(awaited(model.answer(request)), timeout)
        took = replace(reply.usage, calls=max(1, reply.usage.calls))
    except Failed as error:
        took = error.usage
        raise
    except (ModelError, TimeoutError):
        raise
    except Exception as error:  # whatever a client raises, it has not answered
        raise Unreachable(f"the client of the language model failed: {said_by(error)}") from error
    finally:
        meter.add(took)
    return reply


def _read(said: Any, kind: type[Kind]) -> tuple[Kind | None, list[str]]:
    """Return the answer as it should be, or what is wrong with it."""
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


def _again(said: Any, objections: Sequence[str]) -> tuple[Part, Part]:
    """Return what the model is shown of its answer, and what is wrong with it."""
    text = said if isinstance(said, str) else json.dumps(said, default=str)
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    wrong = "\n".join(f"- {each}" for each in objections[:MISTAKES])
    return Part("Your answer before", cut, Origin.OBJECTION), Part("What is wrong with it", wrong, Origin.OBJECTION)
