"""A language model for tests that gives scripted answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from executor.errors import Unreachable
from executor.language_model.protocol import Purpose, Reply, Request, Usage
from planner.errors import InputError, Location
from planner.language.documents.text_formats import parse_yaml
from planner.language.pddl.syntax import read_text

Said = Any
"""JSON as values or text, a pydantic model, an error to raise, or a function that makes one of these from the request.
"""
_TOKENS: Final = 4
"""Characters that count as a token."""


class ScriptedModel:
    """Gives the answers `said` one after the other; a mapping has a list of answers for each purpose.

    `requests` are the requests so far. Raises `Unreachable` where no answer is left.
    """

    def __init__(self, said: Iterable[Said] | Mapping[Purpose, Iterable[Said]]) -> None:
        self._said = {key: list(each) for key, each in said.items()} if isinstance(said, Mapping) else list(said)
        self.requests: list[Request] = []

    async def answer(self, request: Request) -> Reply:
        """Return the next answer."""
        self.requests.append(request)
        left = self._said.get(request.purpose, []) if isinstance(self._said, dict) else self._said
        if not left:
            raise Unreachable(f"nothing is left to say to request {len(self.requests)}, for {request.purpose.value}")
        return reply_of(request, left.pop(0))


def scripted(path: str | Path) -> ScriptedModel:
    """Load a scripted model from a YAML or JSON file: answers by purpose, or one after the other.

    The purposes are `goal`, `fill`, `steps` and `handler`. Raises `InputError` for any other content.
    """
    if not str(path):
        raise InputError("a script is a file of answers, and none is named", hint="such as script:answers.yaml")
    documents = parse_yaml(read_text(path, InputError), str(path))
    said = documents[0] if len(documents) == 1 else None
    if isinstance(said, list):
        return ScriptedModel(said)
    purposes = {each.name.lower(): each for each in Purpose}
    if isinstance(said, Mapping) and all(key in purposes and isinstance(each, list) for key, each in said.items()):
        return ScriptedModel({purposes[key]: each for key, each in said.items()})
    hint = "answers as a list, or below 'goal', 'fill', 'steps' and 'handler' a list each"
    raise InputError("this is no script of a language model's answers", Location(str(path)), hint)


def reply_of(request: Request, said: Said) -> Reply:
    """Convert `said` to a reply to `request`, with tokens counted by characters; raise it if it is an error."""
    if isinstance(said, Callable):  # type: ignore[arg-type]
        said = said(request)
    if isinstance(said, BaseException):
        raise said
    value = said.model_dump(mode="json") if hasattr(said, "model_dump") else said
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    asked = len(request.prompt) + len(request.instructions)
    return Reply(value, Usage(1, asked // _TOKENS, len(text) // _TOKENS))
