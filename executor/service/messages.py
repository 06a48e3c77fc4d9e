"""Messages between the server and a process of its pool: a length in four bytes, and JSON in UTF-8.

Answers are JSON within the message, so that the server hands them on without reading what may be megabytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

from planner.lightweight import dataclass

HEADER: Final = struct.Struct(">I")
LARGEST: Final = 256 * 1024**2
"""Most bytes of a message."""
FACTS: Final = ("status", "stopped_by", "cost", "lower_bound", "valid")
"""The fields of answers that the server goes by."""


def write_json(data: Any) -> str:
    """Return `data` as JSON without blanks."""
    return json.dumps(data, check_circular=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in JSON, and those of its fields that the server goes by: `FACTS`, and `steps`, their number."""

    text: str
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Answer:
        """Return the answer with these fields."""
        facts = {name: data[name] for name in FACTS if name in data}
        return cls(write_json(data), facts | ({"steps": len(data["plan"]["steps"])} if data.get("plan") else {}))

    def read(self) -> dict[str, Any]:
        """Return all fields."""
        found: dict[str, Any] = json.loads(self.text)
        return found


def pack(message: dict[str, Any]) -> bytes:
    """Return `message` as bytes; one that is too large becomes an error."""
    text = write_json(message).encode()
    if len(text) > LARGEST:
        text = write_json({"error": {"kind": "memory", "message": f"the answer has {len(text):,} bytes"}}).encode()
    return HEADER.pack(len(text)) + text


def least_limit(*limits: float | None) -> float | None:
    """Return the least of the limits that there are; None where there is none."""
    return min((each for each in limits if each is not None), default=None)
