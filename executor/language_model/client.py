"""Client of a hosted language model, or of an endpoint that speaks OpenAI's protocol, through pydantic-ai.

One request is one call: `executor.language_model.checked_answers` checks the answer and asks again. Endpoints are
untrusted: connections limit the bytes and the JSON values of an answer, and refuse redirections and compressed answers,
whose unpacked size is unknown. They use only hooks and streams of the HTTP library (`httpx`, `httpx2`) of openai's
package.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final, Self

from executor.language_model.protocol import CHARACTERS, Failed, Reply, Request, Usage
from executor.language_model.settings import KEY, Settings
from executor.tools.containment import describe_error
from planner.errors import InputError
from planner.lightweight import replace

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.providers import Provider

MOST_COUNTED: Final = 10**9
"""Most tokens of one call; a larger count is wrong."""
NAMING: Final = "name it as provider:model, or give the url of its endpoint"
_LACKING: Final = re.compile(r"[Ss]et the `?([A-Z][A-Z0-9_]+)`? environment variable")


def model_of_provider(settings: Settings, http: Any) -> Model:
    """Make the model that `settings` name; `http` is the HTTP client for its provider, or None.

    Raises `InputError` where pydantic-ai is not installed or does not know the model, or where the model's key is
    missing.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        hint = "pip install 'forethought[llm]'"
        raise InputError(f"language models need pydantic-ai, which is not installed ({error})", hint=hint) from None
    try:
        if settings.url is not None:
            return _make_compatible_model(settings, http)
        found = infer_model(settings.model, provider_factory=lambda name: _make_provider(name, settings, http))
    except (UserError, ImportError, ValueError) as error:
        if type(error).__name__ != "UserError" or (lacking := _LACKING.search(str(error))) is None:
            raise InputError(f"the language model {settings.model!r} cannot be had: {error}", hint=NAMING) from None
        hint = f"set {lacking[1]}, or {KEY}; a model on this machine needs a url, and no key"
        raise InputError(f"the language model {settings.model!r} needs a key, and has none", hint=hint) from None
    client: Any = getattr(getattr(found, "provider", None), "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0  # each attempt is counted, so that none is made out of sight
    return found


def _make_provider(name: str, settings: Settings, http: Any) -> Provider[Any]:
    """Make a provider of pydantic-ai with the key and the HTTP client, where it takes them."""
    from pydantic_ai.providers import infer_provider, infer_provider_class

    takes = {} if name.startswith("gateway/") else inspect.signature(infer_provider_class(name).__init__).parameters
    given: dict[str, Any] = {}
    if settings.key is not None:
        if "api_key" not in takes:
            raise InputError(f"the provider {name!r} takes no key from the settings", hint=f"leave out {KEY}")
        given["api_key"] = settings.key
    if http is not None and {"http_client", "openai_client"} <= takes.keys():
        given["http_client"] = http
    return infer_provider_class(name)(**given) if given else infer_provider(name)


def _make_compatible_model(settings: Settings, http: Any) -> Model:
    """Make a model that speaks OpenAI's protocol: at Ollama, vLLM, llama.cpp and others."""
    if http is None:
        raise InputError("language models at a url need openai, which is not installed", hint="pip install openai")
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Doubting(AsyncOpenAI):  # type: ignore[misc,unused-ignore] # where openai is not installed
        """A client that drops impossible token counts."""

        async def post(self, *given: Any, **options: Any) -> Any:
            found: Any = await super().post(*given, **options)
            usage = getattr(found, "usage", None)
            if usage is not None and not _is_counted(usage):
                found.usage = None
            return found

    key = settings.key or "none"
    client = Doubting(base_url=settings.url, api_key=key, max_retries=0, timeout=settings.timeout, http_client=http)
    return OpenAIChatModel(settings.model, provider=OpenAIProvider(openai_client=client))


def _is_counted(usage: Any) -> bool:
    counted = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens", "total_tokens")]
    return all(each is None or is_count(each) for each in counted)


def is_count(number: object) -> bool:
    """Return whether `number` is a possible number of tokens."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST_COUNTED


IDENTITY: Final = frozenset({"", "identity"})
MOST_PARTS: Final = 2_000
"""Most JSON values of an answer: a real one has some dozens around its text."""
SHOWN: Final = 200
"""Most characters of an endpoint's text in a message."""


class Refused(Exception):
    """The endpoint sent something that the client refuses."""


def bounded_http_client(most_bytes: int, timeout: float) -> Any:
    """Make an HTTP client for openai's package that reads at most `most_bytes` of an answer.

    Longer answers, compressed answers, JSON of too many values, and redirections raise `Refused`. The client keeps no
    cookies; end it with `aclose()`. Raises `ImportError` where the package is missing.
    """
    from openai import DefaultAsyncHttpxClient

    async def bound(response: Any) -> None:
        _check_headers(response)
        response.stream = _count_bytes(response.stream, most_bytes)
        if response.is_success:
            _check_parts(await response.aread())

    return DefaultAsyncHttpxClient(
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [bound]},
        follow_redirects=False,
        timeout=timeout,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )


def _check_headers(response: Any) -> None:
    """Raise `Refused` for a compressed answer or a redirection."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in IDENTITY:
        raise Refused(f"the endpoint sent an answer packed as {encoding[:SHOWN]!r}, though it was asked not to")
    if response.is_redirect:
        where = response.headers.get("location", "")[:SHOWN]
        status = response.status_code
        raise Refused(f"status {status}: the endpoint sends on to {where!r}, where nothing is sent; set the url anew")


def _check_parts(body: bytes) -> None:
    """Raise `Refused` for JSON of too many values; invalid JSON is refused later."""
    try:
        left: list[object] = [json.loads(body)]
    except (ValueError, RecursionError):
        return
    parts = 0
    while left:
        each = left.pop()
        inner: Iterable[object] = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        left += inner
        parts += 1
        if parts + len(left) > MOST_PARTS:
            raise Refused(f"the endpoint sent an answer of more than {MOST_PARTS:,} parts")


def _count_bytes(stream: Any, most: int) -> Any:
    """Wrap `stream`, an asynchronous one of the HTTP library, so that it raises `Refused` after `most` bytes."""
    base = next(each for each in type(stream).__mro__ if each.__name__ == "AsyncByteStream")

    class Counted(base):  # type: ignore[misc,valid-type] # known when a stream is there
        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = most
            async for each in stream:
                left -= len(each)
                if left < 0:
                    raise Refused(
                        f"the endpoint sent more than {most:,} bytes; 'most_bytes' in the settings says how many"
                    )
                yield each

        async def aclose(self) -> None:
            await stream.aclose()

        def __getattr__(self, name: str) -> Any:
            return getattr(stream, name)

    return Counted()


LONGEST: Final = 400
"""Most characters of a reason."""
PASSING_STATUSES: Final = frozenset({408, 409, 425, 429})
SERVER: Final = 500
"""The least status code of server errors."""
UNSENT: Final = frozenset(
    {"ConnectError", "ConnectTimeout", "LocalProtocolError", "PoolTimeout"}
    | {"ProxyError", "UnicodeEncodeError", "UnsupportedProtocol"}
)
"""Names of errors, also of HTTP libraries, after which nothing was sent."""


def failure_of(error: Exception, asked: Usage) -> Failed:
    """Convert an error of a call; `asked` is the usage of the question if the endpoint has read it.

    Whether it has is unknown: the question counts, unless nothing was sent or the endpoint answered with an error
    status.
    """
    from pydantic_ai.exceptions import AgentRunError, ModelHTTPError

    led = list(_error_chain(error))
    refused = next((each for each in led if isinstance(each, Refused)), None)
    if refused is not None:
        return Failed(_shorten(str(refused)), asked)
    unread = replace(asked, input_tokens=0, money=0.0)
    if isinstance(error, ModelHTTPError):
        passes = error.status_code in PASSING_STATUSES or error.status_code >= SERVER
        why = f"the endpoint answers with status {error.status_code}: {error.body}"
        return Failed(_shorten(why), unread, may_pass=passes)
    usage = unread if any(type(each).__name__ in UNSENT for each in led) else asked
    return Failed(_shorten(_explain_failure(error, led)), usage, may_pass=isinstance(error, AgentRunError | OSError))


def _explain_failure(error: Exception, led: list[BaseException]) -> str:
    names, last = {type(each).__name__ for each in led}, led[-1]
    first = describe_error(error)
    found = {
        "UnicodeEncodeError": "the language model's key, or its URL, has characters that are not ASCII",
        "RecursionError": "what the endpoint sent is nested too deeply",
        "RemoteProtocolError": f"the endpoint does not keep to HTTP: {last}",
        "ConnectError": f"nobody answers at the endpoint: {describe_error(last)}",
    }
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if "RemoteProtocolError" in names and "buffer too long" in str(last):
        return "the endpoint sent a header that is too long"
    known = next((found[name] for name in found if name in names), "")
    if not known and isinstance(error, AttributeError | LookupError | TypeError | ValueError):
        return f"what the endpoint sent is no answer: {first}"
    return known or (first if str(last) in first else f"{first} ({describe_error(last)})")


def _shorten(text: str) -> str:
    shown = "".join(each if each.isprintable() else " " for each in text[:LONGEST])
    return shown if len(text) <= LONGEST else f"{shown}…"


def _error_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and its causes, the nearest first."""
    seen, found = set[int](), error
    while id(found) not in seen:
        yield found
        seen.add(id(found))
        found = found.__cause__ or found.__context__ or found


NAME: Final = "answer"
MILLION: Final = 1_000_000
PAUSE: Final = 5.0
"""Longest pause between two attempts, in seconds."""
FIRST_PAUSE: Final = 0.2
"""Longest pause before the second attempt, in seconds; it doubles for each further attempt."""
BLOCKED: Final = "FORETHOUGHT_NO_MODELS"
"""An environment variable that forbids calls of real models; tests set it."""


class Client:
    """A language model by `settings`, or `model`, one of pydantic-ai's. Close it, or use it with `async with`.

    Raises `InputError` where pydantic-ai is not installed or does not know the model, or where the key is missing.
    """

    def __init__(self, settings: Settings, model: Any = None) -> None:
        self.settings = settings
        self._http = _make_http_client(settings) if model is None else None
        self._model = model if model is not None else model_of_provider(settings, self._http)

    @property
    def is_small(self) -> bool:
        """Whether questions offer the model choices where possible."""
        return self.settings.small

    @property
    def prices(self) -> tuple[float, float] | None:
        """The prices of a million tokens, read and written, if known."""
        return self.settings.prices

    @property
    def is_priced(self) -> bool:
        """Whether the prices are known."""
        return self.prices is not None

    @property
    def retries(self) -> int:
        """How often to repeat a call that failed for a passing reason."""
        return self.settings.retries

    @property
    def patience(self) -> float:
        """Time limit of one answer in seconds, with the pause before it."""
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
        """Call the model once; raises `Failed` where there is no answer."""
        if os.environ.get(BLOCKED):
            raise Failed(f"real language models are not called here: {BLOCKED} is set", Usage())
        if request.attempt > 1:
            await asyncio.sleep(random.uniform(0, min(PAUSE, FIRST_PAUSE * 2 ** (request.attempt - 2))))
        asked = self._make_call(request)
        try:
            async with asyncio.timeout(self.settings.timeout):  # the client's own is for each piece that is read
                said = await asked()
        except Exception as error:  # whatever a client raises, it has not answered
            raise failure_of(error, self._price_usage(request.tokens, 0)) from error
        value = _extract_value(said)
        return Reply(value, self._usage(said, request.tokens, len(str(value))))

    def _make_call(self, request: Request) -> Callable[[], Awaitable[ModelResponse]]:
        """Return a function that sends the request to pydantic-ai's model."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        words = UserPromptPart(_replace_surrogates(request.prompt))
        instructions = _replace_surrogates(_write_instructions(request, self.settings))
        asked = ModelRequest(parts=[words], instructions=instructions)
        most = self.settings.most_tokens if request.room is None else min(self.settings.most_tokens, request.room)
        limits: dict[str, Any] = {"timeout": self.settings.timeout, "max_tokens": most}
        if self.settings.temperature is not None:
            limits["temperature"] = self.settings.temperature
        parameters = _request_parameters(request, self.settings)
        return lambda: model_request(self._model, [asked], model_settings=limits, model_request_parameters=parameters)

    def _usage(self, said: ModelResponse, asked: int, answered: int) -> Usage:
        """Return the usage of a call as the endpoint counts it; otherwise estimate tokens by characters."""
        read, written = said.usage.input_tokens, said.usage.output_tokens
        if not (is_count(read) and is_count(written) and read > 0):
            read, written = asked, answered // CHARACTERS
        return self._price_usage(read, written)

    def _price_usage(self, read: int, written: int) -> Usage:
        reading, writing = self.prices or (0.0, 0.0)
        return Usage(1, read, written, (read * reading + written * writing) / MILLION)


def _make_http_client(settings: Settings) -> Any:
    """Make the HTTP client, or return None where openai's package is missing."""
    try:
        return bounded_http_client(settings.most_bytes, settings.timeout)
    except ImportError:
        return None


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode(errors="replace").decode()


def _write_instructions(request: Request, settings: Settings) -> str:
    if settings.output != "prompted":
        return request.instructions
    schema = json.dumps(request.answer.model_json_schema())
    return f"{request.instructions}\nAnswer with one JSON object, and nothing else, that fits this schema:\n{schema}"


def _request_parameters(request: Request, settings: Settings) -> ModelRequestParameters:
    """Return the form of the answer: JSON of a schema, arguments of a tool, or text."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    schema = request.answer.model_json_schema()
    match settings.output:
        case "native":
            wanted = OutputObjectDefinition(json_schema=schema, name=NAME, strict=False)
            return ModelRequestParameters(output_mode="native", output_object=wanted)
        case "tool":
            tool = ToolDefinition(name=NAME, parameters_json_schema=schema, description="Gives the answer.")
            return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    return ModelRequestParameters()


def _extract_value(said: ModelResponse) -> Any:
    """Return the arguments of a tool call, or the text without a Markdown fence around JSON."""
    from pydantic_ai.messages import TextPart, ToolCallPart

    for part in said.parts:
        if isinstance(part, ToolCallPart):
            return part.args if isinstance(part.args, str) else dict(part.args or {})
    text = "".join(part.content for part in said.parts if isinstance(part, TextPart)).strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    return text
