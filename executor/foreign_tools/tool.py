"""Define a tool from elsewhere, the source that has it, what it answers, and the limits of both.

A source is not trusted: what it sends is bounded, and all that is wrong with it is an error with a reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from executor.foreign_tools.json_schemas import strip_annotations
from executor.tools.step_policy import is_amount
from planner.errors import EngineError, InputError, printable
from planner.lightweight import dataclass, field

NO_SCHEMA: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}
QUOTED: Final = 300
"""Most characters of a text of a server that a message quotes."""


class ToolServerError(EngineError):
    """A source of tools cannot be reached, has gone, or broke its protocol."""


class ToolFailed(Exception):
    """A tool reports that it failed; nobody knows what it has done before that."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What a source says of a tool; None: nothing."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None

    @classmethod
    def of(cls, given: Any) -> Hints:
        """Read the hints in a mapping, by the names of MCP or those of this class; others say nothing."""
        if not isinstance(given, Mapping):
            return NO_HINTS
        names = {"read_only": "readOnlyHint", "destructive": "destructiveHint", "idempotent": "idempotentHint"}
        found = {name: given.get(key, given.get(f"{name}_hint", given.get(name))) for name, key in names.items()}
        return cls(**{name: value if isinstance(value, bool) else None for name, value in found.items()})

    def to_dict(self) -> dict[str, bool]:
        """Return the hints that are given."""
        found = {name: getattr(self, name) for name in ("read_only", "destructive", "idempotent")}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that follow for an author who believes the hints; what nobody denies to be destructive counts so."""
        if self.read_only:
            return ("idempotent", "read_only")
        tags = ["idempotent"] if self.idempotent else []
        return tuple(tags if self.destructive is False else [*tags, "irreversible"])


NO_HINTS: Final = Hints()


@dataclass(frozen=True, slots=True)
class ForeignTool:
    """A tool as its source describes it.

    `types` are Python types of parameters, where the source knows better than the schema. `contract` is what the source
    declares of requirements and effects. A tool that is `barred` has the reason why it cannot be called from here.
    """

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: dict(NO_SCHEMA))
    output_schema: Mapping[str, Any] | None = None
    hints: Hints = NO_HINTS
    contract: Mapping[str, Any] = field(default_factory=dict)
    types: Mapping[str, Any] = field(default_factory=dict)
    barred: str = ""
    needs_approval: bool = False

    @property
    def properties(self) -> Mapping[str, Any]:
        """The schemas of its parameters, by name."""
        found = self.input_schema.get("properties")
        return found if isinstance(found, Mapping) else {}

    @property
    def required(self) -> frozenset[str]:
        """The parameters that a call must have."""
        found = self.input_schema.get("required")
        return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()

    @property
    def fingerprint(self) -> str:
        """A digest of what a contract rests on: the schemas without words for people, and the hints."""
        schemas = [strip_annotations(each) for each in (self.input_schema, self.output_schema)]
        text = json.dumps([*schemas, self.hints.to_dict()], sort_keys=True, default=str)
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool: JSON `data`, and a `text` for people."""

    data: Any = None
    text: str = ""


class ToolSource(Protocol):
    """Where tools come from."""

    name: str
    """Its name, for messages and contracts."""
    is_changed: bool
    """Whether it said that its tools changed since they were listed last."""

    async def open(self) -> None:
        """Connect; raises `ToolServerError`."""

    async def close(self) -> None:
        """Disconnect, and leave no process behind."""

    async def list_tools(self) -> Sequence[ForeignTool]:
        """Return all tools as they are now; raises `ToolServerError`."""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Call a tool with JSON arguments.

        Raises `ToolFailed` if it reports failure, `ToolServerError` if the call did not leave this process, and
        `InDoubt` if nobody knows what became of it.
        """

    def function_of(self, name: str) -> Callable[..., Any] | None:
        """Return the function that a tool is, to be bound as it stands; None for other tools."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Limits of what a source may take and send.

    `connect_seconds` are for connecting and listing, `call_seconds` for a call. `answer_characters` are those of an
    answer as JSON, `schema_characters` those of the description and schemas of a tool, and `tools` is their number.
    """

    connect_seconds: float = 30.0
    call_seconds: float = 60.0
    answer_characters: int = 200_000
    schema_characters: int = 100_000
    tools: int = 2_000

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not (is_amount(value) and value > 0):
                raise InputError(f"{name} of ToolLimits must be a number above 0, got {value!r}")


def quote_foreign(text: object) -> str:
    """Return a text of a source for a message: in one line, shortened, without characters that steer a terminal."""
    line = " ".join(printable(str(text)[: 4 * QUOTED]).split())
    return line if len(line) <= QUOTED else f"{line[: QUOTED - 1]}…"
