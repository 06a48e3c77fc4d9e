"""One action with what was seen of it in place of what it declares."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import product
from math import prod
from typing import Any, Final

from executor.learning.chances import Chance, shares
from executor.learning.options import Learning
from executor.learning.tallies import Mean, Tally, together
from executor.looking.outcomes import label
from planner.model import OPEN, Action, Case, CostFunction, CostTerm, Number
from planner.model.numbers import exact_number
from planner.records import replace

TOKENS: Final = "tokens"
"""The resource whose use handlers report."""
ROUNDED: Final = Decimal("0.000001")
"""What learned costs, seconds and tokens are multiples of."""
FINE: Final = Decimal("0.0001")
"""What learned probabilities are multiples of."""
MOST: Final = 10_000
"""So many combinations of objects at most get a risk of their own before anything was seen of them."""
Objects = tuple[str, ...]


@dataclass(slots=True)
class Learned:
    """The action `declared`, and what was `seen` of it, by its objects; those of the parameters `apart` are told apart.

    The `seed` determines what is drawn.
    """

    declared: Action
    apart: tuple[str, ...]
    seen: Iterable[tuple[Mapping[str, str], Tally]]
    learning: Learning
    seed: str
    _groups: dict[Objects, Tally] = field(init=False)
    _whole: Tally = field(init=False)

    def __post_init__(self) -> None:
        found: dict[Objects, list[Tally]] = {}
        for objects, tally in self.seen:
            found.setdefault(tuple([objects.get(name, OPEN) for name in self.apart]), []).append(tally)
        self._groups = {key: together(tallies) for key, tallies in found.items()}
        self._whole = together(self._groups.values())

    def action(self, by_type: Mapping[str, Sequence[str]]) -> Action:
        """Return the action as it was seen; `by_type` are the objects of each type."""
        if not (self._whole.count or (self.declared.risk and self.learning.explore)):
            return self.declared
        known = (Tally(), self._whole) if self.apart else (self._whole, Tally())  # the others are those never seen
        risk, odds = self._odds(*known)
        outcomes = [replace(each, probability=share) for each, share in zip(self.declared.outcomes, odds, strict=True)]
        cases = tuple(self._cases(by_type)) if self.apart else self.declared.cases
        return replace(self.declared, risk=risk, outcomes=tuple(outcomes), cases=cases, **self._taken())

    def _odds(self, tally: Tally, others: Tally, about: str = "") -> tuple[Decimal, tuple[Decimal, ...]]:
        """Return the risk and the probabilities of outcomes after `tally`.

        Before it counts what is declared, and what `others` have shown of the action.
        """
        learning, dice = self.learning, random.Random(f"{self.seed} {about}")  # noqa: S311 - a decision, no secret
        pooled = min(learning.pooling / others.count, 1) if others.count else 0.0
        failed = tally.failed + pooled * others.failed
        chance = Chance.after(failed, tally.count + pooled * others.count, float(self.declared.risk), learning.weight)
        thought = chance.thought(learning.explore, learning.confidence, dice)
        risk = min(_fine(thought), 1 - FINE) if chance.count else self.declared.risk
        labels = [label(each) for each in self.declared.outcomes]
        declared = [float(each.probability) for each in self.declared.outcomes]
        counts = [
            learning.weight * share + tally.outcomes[name] + pooled * others.outcomes[name]
            for share, name in zip(declared, labels, strict=True)
        ]
        return risk, _whole(shares(counts if sum(counts) else declared, learning.explore, dice)) if labels else ()

    def _cases(self, by_type: Mapping[str, Sequence[str]]) -> Iterator[Case]:
        """Yield what is known of the objects that are told apart; where it is drawn, of those never seen, too."""
        groups = dict(self._groups)
        if self.learning.explore == "sample":
            groups = {**dict.fromkeys(self._combinations(by_type), Tally()), **groups}
        for objects, tally in groups.items():
            if OPEN not in objects:
                others = together(each for key, each in self._groups.items() if key != objects)
                named = dict(zip(self.apart, objects, strict=True))
                pattern = tuple([named.get(name, OPEN) for name in self._names])
                yield Case(pattern, *self._odds(tally, others, " ".join(objects)))

    @property
    def _names(self) -> list[str]:
        return [each.name.removeprefix("?") for each in self.declared.parameters]

    def _combinations(self, by_type: Mapping[str, Sequence[str]]) -> Iterable[Objects]:
        """Return the combinations of objects that are told apart; none where they are too many."""
        types = {each.name.removeprefix("?"): each.types for each in self.declared.parameters}
        values = [
            list(dict.fromkeys(item for kind in types[name] for item in by_type.get(kind, ()))) for name in self.apart
        ]
        return product(*values) if prod(map(len, values)) <= MOST else ()

    def _taken(self) -> dict[str, Any]:
        """Return what a step takes, by the names of the action's fields."""
        whole, found = self._whole, dict[str, Any]()
        if whole.cost.value and all(isinstance(term, int | Decimal) for term in self.declared.cost):
            found["cost"] = self._term({key: each.cost for key, each in self._groups.items()}, whole.cost)
        if whole.tokens.value:
            used = self._term({key: each.tokens for key, each in self._groups.items()}, whole.tokens)
            found["uses"] = {**self.declared.uses, TOKENS: used}
        if whole.seconds.value:
            found["duration"] = Decimal(rounded(whole.seconds.value))
        return found

    def _term(self, means: Mapping[Objects, Mean], whole: Mean) -> tuple[CostTerm, ...]:
        """Return the mean: of each of the objects that are told apart, where there are such."""
        if not self.apart:
            return (rounded(whole.value),)
        pooling = self.learning.pooling
        table = {
            objects: rounded((pooling * whole.value + each.count * each.value) / (pooling + each.count))
            for objects, each in means.items()
            if each.count
        }
        places = tuple([self._names.index(name) for name in self.apart])
        return (CostFunction(Table(table, places, rounded(whole.value))),)


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers by the arguments at certain `places`; all others have the one `otherwise`."""

    numbers: Mapping[Objects, Number]
    places: tuple[int, ...]
    otherwise: Number

    def __call__(self, *arguments: str) -> Number:
        """Return the number for these arguments."""
        return self.numbers.get(tuple([arguments[place] for place in self.places]), self.otherwise)


def rounded(number: float) -> Number:
    """Return `number` exactly, as a multiple of `ROUNDED`."""
    return exact_number(number, ROUNDED)


def _fine(probability: float) -> Decimal:
    return Decimal(repr(probability)).quantize(FINE, ROUND_HALF_EVEN)


def _whole(probabilities: Sequence[float]) -> tuple[Decimal, ...]:
    """Return probabilities that are above 0 and sum to 1 exactly: the rest is added to the largest."""
    found = [max(_fine(each), FINE) for each in probabilities]
    largest = found.index(max(found))
    found[largest] += 1 - sum(found, Decimal(0))
    return tuple(found)
