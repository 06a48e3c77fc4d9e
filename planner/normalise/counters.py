"""How often something has begun, up to a number, as facts: one for each time, or binary digits where these are many."""

from __future__ import annotations

from planner.annotations import Final
from planner.model import FALSE, TRUE, Atom, Formula, Literal, Not, When
from planner.normalise.regression import both
from planner.records import dataclass

FEW: Final = 8
"""So many times have a fact each."""


def effect(condition: Formula, *literals: Literal) -> list[When]:
    """Return the effect, if it ever happens."""
    return [] if condition == FALSE else [When(condition, literals)]


UNCOUNTED: Final = 100_000
"""So many times are not counted: no search finds a plan of so many steps."""


@dataclass(frozen=True, slots=True)
class Counter:
    """A number from 0 to `times`, in facts whose predicates begin with `name`; `full` holds from `times` on."""

    name: str
    times: int

    @property
    def full(self) -> Atom:
        """The fact that the number is reached."""
        return Atom(f"{self.name}-{self.times}" if self.times <= FEW else f"{self.name}-full")

    @property
    def once(self) -> tuple[Atom, ...]:
        """The facts that hold where it is 1."""
        return () if not self.times else (Atom(f"{self.name}-1"),) if self.times <= FEW else (self._digits[0],)

    def effects(self, begins: Formula) -> list[When]:
        """Return what makes it one more where something `begins`."""
        if self.times > FEW:
            return self._carried(begins)
        levels = [Atom(f"{self.name}-{number}") for number in range(1, self.times + 1)]
        below: list[Formula] = [TRUE, *levels]
        return [
            each for level, known in zip(levels, below, strict=False) for each in effect(both([begins, known]), level)
        ]

    @property
    def _digits(self) -> list[Atom]:
        return [Atom(f"{self.name}-digit-{number}") for number in range(self.times.bit_length())]

    def _carried(self, begins: Formula) -> list[When]:
        """Return the effects that add one to the binary digits, and that of the last time."""
        digits, last = self._digits, self.times - 1
        found = []
        for place, digit in enumerate(digits):
            lower = digits[:place]
            found += effect(both([begins, *lower, Not(digit)]), digit, *map(Not, lower))
        before = [digit if last >> place & 1 else Not(digit) for place, digit in enumerate(digits)]
        return [*found, *effect(both([begins, *before]), self.full)]
