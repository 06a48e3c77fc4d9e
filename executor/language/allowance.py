"""What a run may spend on language models, and what it has spent."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from typing import Final

from executor.errors import Unpaid
from executor.language.protocol import Usage
from planner.errors import InputError
from planner.records import dataclass, field

LEAST: Final = 16
"""Tokens below which an answer says nothing."""
MILLION: Final = 1_000_000
Prices = tuple[float, float]
"""What a million tokens cost, read and written."""


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

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return any(getattr(self, name) is not None for name in self.__slots__)


@dataclass(slots=True, eq=False)
class Meter:
    """Adds up what is spent; what can no longer be paid is refused before it is asked.

    What is spent by one of the `share`s of a meter is spent by the meter.
    """

    allowance: Allowance = Allowance()
    spent: Usage = Usage()
    whole: Meter | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def share(self) -> Meter:
        """Return a meter that has spent nothing, for a part of what this one counts; others may spend meanwhile."""
        return Meter(self.allowance, Usage(), self.whole or self)

    @contextlib.asynccontextmanager
    async def paying(self) -> AsyncIterator[None]:
        """Wait until nobody else spends what is limited: two would each be given all that is left."""
        async with (self.whole or self).turn if self.allowance.is_limited else contextlib.nullcontext():
            yield

    def check(self) -> None:
        """Raise `Unpaid` where nothing is left of one of the limits."""
        for name in ("calls", "tokens", "money"):
            limit, spent = getattr(self.allowance, name), getattr((self.whole or self).spent, name)
            if limit is not None and spent >= limit:
                raise Unpaid(f"the {name} that language models may take are spent: {spent:g} of {limit:g}")

    def room(self, asked: int, prices: Prices | None = None) -> int | None:
        """Return how many tokens the answer to a question of `asked` tokens may have; None is any number.

        Raises `Unpaid` where nothing is left of one of the limits, or too little for the question and an answer.
        """
        self.check()
        rooms, spent = list[tuple[float, str]](), (self.whole or self).spent
        if self.allowance.tokens is not None:
            left = self.allowance.tokens - spent.tokens
            rooms.append((left - asked, f"{left:,} tokens are left of {self.allowance.tokens:,}"))
        if self.allowance.money is not None and prices is not None:
            reading, writing = prices
            money = self.allowance.money - spent.money
            rest = money * MILLION - asked * reading
            room = rest / writing if writing else math.copysign(math.inf, rest)
            rooms.append((room, f"{money:g} are left of {self.allowance.money:g}"))
        least, why = min(rooms, default=(math.inf, ""))
        if least < LEAST:
            raise Unpaid(
                f"a question to the language model, of about {asked:,} tokens, and its answer cost more: {why}"
            )
        return None if math.isinf(least) else int(least)

    def add(self, usage: Usage) -> None:
        """Count `usage`; what is no number, or below 0, counts as nothing."""
        numbers = {name: each for name, each in usage.to_dict().items() if 0 <= each < math.inf}
        counted = Usage(**numbers)  # type: ignore[arg-type] # as they were
        self.spent += counted
        if self.whole is not None:
            self.whole.add(counted)
