"""What clients ask: texts and options, read from JSON, and named by the hash of their content.

A client names no file, no module and no engine, so that an answer depends on its question alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final

from planner.errors import InputError, did_you_mean, kind_of
from planner.language.loading.load import is_text
from planner.lightweight import dataclass, field

LONGEST_WORD: Final = 200
"""Most characters of the name of a search or of a question about a plan."""
MOST_CANDIDATES: Final = 1_000
BYTE_ORDER_MARK: Final = "\ufeff"
MOST: Final = 1_000_000_000
"""The highest limit in seconds or GiB, and the highest factor of costs."""
PRIORITIES: Final = 9
"""The highest priority; the lowest is 0."""
DEFAULT_PRIORITY: Final = 5


@cache
def _read_version() -> str:
    return version("forethought")


@dataclass(frozen=True, slots=True)
class Question:
    """A question of `kind` "solve", "validate", "explain" or "candidates".

    `domain` and `problem` are texts in PDDL, HDDL, YAML or JSON; without a `problem`, the first text holds both.
    `time_limit` is in seconds, `memory_limit` in GiB, None for the most that the server allows.
    """

    kind: str
    domain: str
    problem: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    time_limit: float | None = None
    memory_limit: float | None = None

    @property
    def content_hash(self) -> str:
        """The SHA-256 of the question without its time limit, and of the version that answers it."""
        content: list[Any] = [_read_version(), self.kind, self.domain, self.problem, dict(self.options)]
        content += [] if self.memory_limit is None else [self.memory_limit]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the question as JSON-ready data, from which `Question(**data)` makes it again."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Request:
    """A question, and how it is to be answered.

    With `fresh`, a kept answer is no answer. Without `wait`, the client asks for the answer later.
    """

    question: Question
    priority: int = DEFAULT_PRIORITY
    wait: bool = True
    fresh: bool = False


Reader = Callable[[str, Any], Any]
"""Takes the name and the value of a field, and returns the value; raises `InputError`."""


def _refuse(name: str, value: Any, expected: str) -> InputError:
    shown = repr(value) if isinstance(value, bool | int | float) else kind_of(value)
    return InputError(f"`{name}` must be {expected}, got {shown:.60}")


def _definition(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _refuse(name, value, "a text")
    text = value.removeprefix(BYTE_ORDER_MARK)
    if not is_text(text):
        hint = "it begins with '(define', 'domain: NAME' or 'problem: NAME'; no file is read for a client"
        raise InputError(f"`{name}` is no domain or problem in PDDL, HDDL, YAML or JSON", hint=hint)
    return text


def _plan(name: str, value: Any) -> Any:
    if not isinstance(value, str | list | dict):
        raise _refuse(name, value, "a text, a list of steps or an object with steps")
    return value.removeprefix(BYTE_ORDER_MARK) if isinstance(value, str) else value


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _refuse(name, value, "a text")
    if len(value) > LONGEST_WORD:
        raise InputError(f"`{name}` must have {LONGEST_WORD} characters at most, got {len(value):,}")
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _refuse(name, value, "true or false")
    return value


def _one_of(*words: str) -> Reader:
    def read(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise InputError(f"`{name}` must be {', '.join(words[:-1])} or {words[-1]}, got {value!r:.60}")
        return value

    return read


def _whole(least: int, most: int) -> Reader:
    def read(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _refuse(name, value, f"an integer from {least} to {most}")
        return value

    return read


def _number(least: float, what: str) -> Reader:
    def read(name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= MOST:
            raise _refuse(name, value, f"{what} from {least:g} to {MOST:,}")
        return value

    return read


SECONDS: Final = _number(0.001, "a number of seconds")
GIBIBYTES: Final = _number(0.01, "a number of GiB")
TASK: Final[Mapping[str, Reader]] = {
    "domain": _definition,
    "problem": _definition,
    "time_limit": SECONDS,
    "memory_limit": GIBIBYTES,
}
"""The fields of a question of any kind."""
HANDLING: Final[Mapping[str, Reader]] = {"priority": _whole(0, PRIORITIES), "wait": _flag, "fresh": _flag}
"""The fields that say how a question is answered."""
OPTIONS: Final[Mapping[str, Mapping[str, Reader]]] = {
    "solve": {
        "mode": _one_of("anytime", "first", "optimal"),
        "search": _word,
        "heuristic": _word,
        "seed": _whole(0, 2**31),
    },
    "validate": {"plan": _plan},
    "explain": {"plan": _plan, "question": _word},
    "candidates": {
        "number": _whole(1, MOST_CANDIDATES),
        "within": _number(1, "a factor"),
        "orders": _flag,
        "wasteful": _flag,
    },
}
"""The further fields of each kind of question."""
NEEDED: Final = {"validate": ("domain", "plan")}
"""The fields that must be there; of other kinds, the domain."""


def read_request(kind: str, data: Any) -> Request:
    """Read the body of a request; fields that are null count as absent. Raises `InputError`."""
    if not isinstance(data, dict):
        raise InputError(f"the body must be a JSON object, got {kind_of(data)}", hint='such as {"domain": "(define …"}')
    readers = {**TASK, **OPTIONS[kind], **HANDLING}
    for name in data:
        if name not in readers:
            hint = did_you_mean(name, readers) or f"there are {', '.join(readers)}"
            raise InputError(f"'{kind}' has no field {name!r:.80}", hint=hint)
    read = {name: readers[name](name, value) for name, value in data.items() if value is not None}
    for name in NEEDED.get(kind, ("domain",)):
        if name not in read:
            raise InputError(f"the field `{name}` is missing")
    task, handling = ({name: read[name] for name in known if name in read} for known in (TASK, HANDLING))
    options = {name: value for name, value in read.items() if name in OPTIONS[kind]}
    return Request(Question(kind, **task, options=options), **handling)
