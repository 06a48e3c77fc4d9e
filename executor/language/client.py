"""A real language model, by pydantic-ai: hosted ones, and all that speak OpenAI's protocol at some URL.

One request is one call: what comes back is checked by `executor.language.checked`, which asks again. Calls that fail
for a reason that may pass are tried again a few times.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Self

from executor.errors import Unreachable
from executor.language.protocol import Reply, Request, Usage
from executor.language.settings import Settings
from planner.errors import InputError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

NAME: Final = "answer"
MILLION: Final = 1_000_000
PAUSE: Final = 5.0
"""Seconds between two attempts, at most."""
CHARACTERS: Final = 4
"""So many count as a token where the endpoint does not say what it took."""
BLOCKED: Final = "FORETHOUGHT_NO_MODELS"
"""With this in the environment, no real model is ever called: tests set it."""


class Client:
    """The language model that `settings` name, or `model`, one of pydantic-ai's. Close it, or use it with `async with`.

    Raises `InputError` where pydantic-ai is not installed, knows no such model, or lacks its key.
    """

    def __init__(self, settings: Settings, model: Any = None) -> None:
        self.settings = settings
        self._connection = _connection(settings) if model is None and settings.url is not None else None
        self._model = model if model is not None else _model(settings, self._connection)

    @property
    def is_small(self) -> bool:
        """Whether it is given choices, where it can be."""
        return self.settings.small

    @property
    def is_priced(self) -> bool:
        """Whether it is known what its calls cost."""
        return self.settings.prices is not None

    @property
    def patience(self) -> float:
        """The seconds that one answer may take, with all attempts."""
        return (self.settings.timeout + PAUSE) * (1 + self.settings.retries)

    async def close(self) -> None:
        """Close the connections of a model at a URL."""
        if self._connection is not None:
            await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def answer(self, request: Request) -> Reply:
        """Return what the model says; raises `Unreachable` where nobody answers, or the endpoint refuses."""
        from pydantic_ai.direct import model_request  # noqa: PLC0415 - takes seconds to import
        from pydantic_ai.messages import ModelRequest, UserPromptPart  # noqa: PLC0415 - as above

        asked = ModelRequest(parts=[UserPromptPart(request.prompt)], instructions=_instructions(request, self.settings))
        limits: dict[str, Any] = {"timeout": self.settings.timeout, "max_tokens": self.settings.most_tokens}
        if self.settings.temperature is not None:
            limits["temperature"] = self.settings.temperature
        parameters = _parameters(request, self.settings)

        async def ask() -> ModelResponse:
            async with asyncio.timeout(self.settings.timeout):  # the client's own is for each piece that is read
                return await model_request(
                    self._model, [asked], model_settings=limits, model_request_parameters=parameters
                )

        said = await _again(ask, self.settings.retries)
        value = _value(said)
        return Reply(value, self._usage(said, len(request.instructions) + len(request.prompt), len(str(value))))

    def _usage(self, said: ModelResponse, asked: int, answered: int) -> Usage:
        """Return what a call took: as the endpoint says or, where it does not, by so many characters."""
        read, written = said.usage.input_tokens, said.usage.output_tokens
        if read <= 0 or written < 0:
            read, written = asked // CHARACTERS, answered // CHARACTERS
        reading, writing = self.settings.prices or (0.0, 0.0)
        return Usage(1, read, written, (read * reading + written * writing) / MILLION)


def _model(settings: Settings, connection: Any) -> Model:
    try:
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415 - takes seconds to import
        from pydantic_ai.models import infer_model  # noqa: PLC0415 - as above
    except ImportError as error:
        hint = "pip install 'forethought[llm]'"
        raise InputError(f"language models need pydantic-ai, which is not installed ({error})", hint=hint) from None
    try:
        return infer_model(settings.model) if connection is None else _compatible(settings, connection)
    except (UserError, ImportError, ValueError) as error:
        hint = "name it as provider:model, or give the url of its endpoint"
        raise InputError(f"the language model {settings.model!r} cannot be had: {error}", hint=hint) from None


def _connection(settings: Settings) -> Any:
    """Return a connection to a URL that speaks OpenAI's protocol, without retries of its own."""
    try:
        from openai import AsyncOpenAI  # noqa: PLC0415 - takes seconds to import
    except ImportError as error:
        hint = "pip install 'forethought[llm]'"
        raise InputError(f"language models need openai, which is not installed ({error})", hint=hint) from None
    key = settings.key or "none"
    return AsyncOpenAI(base_url=settings.url, api_key=key, max_retries=0, timeout=settings.timeout)


def _compatible(settings: Settings, connection: Any) -> Model:
    """Return a model that speaks OpenAI's protocol: at Ollama, vLLM, llama.cpp and others."""
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - takes seconds to import
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - as above

    return OpenAIChatModel(settings.model, provider=OpenAIProvider(openai_client=connection))


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


async def _again(ask: Callable[[], Awaitable[ModelResponse]], retries: int) -> ModelResponse:
    """Return what `ask` gives, asked again where it fails for a reason that may pass."""
    from pydantic_ai.exceptions import AgentRunError, ModelHTTPError  # noqa: PLC0415 - takes seconds to import
    from tenacity import (  # noqa: PLC0415 - as above
        AsyncRetrying,
        retry_if_exception,
        stop_after_attempt,
        wait_random_exponential,
    )

    if os.environ.get(BLOCKED):
        raise Unreachable(f"real language models are not called here: {BLOCKED} is set")

    def may_pass(error: BaseException) -> bool:
        if isinstance(error, ModelHTTPError):
            return error.status_code in {408, 409, 425, 429} or error.status_code >= 500
        return isinstance(error, AgentRunError | OSError)

    waits = wait_random_exponential(multiplier=0.2, max=PAUSE)
    trying = AsyncRetrying(
        stop=stop_after_attempt(1 + retries), wait=waits, retry=retry_if_exception(may_pass), reraise=True
    )
    try:
        found: ModelResponse = await trying(ask)
    except TimeoutError as error:
        raise Unreachable("no answer in time") from error
    except Exception as error:
        raise Unreachable(f"{type(error).__name__}: {error}") from error
    return found
