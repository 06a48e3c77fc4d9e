"""`diverse`: plans that differ, none of which costs much more than the cheapest."""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, islice

from planner.errors import InputError, did_you_mean
from planner.lightweight import TYPE_CHECKING, Any, Final
from planner.model import Number
from planner.model.formulas import exact_decimal
from planner.plan import Plan, Step, StoppedBy
from planner.problem_kinds import AnyProblem
from planner.topk.candidates import Candidates, candidates
from planner.topk.top_k import DISTANCES, CandidateSet, Diversity, Features, checked_number, dispersed, distance

if TYPE_CHECKING:
    import threading

LISTED: Final = 500
"""Plans that are looked at by cost, before others are drawn."""
DRAWS: Final = 300
"""Draws for each plan of the set."""
ROUNDS: Final = 20
"""So many times plans are drawn where nobody says how many are wanted."""
CHOOSING: Final = 0.1
"""The part of the time that is kept for choosing among the plans that were found."""


def diverse(
    problem: AnyProblem,
    k: int | None,
    *,
    by: str = "actions",
    within: Number | float = 2,
    least: Number | float = 0,
    seed: int = 0,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> CandidateSet:
    """Return `k` plans for `problem`, or fewer, that are far from each other; the cheapest one is among them.

    Plans differ `by` their "actions", or by their causal "links": by which step provides what for which other. The
    distance is the part of what either has that not both have. None costs more than `within` times the optimum, and no
    two are nearer to each other than `least`, or have a distance of 0. With k None, they are as many as `least` allows.

    Plans are listed by cost, then drawn at random (`seed`), with other actions than those that were chosen; each next
    one is the farthest from all that were chosen before. The `diversity` of the set says how far they are apart, and
    what is known of that. `time_limit` is in seconds, `memory_limit` in GiB of the process.

    Raises `InputError` for options that mean nothing, and as `candidates` does.
    """
    checked_number(k)
    apart = Fraction(read_distance(least))
    if k is None and not apart:
        raise InputError(
            "without a number of plans, `least` says how far they are apart", hint="least=0.3, for example"
        )
    if not isinstance(by, str) or by not in DISTANCES:
        hint = did_you_mean(str(by), DISTANCES)
        raise InputError(f"plans differ by actions or links, not by {by!r}", hint=hint)
    started = time.monotonic()
    listing = None if time_limit is None else time_limit * (1 - CHOOSING)
    limits: dict[str, Any] = {"time_limit": listing, "memory_limit": memory_limit, "cancel": cancel}
    pool = _Pool(candidates(problem, within=within, **limits), by, k, apart)
    pool.fill(started, listing, seed)
    now = time.monotonic()
    return pool.chosen(None if time_limit is None else now + (started + time_limit - now) / 2)


def read_distance(least: Any) -> Decimal:
    """Return a distance exactly; raises `InputError` for what is none."""
    try:
        found = exact_decimal(least)
    except ValueError as error:
        raise InputError(f"`least` is a distance: {error}") from None
    if not 0 <= found <= 1:
        raise InputError(f"`least` is a distance from 0 to 1, not {least}")
    return found


class _Pool:
    """The plans of `found` that were looked at."""

    def __init__(self, found: Candidates, by: str, k: int | None, least: Fraction) -> None:
        self._found, self._by, self._k, self._least = found, by, k, least
        self._plans: list[Plan] = []
        self._features: list[Features] = []
        self._is_late = False

    def fill(self, started: float, seconds: float | None, seed: int) -> None:
        """List plans by cost, for a quarter of the time; if there are too many, draw others."""
        for plan in islice(self._found, LISTED):
            self._add(plan)
            if seconds is not None and time.monotonic() > started + seconds / 4:
                break
        if self._found.stopped_by is None:
            self._draw(seed, None if seconds is None else started + seconds)

    def _draw(self, seed: int, until: float | None) -> None:
        """Draw plans: for each that is to be chosen some that avoid the steps of those that would be by now."""
        avoided: set[Step] = set()
        drawn = self._found.drawn(seed, lambda: avoided)
        for count in range(2, (self._k or ROUNDS) + 1):
            chosen, _ = dispersed(self._features, count - 1, Fraction(0), until)
            avoided = {step for place in chosen for step in self._plans[place].steps}
            for plan in islice(drawn, DRAWS):
                if until is not None and time.monotonic() > until:
                    self._is_late = True
                    return
                if plan is not None:
                    self._add(plan)

    def _add(self, plan: Plan) -> None:
        self._plans.append(plan)
        self._features.append(DISTANCES[self._by](plan))

    def chosen(self, until: float | None) -> CandidateSet:
        """Return plans that are far from each other: those that were chosen `until` then."""
        taken, is_late = dispersed(self._features, self._k, self._least, until)
        places = sorted(taken, key=lambda place: self._plans[place].charge)
        features = [self._features[place] for place in places]
        stopped_by = self._found.stopped_by or StoppedBy.FIRST_PLAN
        if is_late or (self._is_late and stopped_by is StoppedBy.FIRST_PLAN):
            stopped_by = StoppedBy.TIME
        all_seen = self._found.misses_none and stopped_by is StoppedBy.EXHAUSTED
        others = [plan.charge for place, plan in enumerate(self._plans) if place not in places]
        bounds = [*others, *([] if self._found.lower_bound is None else [self._found.lower_bound])]
        lower_bound = min(bounds, default=None)
        plans = tuple([self._plans[place] for place in places])
        return CandidateSet(
            plans,
            all(lower_bound is None or plan.charge <= lower_bound for plan in plans),
            stopped_by,
            lower_bound,
            not others and self._found.complete,
            Diversity(self._by, _matrix(features), len(self._plans), all_seen),
        )


def _matrix(features: Sequence[Features]) -> tuple[tuple[Fraction, ...], ...]:
    rows = [[Fraction(0)] * len(features) for _ in features]
    for (one, mine), (other, theirs) in combinations(enumerate(features), 2):
        rows[one][other] = rows[other][one] = distance(mine, theirs)
    return tuple([tuple(row) for row in rows])
