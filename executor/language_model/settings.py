"""Settings of the language model: from an argument, the environment, or a settings file, in this order."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

from executor.language_model.protocol import LanguageModel
from planner.errors import InputError, did_you_mean, kind_of
from planner.lightweight import dataclass

Output = Literal["native", "tool", "prompted"]
"""Ways to ask for JSON: the endpoint's JSON mode, the arguments of a tool, or instructions in the prompt."""
_VARIABLES: Final = {
    "model": "FORETHOUGHT_MODEL",
    "url": "FORETHOUGHT_MODEL_URL",
    "key": "FORETHOUGHT_MODEL_KEY",
    "timeout": "FORETHOUGHT_MODEL_TIMEOUT",
    "output": "FORETHOUGHT_MODEL_OUTPUT",
    "small": "FORETHOUGHT_MODEL_SMALL",
}
_TRUTH: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
KEY: Final = _VARIABLES["key"]
FILE: Final = "FORETHOUGHT_SETTINGS"
"""The variable that names the settings file."""
SCRIPT: Final = "script:"
"""Prefix of a file of answers in place of a model's name: see `executor.testing.scripted`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A language model: `provider:model` as pydantic-ai names it or, with a `url`, the name that the endpoint knows.

    `timeout` is in seconds, for one call; `retries` limits repetitions of calls that failed for a passing reason. An
    answer has at most `most_tokens` tokens and `most_bytes` bytes. `prices` are those of a million tokens, read and
    written. A `small` model is offered choices where possible.
    """

    model: str
    url: str | None = None
    key: str | None = None
    timeout: float = 60.0
    retries: int = 2
    output: Output = "native"
    most_tokens: int = 2000
    most_bytes: int = 1_000_000
    temperature: float | None = None
    prices: tuple[float, float] | None = None
    small: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.model, str) and self.model):
            raise InputError(f"a language model is named by a text, not {self.model!r}", hint="such as 'openai:gpt-5'")
        if not isinstance(self.small, bool):
            raise InputError(f"whether a language model is small is true or false, not {self.small!r}")
        if self.output not in get_args(Output):
            raise InputError(f"output is one of {', '.join(get_args(Output))}, not {self.output!r}")
        for name in ("url", "key"):
            if not isinstance(getattr(self, name), str | None):
                raise InputError(f"{name} is a text; put it in quotes")
        self._check_key()
        self._check_url()
        for name in ("retries", "most_tokens", "most_bytes"):
            if not isinstance(getattr(self, name), int):
                raise InputError(f"{name} is a whole number, not {getattr(self, name)!r}")
        for name, value in self._numbers():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise InputError(f"{name} is a number, 0 or more, not {value!r}")

    def _check_key(self) -> None:
        """Raise `InputError` for a key that no header can carry, without showing the key."""
        for number, each in enumerate(self.key or "", 1):
            if not "!" <= each <= "~":
                hint = f"copy it again; it is in {KEY}, or in the settings file"
                raise InputError(
                    f"character {number} of the language model's key can be in no key: {each!r}", hint=hint
                )

    def _check_url(self) -> None:
        if self.url is None:
            return
        try:
            parts = urlsplit(self.url)
            is_url = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
            is_url = is_url and self.url.isprintable() and " " not in self.url
        except ValueError:
            is_url = False
        if not is_url:
            hint = "such as 'http://localhost:11434/v1'"
            raise InputError(f"the endpoint of a language model is a URL of http or https, not {self.url!r}", hint=hint)

    def _numbers(self) -> list[tuple[str, object]]:
        found = [("timeout", self.timeout), ("retries", self.retries)]
        found += [("most_tokens", self.most_tokens), ("most_bytes", self.most_bytes)]
        found += [] if self.temperature is None else [("temperature", self.temperature)]
        return [*found, *(("a price", each) for each in self.prices or ())]


def settings_of(
    given: str | Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> Settings | None:
    """Merge the settings: those `given` (a model's name, or fields), then the environment, then the settings file.

    Return None where no model is named. Raises `InputError` for invalid settings.
    """
    environ = os.environ if environ is None else environ
    found = _read_file(environ)
    found |= {name: environ[variable] for name, variable in _VARIABLES.items() if environ.get(variable)}
    found |= {"model": given} if isinstance(given, str) else dict(given or {})
    if not found.get("model"):
        if found.get("url"):
            raise InputError("there is an endpoint, and no model", hint=f"name it: {_VARIABLES['model']}")
        return None
    for name in found:
        if name not in Settings.__match_args__:
            near = did_you_mean(name, Settings.__match_args__) or f"there are {', '.join(Settings.__match_args__)}"
            raise InputError(f"a language model has no setting {name!r}", hint=near)
    try:
        found |= {name: float(found[name]) for name in ("timeout", "temperature") if found.get(name) is not None}
        found["small"] = _TRUTH.get(str(found.get("small", False)).lower(), found.get("small"))
        prices = found.get("prices")
        if prices is not None:
            reading, writing = [] if isinstance(prices, str) else prices
            found["prices"] = (float(reading), float(writing))
    except (TypeError, ValueError):
        raise InputError("timeout is a number of seconds, temperature a number, and prices are two numbers") from None
    return Settings(**found)


def _read_file(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the model's settings from the settings file; {} where there is none."""
    named = environ.get(FILE)
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME", ""), ".config")  # noqa: PTH118 - may be ""
    path = Path(named) if named else Path(home) / "forethought" / "settings.yaml"
    if not named and not path.is_file():
        return {}
    from planner.language.documents.text_formats import parse_yaml
    from planner.language.pddl.syntax import read_text

    documents = parse_yaml(read_text(path), str(path))
    found = documents[0].get("language_model") if documents and isinstance(documents[0], Mapping) else None
    if not isinstance(found, Mapping):
        hint = "such as 'language_model: {model: llama3, url: http://localhost:11434/v1}'"
        raise InputError(f"{path}: no mapping 'language_model'", hint=hint)
    return dict(found)


def model_of(given: Any = None) -> LanguageModel | None:
    """Return the language model that `given` is or names, or the configured one; None where there is none."""
    if given is not None and not isinstance(given, str | Mapping):
        if isinstance(given, LanguageModel):
            return given
        raise InputError(f"{kind_of(given)} is no language model", hint="it has 'async def answer(request)'")
    settings = settings_of(given)
    if settings is None:
        return None
    if settings.model.startswith(SCRIPT):
        from executor.testing.model_doubles import scripted

        return scripted(settings.model.removeprefix(SCRIPT))
    from executor.language_model.client import Client

    return Client(settings)
