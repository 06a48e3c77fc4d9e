"""The bank: what was done in truth, by whom and when, whatever processes and journals know of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from executor.testing.virtual_time import VirtualClock, now

if TYPE_CHECKING:
    from pathlib import Path

CLOCK = VirtualClock(1_790_000_000.0)
"""The clock of journals and of hosts."""
EFFECTS = {
    "prepare": "prepared",
    "pay": "paid",
    "transfer": "paid",
    "wire": "wired",
    "seal": "sealed",
    "seal_wired": "sealed",
    "tip": "tipped",
    "stamp": "stamped",
}
"""What each act brings about."""
PAYMENTS = ("pay", "transfer", "wire")
"""The acts that take the price."""
START, PRICE, TIP = 100, 60, 30
"""The money at first, and what a payment and a tip cost."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that happened `at` a time: an act, a call of a handler, a look, or what somebody asked or answered."""

    kind: str
    what: str
    at: float
    detail: Any = None


@dataclass(slots=True)
class Bank:
    """All that happened, in its order; with a `path`, processes share it."""

    path: Path | None = None
    own: list[Deed] = field(default_factory=list)
    pace: float = 1.0
    """Seconds that a second of the story takes: in virtual time all of it."""
    is_closed: bool = False
    """Whether nothing more happens."""

    @property
    def log(self) -> list[Deed]:
        """All deeds of all processes."""
        if self.path is None:
            return self.own
        if not self.path.exists():
            return []
        return [Deed(**json.loads(line)) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def note(self, kind: str, what: str = "", detail: Any = None) -> None:
        """Add a deed."""
        if self.is_closed:
            return
        self._add(Deed(kind, what, now(), detail))

    def _add(self, deed: Deed) -> None:
        if self.path is None:
            self.own.append(deed)
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(deed), default=str) + "\n")

    def act(self, what: str, by: str = "run") -> None:
        """Do `what`, by a run or by hand."""
        self.note("act", what, by)

    def pay_long_ago(self) -> None:
        """Pay by hand, an hour before the story begins: no observer is so far behind."""
        self._add(Deed("act", "pay", (0.0 if self.path is None else now()) - 3600.0, "hand"))

    def acts(self, *names: str) -> list[Deed]:
        """Return the acts of these names that runs did."""
        return [each for each in self.log if each.kind == "act" and each.detail == "run" and each.what in names]

    def holds(self, fact: str, at: float | None = None, *, is_new: bool = False) -> bool:
        """Return whether `fact` holds now, or held `at` a time; one that `is_new` since the latest request."""
        asked = max((n for n, each in enumerate(self.log) if is_new and each.kind == "ask"), default=0)
        acts = [each for each in self.log[asked:] if each.kind == "act" and (at is None or each.at <= at)]
        return any(EFFECTS[each.what] == fact for each in acts)

    def money(self) -> int:
        """Return what is left."""
        costs = {**dict.fromkeys(PAYMENTS, PRICE), "tip": TIP}
        return START - sum(costs.get(each.what, 0) for each in self.log if each.kind == "act")
