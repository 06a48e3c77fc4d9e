"""The model of pydantic-ai that settings name: one that a provider hosts, or one at a URL."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final

from executor.language_model.settings import KEY, Settings
from planner.errors import InputError

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

MOST_COUNTED: Final = 10**9
"""More tokens than one call can take: whoever says so has not counted."""
NAMING: Final = "name it as provider:model, or give the url of its endpoint"
_LACKING: Final = re.compile(r"[Ss]et the `?([A-Z][A-Z0-9_]+)`? environment variable")


def model_of_provider(settings: Settings, http: Any) -> Model:
    """Return the model; `http` is what its provider's client sends by, where that takes one, or None.

    Raises `InputError` where pydantic-ai is not installed, knows no such model, or lacks its key.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        hint = "pip install 'forethought[llm]'"
        raise InputError(f"language models need pydantic-ai, which is not installed ({error})", hint=hint) from None
    try:
        if settings.url is not None:
            return _compatible(settings, http)
        found = infer_model(settings.model, provider_factory=lambda name: _provider(name, settings, http))
    except (UserError, ImportError, ValueError) as error:
        if type(error).__name__ != "UserError" or (lacking := _LACKING.search(str(error))) is None:
            raise InputError(f"the language model {settings.model!r} cannot be had: {error}", hint=NAMING) from None
        hint = f"set {lacking[1]}, or {KEY}; a model on this machine needs a url, and no key"
        raise InputError(f"the language model {settings.model!r} needs a key, and has none", hint=hint) from None
    client: Any = getattr(getattr(found, "provider", None), "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0  # each attempt is counted, so that none is made out of sight
    return found


def _provider(name: str, settings: Settings, http: Any) -> Provider[Any]:
    """Return a provider of pydantic-ai, with what the settings say where it takes that."""
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


def _compatible(settings: Settings, http: Any) -> Model:
    """Return a model that speaks OpenAI's protocol: at Ollama, vLLM, llama.cpp and others."""
    if http is None:
        raise InputError("language models at a url need openai, which is not installed", hint="pip install openai")
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Doubting(AsyncOpenAI):  # type: ignore[misc,unused-ignore] # where openai is not installed
        """Takes what no call can have taken for what nobody has counted."""

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
    """Return whether `number` may be a number of tokens."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= MOST_COUNTED
