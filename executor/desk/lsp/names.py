"""The names in a text: where they stand, what they name, and what is done with them there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property


class Kind(Enum):
    """What a name stands for."""

    DOMAIN = "domain"
    PROBLEM = "problem"
    TYPE = "type"
    OBJECT = "object"
    PREDICATE = "predicate"
    FUNCTION = "function"
    ACTION = "action"
    TASK = "task"
    METHOD = "method"
    VARIABLE = "parameter"


class Role(Enum):
    """What is done with a name where it stands."""

    DECLARES = "declares"
    REQUIRES = "requires"
    PROVIDES = "provides"
    MODIFIES = "modifies"
    INITIAL = "initially"
    GOAL = "goal"
    USES = "uses"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name at the offsets from `start` to `end`; `owner` is the action or method around it, if there is one."""

    kind: Kind
    name: str
    start: int
    end: int
    role: Role = Role.USES
    owner: str = ""

    @property
    def is_declaration(self) -> bool:
        """Whether the name is declared here."""
        return self.role is Role.DECLARES

    def names_same(self, other: Occurrence) -> bool:
        """Return whether both stand for one thing; a parameter is that of its action only."""
        if (self.kind, self.name) != (other.kind, other.name):
            return False
        return self.kind is not Kind.VARIABLE or self.owner == other.owner


@dataclass(slots=True)
class Entry:
    """A part of a text for its outline: `start` to `end`, with the name at `at`."""

    kind: Kind
    name: str
    start: int
    end: int
    at: int
    detail: str = ""
    parts: list[Entry] = field(default_factory=list)


class Index:
    """The occurrences of names in one text, and its outline.

    `parents` has the types above each type, `signatures` the types of the parameters of what is declared with them, and
    `types` those of objects, and of parameters by owner and name.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Occurrence] = []
        self.outline: list[Entry] = []
        self.parents: dict[str, tuple[str, ...]] = {}
        self.signatures: dict[tuple[Kind, str], list[tuple[str, str]]] = {}
        self.types: dict[tuple[str, str], str] = {}

    def add(self, kind: Kind, name: str, start: int, role: Role = Role.USES, owner: str = "") -> None:
        """Add an occurrence of `name` at the offset `start`."""
        self.found.append(Occurrence(kind, name, start, start + len(name), role, owner))

    def at(self, offset: int) -> Occurrence | None:
        """Return the occurrence at `offset`, the shortest if there are several."""
        here = [each for each in self.found if each.start <= offset <= each.end]
        return min(here, key=lambda each: each.end - each.start, default=None)

    def same_as(self, other: Occurrence) -> Iterator[Occurrence]:
        """Yield the occurrences that stand for what `other` stands for."""
        return (each for each in self.found if each.names_same(other))

    def names(self, kind: Kind, owner: str = "") -> list[str]:
        """Return the names of a kind, each once, in their order; of parameters those of `owner`."""
        found = [each.name for each in self.found if each.kind is kind]
        if kind is Kind.VARIABLE:
            found = [each.name for each in self.found if each.kind is kind and each.owner == owner]
        return list(dict.fromkeys(found))

    def declared(self, kind: Kind) -> set[str]:
        """Return the names of a kind that the text declares."""
        return {each.name for each in self.found if each.kind is kind and each.is_declaration}

    @property
    def domain_name(self) -> str:
        """The name of the domain that the text declares or belongs to; "" where it names none."""
        return next((each.name for each in self.found if each.kind is Kind.DOMAIN), "")

    @property
    def declares_domain(self) -> bool:
        """Whether the text declares a domain."""
        return any(each.kind is Kind.DOMAIN and each.is_declaration for each in self.found)

    @cached_property
    def lines(self) -> list[int]:
        """The offsets at which lines start."""
        starts = [0]
        for offset, letter in enumerate(self.text):
            if letter == "\n":
                starts.append(offset + 1)
        return starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of `offset`, both from 0, the column in UTF-16 units, as editors count."""
        line = bisect_right(self.lines, offset) - 1
        return line, utf16_length(self.text[self.lines[line] : offset])

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a position, which may be behind the end of its line."""
        if line >= len(self.lines):
            return len(self.text)
        start = self.lines[line]
        end = self.lines[line + 1] - 1 if line + 1 < len(self.lines) else len(self.text)
        units, offset = 0, start
        while offset < end and units < column:
            units += utf16_length(self.text[offset])
            offset += 1
        return offset

    def owner_at(self, offset: int) -> str:
        """Return the name of the action or method around `offset`."""
        around = [each for each in self._entries(self.outline) if each.start <= offset <= each.end]
        named = [each.name for each in around if each.kind in (Kind.ACTION, Kind.METHOD, Kind.TASK)]
        return named[-1] if named else ""

    def _entries(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        for each in entries:
            yield each
            yield from self._entries(each.parts)


def utf16_length(text: str) -> int:
    """Return how many UTF-16 units `text` has."""
    return len(text) + sum(letter > "\uffff" for letter in text)
