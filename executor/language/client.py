"""A real language model, by pydantic-ai: hosted ones, and all that speak OpenAI's protocol at some URL.

One request is one call: `executor.language.checked` looks at what comes back, and asks again, also where a call failed
for a reason that may pass.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Self

from executor.language.connection import connection
from executor.language.failures import failure
from executor.language.protocol import CHARACTERS, Failed, Reply, Request, Usage
from executor.language.providers import is_count, model_of_provider
from executor.language.settings import Settings

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import ModelRequestParameters

NAME: Final = "answer"
MILLION: Final = 1_000_000
PAUSE: Final = 5.0
"""Seconds between two attempts, at most."""
FIRST: Final = 0.2
"""Seconds before the second attempt, at most: twice as many before each other."""
BLOCKED: Final = "FORETHOUGHT_NO_MODELS"
"""With this in the environment, no real model is ever called: tests set it."""


class Client:
    """The language model that `settings` name, or `model`, one of pydantic-ai's. Close it, or use it with `async with`.

    Raises `InputError` where pydantic-ai is not installed, knows no such model, or lacks its key.
    """

    def __init__(self, settings: Settings, model: Any = None) -> None:
        self.settings = settings
        self._http = _http(settings) if model is None else None
        self._model = model if model is not None else model_of_provider(settings, self._http)

    @property
    def is_small(self) -> bool:
        """Whether it is given choices, where it can be."""
        return self.settings.small

    @property
    def prices(self) -> tuple[float, float] | None:
        """What a million tokens cost, read and written, where that is known."""
        return self.settings.prices

    @property
    def is_priced(self) -> bool:
        """Whether it is known what its calls cost."""
        return self.prices is not None

    @property
    def retries(self) -> int:
        """How often it is asked again where a call fails for a reason that may pass."""
        return self.settings.retries

    @property
    def patience(self) -> float:
        """The seconds that one answer may take, with the pause before it."""
        return self.settings.timeout + 2 * PAUSE

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def answer(self, request: Request) -> Reply:
        """Return what the model says; raises `Failed` where nobody answers, or the endpoint refuses."""
        if os.environ.get(BLOCKED):
            raise Failed(f"real language models are not called here: {BLOCKED} is set", Usage())
        if request.attempt > 1:
            await asyncio.sleep(random.uniform(0, min(PAUSE, FIRST * 2 ** (request.attempt - 2))))  # noqa: S311 - no secret
        asked = self._asked(request)
        try:
            async with asyncio.timeout(self.settings.timeout):  # the client's own is for each piece that is read
                said = await asked()
        except Exception as error:  # whatever a client raises, it has not answered
            raise failure(error, self._priced(request.tokens, 0)) from error
        value = _value(said)
        return Reply(value, self._usage(said, request.tokens, len(str(value))))

    def _asked(self, request: Request) -> Callable[[], Awaitable[ModelResponse]]:
        """Return what asks pydantic-ai's model."""
        from pydantic_ai.direct import model_request  # noqa: PLC0415 - takes seconds to import
        from pydantic_ai.messages import ModelRequest, UserPromptPart  # noqa: PLC0415 - as above

        words = UserPromptPart(_sendable(request.prompt))
        asked = ModelRequest(parts=[words], instructions=_sendable(_instructions(request, self.settings)))
        most = self.settings.most_tokens if request.room is None else min(self.settings.most_tokens, request.room)
        limits: dict[str, Any] = {"timeout": self.settings.timeout, "max_tokens": most}
        if self.settings.temperature is not None:
            limits["temperature"] = self.settings.temperature
        parameters = _parameters(request, self.settings)
        return lambda: model_request(self._model, [asked], model_settings=limits, model_request_parameters=parameters)

    def _usage(self, said: ModelResponse, asked: int, answered: int) -> Usage:
        """Return what a call took: as the endpoint says or, where it does not, by so many characters."""
        read, written = said.usage.input_tokens, said.usage.output_tokens
        if not (is_count(read) and is_count(written) and read > 0):
            read, written = asked, answered // CHARACTERS
        return self._priced(read, written)

    def _priced(self, read: int, written: int) -> Usage:
        reading, writing = self.prices or (0.0, 0.0)
        return Usage(1, read, written, (read * reading + written * writing) / MILLION)


def _http(settings: Settings) -> Any:
    """Return what a client of openai's package sends by, None where there is no such package."""
    try:
        return connection(settings.most_bytes, settings.timeout)
    except ImportError:
        return None


def _sendable(text: str) -> str:
    """Return `text` without halves of characters, which UTF-8 does not have."""
    return text.encode(errors="replace").decode()


def _instructions(request: Request, settings: Settings) -> str:
    if settings.output != "prompted":
        return request.instructions
    schema = json.dumps(request.answer.model_json_schema())
    return f"{request.instructions}\nAnswer with one JSON object, and nothing else, that fits this schema:\n{schema}"


def _parameters(request: Request, settings: Settings) -> ModelRequestParameters:
    """Return how the answer is asked for: as JSON of a schema, by a tool, or in words."""
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415 - takes seconds to import
    from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415 - as above
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415 - as above

    schema = request.answer.model_json_schema()
    match settings.output:
        case "native":
            wanted = OutputObjectDefinition(json_schema=schema, name=NAME, strict=False)
            return ModelRequestParameters(output_mode="native", output_object=wanted)
        case "tool":
            tool = ToolDefinition(name=NAME, parameters_json_schema=schema, description="Gives the answer.")
            return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    return ModelRequestParameters()


def _value(said: ModelResponse) -> Any:
    """Return what was said: the arguments of a tool, or the text, without the fence that models like around JSON."""
    from pydantic_ai.messages import TextPart, ToolCallPart  # noqa: PLC0415 - takes seconds to import

    for part in said.parts:
        if isinstance(part, ToolCallPart):
            return part.args if isinstance(part.args, str) else dict(part.args or {})
    text = "".join(part.content for part in said.parts if isinstance(part, TextPart)).strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    return text
