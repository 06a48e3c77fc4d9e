"""What lint says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """How much a finding matters."""

    ERROR = "cannot be meant"
    WARNING = "probably a mistake"
    NOTE = "worth knowing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark: `rule` is its stable name, `place` the declaration that it is about, `hint` how to mend it."""

    level: Level
    rule: str
    place: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.level.name.lower()}: {self.place}: {self.message}{hint} [{self.rule}]"
