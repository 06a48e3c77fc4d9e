"""Learned actions: Beta and Dirichlet estimates of risks and outcomes, and mean costs, from a tally of attempts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import product
from math import prod
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from executor.learning.attempts import Mean, Tally, merge_tallies
from executor.observe.step_verdict import label_outcome
from executor.tools.step_policy import is_amount
from planner.errors import InputError, did_you_mean
from planner.lightweight import replace
from planner.model import OPEN, Action, Case, CostFunction, CostTerm, Number
from planner.model.actions import Duration, DurationRange
from planner.model.formulas import exact_number

HALF: Final = 0.5
"""Pseudo-observation against an event that has happened each time."""

Explore = Literal["optimistic", "sample"]
"""How planning prefers uncertain actions: by an optimistic bound, or by sampling."""


@dataclass(frozen=True, slots=True)
class Chance:
    """A probability with a Beta distribution: observations `of` it and `against` it, prior included."""

    of: float
    against: float

    @classmethod
    def after(cls, happened: float, times: float, prior: float, weight: float) -> Chance:
        """Update a `prior`, which counts as `weight` observations, by `happened` of so many `times`."""
        return cls(weight * prior + happened, weight * (1 - prior) + times - happened)

    @property
    def count(self) -> float:
        """All observations, prior included."""
        return self.of + self.against

    @property
    def mean(self) -> float:
        """The expected probability; 0 without observations."""
        return self.of / self.count if self.count else 0.0

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of the probability with this `confidence` (Wilson 1927)."""
        if not self.count:
            return 0.0, 1.0
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        scale = 1 + z * z / self.count
        middle = (self.mean + z * z / (2 * self.count)) / scale
        spread = self.mean * (1 - self.mean) / self.count + z * z / (4 * self.count * self.count)
        reach = z / scale * spread**0.5
        return max(middle - reach, 0.0), min(middle + reach, 1.0)

    def draw(self, dice: random.Random) -> float:
        """Draw a probability from the distribution (Thompson 1933); 0 where no observation is in favour."""
        return dice.betavariate(self.of, self.against or HALF) if self.of else 0.0

    def planning_value(self, explore: Explore | None, confidence: float, dice: random.Random) -> float:
        """Return the probability to plan with, by the way to explore."""
        match explore:
            case "optimistic":
                return self.interval(confidence)[0] if self.of else 0.0
            case "sample":
                return self.draw(dice)
        return self.mean


def normalise_shares(counts: Sequence[float], explore: Explore | None, dice: random.Random) -> list[float]:
    """Return probabilities from counts, prior included; they have a Dirichlet distribution."""
    found = [dice.gammavariate(each, 1) for each in counts] if explore == "sample" else list(counts)
    whole = sum(found)
    return [each / whole for each in found]


_WAYS: Final = get_args(Explore)


@dataclass(frozen=True, slots=True)
class Learning:
    """How observations change declared probabilities.

    `by` names the parameters of actions whose objects are told apart: `{"call": ["tool"]}`. The declaration of an
    action counts as `weight` observations, and the observations of all other objects as `pooling` more for each object
    that is told apart. `explore` is "optimistic": risks are the lower ends of their intervals with this `confidence`;
    "sample": they are drawn from their distributions (Thompson 1933), anew after each observation; None: they are
    means, so that an action that once looked worse is hardly tried again. The `seed` determines the draws. With a
    `quantile`, such as 0.9, an action lasts as long as so large a share of its attempts did not exceed, where its
    declared duration counts as `weight` attempts; else it lasts as long as its attempts on average.
    """

    by: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))
    weight: float = 2.0
    pooling: float = 1.0
    explore: Explore | None = None
    confidence: float = 0.9
    seed: int = 0
    quantile: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", MappingProxyType(_check_names(self.by)))
        for name in ("weight", "pooling"):
            if not is_amount(getattr(self, name)):
                raise InputError(f"{name} is a number of observations, 0 or more, not {getattr(self, name)!r}")
        if not (is_amount(self.confidence) and 0 < self.confidence < 1):
            raise InputError(f"confidence is a probability between 0 and 1, not {self.confidence!r}")
        if self.quantile is not None and not (is_amount(self.quantile) and 0 < self.quantile <= 1):
            raise InputError(f"quantile is a share of attempts above 0, up to 1, not {self.quantile!r}")
        if self.explore is not None and self.explore not in _WAYS:
            hint = did_you_mean(str(self.explore), _WAYS) or f"say one of {', '.join(_WAYS)}, or None"
            raise InputError(f"there is no way to explore {self.explore!r}", hint=hint)


def _check_names(by: object) -> dict[str, tuple[str, ...]]:
    """Return the parameters to tell apart, by action; raises `InputError` for an invalid value."""
    found: dict[str, tuple[str, ...]] = {}
    for action, names in by.items() if isinstance(by, Mapping) else [("", by)]:
        given: Any = (names,) if isinstance(names, str) else names
        texts = isinstance(given, tuple | list) and all(isinstance(each, str) for each in given)
        if not (isinstance(by, Mapping) and isinstance(action, str) and texts):
            raise InputError(f"by names parameters of actions, not {by!r}", hint="such as by={'call': ['tool']}")
        found[action] = tuple(given)
    return found


TOKENS: Final = "tokens"
"""The resource whose use handlers report."""
ROUNDED: Final = Decimal("0.000001")
"""Learned costs, seconds and tokens are multiples of this."""
FINE: Final = Decimal("0.0001")
"""Learned probabilities are multiples of this."""
MOST: Final = 10_000
"""Most combinations of objects that get a risk of their own before any observation."""
Objects = tuple[str, ...]


@dataclass(slots=True)
class LearnedAction:
    """The action `declared`, and its tallies `seen` by objects; objects of the parameters `apart` are told apart.

    The `seed` determines the draws.
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
        self._groups = {key: merge_tallies(tallies) for key, tallies in found.items()}
        self._whole = merge_tallies(self._groups.values())

    def action(self, by_type: Mapping[str, Sequence[str]]) -> Action:
        """Return the action with learned risk, outcomes and costs; `by_type` are the objects of each type."""
        if not (self._whole.count or (self.declared.risk and self.learning.explore)):
            return self.declared
        known = (Tally(), self._whole) if self.apart else (self._whole, Tally())  # the others are those never seen
        risk, odds = self._estimate_odds(*known)
        outcomes = [replace(each, probability=share) for each, share in zip(self.declared.outcomes, odds, strict=True)]
        cases = tuple(self._make_cases(by_type)) if self.apart else self.declared.cases
        return replace(self.declared, risk=risk, outcomes=tuple(outcomes), cases=cases, **self._learned_fields())

    def _estimate_odds(self, tally: Tally, others: Tally, about: str = "") -> tuple[Decimal, tuple[Decimal, ...]]:
        """Return the risk and the probabilities of outcomes after `tally`.

        The prior is the declaration, and the observations of `others`.
        """
        learning, dice = self.learning, random.Random(f"{self.seed} {about}")
        pooled = min(learning.pooling / others.count, 1) if others.count else 0.0
        failed = tally.failed + pooled * others.failed
        chance = Chance.after(failed, tally.count + pooled * others.count, float(self.declared.risk), learning.weight)
        thought = chance.planning_value(learning.explore, learning.confidence, dice)
        risk = min(_round_probability(thought), 1 - FINE) if chance.count else self.declared.risk
        labels = [label_outcome(each) for each in self.declared.outcomes]
        declared = [float(each.probability) for each in self.declared.outcomes]
        counts = [
            learning.weight * share + tally.outcomes[name] + pooled * others.outcomes[name]
            for share, name in zip(declared, labels, strict=True)
        ]
        return risk, _sum_to_one(
            normalise_shares(counts if sum(counts) else declared, learning.explore, dice)
        ) if labels else ()

    def _make_cases(self, by_type: Mapping[str, Sequence[str]]) -> Iterator[Case]:
        """Yield the cases of objects that are told apart; when sampling, also of objects never tried."""
        groups = dict(self._groups)
        if self.learning.explore == "sample":
            groups = {**dict.fromkeys(self._list_combinations(by_type), Tally()), **groups}
        for objects, tally in groups.items():
            if OPEN not in objects:
                others = merge_tallies(each for key, each in self._groups.items() if key != objects)
                named = dict(zip(self.apart, objects, strict=True))
                pattern = tuple([named.get(name, OPEN) for name in self._names])
                yield Case(pattern, *self._estimate_odds(tally, others, " ".join(objects)))

    @property
    def _names(self) -> list[str]:
        return [each.name.removeprefix("?") for each in self.declared.parameters]

    def _list_combinations(self, by_type: Mapping[str, Sequence[str]]) -> Iterable[Objects]:
        """Return the combinations of objects that are told apart; none where they are too many."""
        types = {each.name.removeprefix("?"): each.types for each in self.declared.parameters}
        values = [
            list(dict.fromkeys(item for kind in types[name] for item in by_type.get(kind, ()))) for name in self.apart
        ]
        return product(*values) if prod(map(len, values)) <= MOST else ()

    def _learned_fields(self) -> dict[str, Any]:
        """Return the learned cost, use of tokens and duration, by the names of the action's fields."""
        whole, found = self._whole, dict[str, Any]()
        if whole.cost.value and all(isinstance(term, int | Decimal) for term in self.declared.cost):
            found["cost"] = self._make_cost_term({key: each.cost for key, each in self._groups.items()}, whole.cost)
        if whole.tokens.value:
            used = self._make_cost_term({key: each.tokens for key, each in self._groups.items()}, whole.tokens)
            found["uses"] = {**self.declared.uses, TOKENS: used}
        duration = self._learn_duration(whole)
        if duration is not None:
            found["duration"] = duration
        return found

    def _learn_duration(self, whole: Tally) -> Duration | None:
        """Return the learned duration: the mean, or the quantile that is asked for; None where nothing was seen."""
        share, declared = self.learning.quantile, self.declared.duration
        if share is None:
            return Decimal(round_exactly(whole.seconds.value)) if whole.seconds.value else None
        if not whole.durations.numbers:
            return None
        low, high = (declared.low, declared.high) if isinstance(declared, DurationRange) else (declared, None)
        prior = float(low) if isinstance(low, int | Decimal) else None
        found = Decimal(round_exactly(whole.durations.quantile(share, prior, self.learning.weight)))
        if not isinstance(declared, DurationRange):
            return found
        return DurationRange(found if not isinstance(high, int | Decimal) else min(found, Decimal(high)), high)

    def _make_cost_term(self, means: Mapping[Objects, Mean], whole: Mean) -> tuple[CostTerm, ...]:
        """Return the mean as a cost term: one for each combination of objects that is told apart, if any."""
        if not self.apart:
            return (round_exactly(whole.value),)
        pooling = self.learning.pooling
        table = {
            objects: round_exactly((pooling * whole.value + each.count * each.value) / (pooling + each.count))
            for objects, each in means.items()
            if each.count
        }
        places = tuple([self._names.index(name) for name in self.apart])
        return (CostFunction(Table(table, places, round_exactly(whole.value))),)


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers by the arguments at certain `places`; all others have the number `otherwise`."""

    numbers: Mapping[Objects, Number]
    places: tuple[int, ...]
    otherwise: Number

    def __call__(self, *arguments: str) -> Number:
        """Return the number for these arguments."""
        return self.numbers.get(tuple([arguments[place] for place in self.places]), self.otherwise)


def round_exactly(number: float) -> Number:
    """Round `number` to an exact multiple of `ROUNDED`."""
    return exact_number(number, ROUNDED)


def _round_probability(probability: float) -> Decimal:
    return Decimal(repr(probability)).quantize(FINE, ROUND_HALF_EVEN)


def _sum_to_one(probabilities: Sequence[float]) -> tuple[Decimal, ...]:
    """Make probabilities positive with the exact sum 1: the largest takes the difference."""
    found = [max(_round_probability(each), FINE) for each in probabilities]
    largest = found.index(max(found))
    found[largest] += 1 - sum(found, Decimal(0))
    return tuple(found)
