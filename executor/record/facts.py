"""What is known about facts, and from where."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from planner.model import Atom
from planner.records import dataclass


class Provenance(Enum):
    """Where a fact comes from."""

    GIVEN = "the problem states it"
    OBSERVED = "an observer looked"
    REPORTED = "a handler's result said so"
    ASSUMED = "a declared effect that nobody looked at"
    STALE = "it ended when something that it rests on changed"
    UNKNOWN = "nobody can say"


ANSWER: Final = "answer"
"""The source of what a person says about a step in doubt."""
TRUSTED: Final = "trusted"
"""The source of effects that nobody has to look at."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is known about a fact: whether it `holds` (None: unknown), from where, and the version of its item.

    It is `conclusive` where an observer said so that is declared conclusive.
    """

    fact: Atom
    holds: bool | None
    provenance: Provenance
    source: str = ""
    version: Any = None
    conclusive: bool = False
