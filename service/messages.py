"""Messages between the server and a process of its pool: a length in four bytes, and JSON in UTF-8."""

from __future__ import annotations

import json
import struct
from typing import Any, Final

HEADER: Final = struct.Struct(">I")
LARGEST: Final = 256 * 1024**2
"""Most bytes of a message."""


def pack(message: dict[str, Any]) -> bytes:
    """Return `message` as bytes; one that is too large becomes an error."""
    text = json.dumps(message, check_circular=False).encode()
    if len(text) > LARGEST:
        text = json.dumps({"error": {"kind": "memory", "message": f"the answer has {len(text):,} bytes"}}).encode()
    return HEADER.pack(len(text)) + text


def least_limit(*limits: float | None) -> float | None:
    """Return the least of the limits that there are; None where there is none."""
    return min((each for each in limits if each is not None), default=None)
