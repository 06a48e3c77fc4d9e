"""Diverse plans: plans of a bounded cost that are far from each other.

The distance of two plans is the Jaccard distance of their multisets of actions, or of causal links: the share of what
either has that not both have (Srivastava et al., 2007, "Domain Independent Approaches for Finding Diverse Plans";
Bryce, 2014, "Landmark-Based Plan Distance Measures for Diverse Planning"). It is a metric from 0 to 1.

Plans are listed by cost, then drawn at random with actions that the selected plans do not have. The selection is
greedy: the next plan is the one farthest from all selected before. Its least distance is then at least half of the best
possible one (Gonzalez, 1985; Ravi, Rosenkrantz and Tayi, 1994).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, islice

from planner.errors import InputError, UnsupportedError, did_you_mean
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, replace
from planner.limits import read_clock
from planner.model import Number
from planner.model.formulas import exact_decimal
from planner.plan import Plan, Step, StoppedBy
from planner.problem_kinds import AnyProblem, classical_of
from planner.topk.candidates import Candidates, candidates
from planner.topk.top_k import CandidateSet, check_number

if TYPE_CHECKING:
    import threading

Features = Counter[Hashable]
"""The multiset of actions or causal links of a plan."""


def actions_of(plan: Plan) -> Features:
    """Return the ground actions of `plan`."""
    return Counter[Hashable]([(step.action, step.arguments) for step in plan.steps])


def links_of(plan: Plan) -> Features:
    """Return the causal links of `plan`: which step provides which condition for which step, or for the goal.

    Raises `UnsupportedError` for a plan in time.
    """
    if plan.times:
        raise UnsupportedError("causal links of plans in time", "by='actions' compares plans by their steps")
    from planner.partial_order.causal_links import causal_links

    ends: list[Hashable] = ["initial state", *[(step.action, step.arguments) for step in plan.steps], "goal"]
    problem = replace(classical_of(plan.problem), budgets={}, deadline=None)
    links = causal_links(problem, replace(plan, problem=problem, tree=None))
    return Counter[Hashable]([(ends[each.provider], str(each.condition), ends[each.consumer]) for each in links])


FEATURES: Final[dict[str, Callable[[Plan], Features]]] = {"actions": actions_of, "links": links_of}
"""What plans may be compared by."""


def distance(one: Features, other: Features) -> Fraction:
    """Return the Jaccard distance of two multisets, from 0 to 1."""
    both = _count_common(one, other)
    either = one.total() + other.total() - both
    return Fraction(0) if not either else 1 - Fraction(both, either)


def _count_common(one: Features, other: Features) -> int:
    return sum([min(times, other[each]) for each, times in one.items() if each in other])


def select_diverse(
    features: Sequence[Features], k: int | None, least: Fraction, until: float | None = None
) -> tuple[list[int], bool]:
    """Select at most `k` of the `features`, any two at a distance of at least `least`, and above 0.

    The first is selected, then always the farthest from all selected ones. Return the selected places, and whether the
    selection stopped early because `read_clock` passed `until`.
    """
    taken: list[int] = []
    sizes, most_shared = [each.total() for each in features], float(1 - least)
    # Largest share that each has in common with a selected one. Below 2**26 features, floats compare as fractions do.
    shared = [-1.0] * len(features)
    while features and (k is None or len(taken) < k):
        least_shared = min(shared)
        if least_shared == 1 or least_shared > most_shared:
            break
        if taken and until is not None and read_clock() > until:
            return taken, True
        place = shared.index(least_shared)
        for other, theirs in enumerate(features):
            both = _count_common(features[place], theirs)
            either = sizes[place] + sizes[other] - both
            shared[other] = max(shared[other], both / either if either else 1.0)
        taken.append(place)
    return taken, False


@dataclass(frozen=True, slots=True)
class Diversity:
    """The pairwise distances of a set of plans, from 0 to 1, `by` their actions or links.

    `seen` plans within the bound were compared. If these are `all_seen`, no set of as many plans has a least distance
    above twice the `least` of this one.
    """

    by: str
    distances: tuple[tuple[Fraction, ...], ...]
    seen: int
    all_seen: bool

    @property
    def least(self) -> Fraction | None:
        """The least distance of two plans; None for fewer than two plans."""
        pairs = combinations(range(len(self.distances)), 2)
        return min([self.distances[one][other] for one, other in pairs], default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the diversity as JSON-ready data, with rounded distances."""
        return {
            "by": self.by,
            "distances": [[_round(each) for each in row] for row in self.distances],
            "least": None if self.least is None else _round(self.least),
            "seen": self.seen,
            "all_seen": self.all_seen,
        }

    def summary(self, plans: Sequence[Plan]) -> str:
        """Return a text for people: the least distance of `plans`, how many were compared, and a table."""
        if self.least is None:
            return self._describe_compared()
        apart = f"they differ by {float(self.least):.2f} or more in their {self.by}"
        return f"{apart}; {self._describe_compared()}\n\n{self._make_table(plans)}"

    def _describe_compared(self) -> str:
        if not self.all_seen:
            return f"of the plans within the bound, {self.seen} were compared"
        found, number = f"all plans within the bound were compared, {self.seen}", len(self.distances)
        most = 1 if self.least is None else 2 * self.least
        return found if most >= 1 else f"{found}: no {number} of them differ by more than {float(most):.2f}"

    def _make_table(self, plans: Sequence[Plan]) -> str:
        """Return a line for each plan with its cost and the nearest other plan."""
        lines = ["candidate      cost  nearest  distance"]
        for place, (plan, row) in enumerate(zip(plans, self.distances, strict=True)):
            far, nearest = min((value, other) for other, value in enumerate(row) if other != place)
            lines.append(f"{place + 1:>9}  {plan.charge:>8}  {nearest + 1:>7}  {float(far):>8.2f}")
        return "\n".join(lines)


def _round(value: Fraction) -> float:
    return round(float(value), 4)


LISTED: Final = 500
"""Number of plans that are listed by cost before plans are drawn."""
DRAWS: Final = 300
"""Number of draws for each plan of the set."""
ROUNDS: Final = 20
"""Number of rounds of draws if the number of plans is open."""
SELECTION_SHARE: Final = 0.1
"""Share of the time limit that is kept for selecting among the plans that were found."""


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
    """Return at most `k` plans for `problem` that are far from each other; the cheapest plan is among them.

    Plans are compared `by` their "actions" or causal "links". Each costs at most `within` times the optimum, and any
    two have a distance of at least `least`, and above 0. If `k` is None, there are as many as `least` allows. `seed` is
    for the plans that are drawn at random. The `diversity` of the set has the distances, and what is proved of them.
    `time_limit` is in seconds, `memory_limit` in GiB of the process.

    Raises `InputError` for invalid options, and as `candidates` does.
    """
    check_number(k)
    apart = Fraction(read_distance(least))
    if k is None and not apart:
        raise InputError(
            "without a number of plans, `least` says how far they are apart", hint="least=0.3, for example"
        )
    if not isinstance(by, str) or by not in FEATURES:
        hint = did_you_mean(str(by), FEATURES)
        raise InputError(f"plans differ by actions or links, not by {by!r}", hint=hint)
    started = read_clock()
    listing = None if time_limit is None else time_limit * (1 - SELECTION_SHARE)
    limits: dict[str, Any] = {"time_limit": listing, "memory_limit": memory_limit, "cancel": cancel}
    pool = _Pool(candidates(problem, within=within, **limits), by, k, apart)
    pool.fill(started, listing, seed)
    now = read_clock()
    return pool.select(None if time_limit is None else now + (started + time_limit - now) / 2)


def read_distance(least: Any) -> Decimal:
    """Return `least` exactly; raises `InputError` unless it is a distance from 0 to 1."""
    try:
        found = exact_decimal(least)
    except ValueError as error:
        raise InputError(f"`least` is a distance: {error}") from None
    if not 0 <= found <= 1:
        raise InputError(f"`least` is a distance from 0 to 1, not {least}")
    return found


class _Pool:
    """The plans that were listed or drawn, from which diverse ones are selected."""

    def __init__(self, found: Candidates, by: str, k: int | None, least: Fraction) -> None:
        self._found, self._by, self._k, self._least = found, by, k, least
        self._plans: list[Plan] = []
        self._features: list[Features] = []
        self._is_late = False

    def fill(self, started: float, seconds: float | None, seed: int) -> None:
        """List plans by cost for a quarter of the time; if there are more, draw plans at random.

        Where none can be drawn, listing has all of the time.
        """
        for plan in islice(self._found, LISTED):
            self._add(plan)
            if seconds is not None and self._found.can_draw and read_clock() > started + seconds / 4:
                break
        if self._found.stopped_by is None:
            self._draw(seed, None if seconds is None else started + seconds)

    def _draw(self, seed: int, until: float | None) -> None:
        """Draw plans in rounds, one for each plan to select; they avoid the steps of the plans selected so far."""
        avoided: set[Step] = set()
        drawn = self._found.draw(seed, lambda: avoided)
        for count in range(2, (self._k or ROUNDS) + 1):
            selected, _ = select_diverse(self._features, count - 1, Fraction(0), until)
            avoided = {step for place in selected for step in self._plans[place].steps}
            for plan in islice(drawn, DRAWS):
                if until is not None and read_clock() > until:
                    self._is_late = True
                    return
                if plan is not None:
                    self._add(plan)

    def _add(self, plan: Plan) -> None:
        self._plans.append(plan)
        self._features.append(FEATURES[self._by](plan))

    def select(self, until: float | None) -> CandidateSet:
        """Select plans that are far from each other, until `read_clock` passes `until`."""
        taken, is_late = select_diverse(self._features, self._k, self._least, until)
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
            Diversity(self._by, _pairwise_distances(features), len(self._plans), all_seen),
            reason=self._found.reason,
        )


def _pairwise_distances(features: Sequence[Features]) -> tuple[tuple[Fraction, ...], ...]:
    rows = [[Fraction(0)] * len(features) for _ in features]
    for (one, mine), (other, theirs) in combinations(enumerate(features), 2):
        rows[one][other] = rows[other][one] = distance(mine, theirs)
    return tuple([tuple(row) for row in rows])
