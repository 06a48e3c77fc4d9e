"""What a run may spend on language models, and what it has spent."""

from __future__ import annotations

from executor.errors import Unpaid
from executor.language.protocol import Usage
from planner.errors import InputError
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most `calls`, `tokens` (read and written) and `money` of a run; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            limit = getattr(self, name)
            if limit is not None and not (isinstance(limit, int | float) and limit >= 0):
                raise InputError(f"a limit on {name} is a number, not {limit!r}", hint="None is no limit")


@dataclass(slots=True, eq=False)
class Meter:
    """Adds up what is spent; what can no longer be paid is refused before it is asked."""

    allowance: Allowance = Allowance()
    spent: Usage = Usage()

    def check(self) -> None:
        """Raise `Unpaid` where nothing is left of one of the limits."""
        for name in ("calls", "tokens", "money"):
            limit, spent = getattr(self.allowance, name), getattr(self.spent, name)
            if limit is not None and spent >= limit:
                raise Unpaid(f"the {name} that language models may take are spent: {spent:g} of {limit:g}")

    def add(self, usage: Usage) -> None:
        """Count `usage`."""
        self.spent += usage
