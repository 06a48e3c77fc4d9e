"""`k_best`: the cheapest plans as a set, and what is proved of it.

Plans of which nothing is proved, where time ends before enough are listed by cost.

Plans within a bound, drawn at random.

Plans drawn at random from a part of the state space, by steps that others do without where there is the choice.

How different plans are: by their actions, or by what provides what for what.

The distance of two plans is the part of what either has that not both have: 0 where all is the same, 1 where nothing
is (Jaccard, of multisets; so do Srivastava et al., 2007, "Domain Independent Approaches for Finding Diverse Plans", and
Bryce, 2014, "Landmark-Based Plan Distance Measures for Diverse Planning", among others). It is a metric.

How different the plans of a set are.

Some of many things, far from each other.

Each next one is the farthest from those that were taken before. The least distance is then half of the best that there
is, at least, as long as distances are a metric (Gonzalez, 1985; Ravi, Rosenkrantz and Tayi, 1994).

The best plans, one after the other: in the order of their costs, proved, each once.

explore      the states that plans of up to some cost go through, in plain Python
part         those states, with what it costs from each to the goal
commuting    which steps may change places
sleep        which of them need not be tried, as the same comes in another order
completions  the ways on from a state, the next best one whenever it is asked for
listing      raising the bound until there are plans enough
iterator     plans for whoever asks for them, within limits
iterate      `candidates`: those of a classical problem, checked
filling      plans of which nothing is proved
best         `k_best`: a set of plans, and what is proved of it
walks        plans drawn at random
drawing      those within a bound, one after the other
distances    how different plans are
dispersion   some of them, far from each other
diversity    how different the plans of a set are
differing    `diverse`: a set of plans that differ
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, islice
from random import Random

from planner.errors import InputError
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, replace
from planner.limits import Limits
from planner.model import Number
from planner.plan import Plan, Progress, Step, StoppedBy, forgone_data, json_number
from planner.problem_kinds import AnyProblem, classical_of
from planner.topk.candidates import candidates
from planner.topk.listing import Listing
from planner.topk.partial_order_reduction import Part

if TYPE_CHECKING:
    import threading

    from planner.topk.candidates import Making

SHARE: Final = 0.3
"""The part of the time that is kept for these plans."""


def filling(
    problem: AnyProblem,
    known: Iterable[Plan],
    most: Number | None,
    *,
    time_limit: float | None,
    memory_limit: float | None,
    cancel: threading.Event | None,
) -> list[Plan]:
    """Return plans that a search for ever better ones comes upon, the cheapest first.

    They have other steps than those `known`, and none costs more than `most`. Raises as `planner.solve` does.
    """
    from planner.solve import solve

    found: dict[Hashable, Plan] = {}

    def note(progress: Progress) -> None:
        take(progress.plan)

    def take(plan: Plan | None) -> None:
        if plan is not None:
            found.setdefault(_steps_of(plan), plan)

    limits: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, "cancel": cancel}
    take(solve(problem, on_progress=note, **limits).plan)
    for plan in known:
        found.pop(_steps_of(plan), None)
    return sorted(
        [plan for plan in found.values() if most is None or plan.charge <= most], key=lambda plan: plan.charge
    )


def _steps_of(plan: Plan) -> Hashable:
    """Return the steps of `plan`, in whatever order."""
    return tuple(sorted((step.action, step.arguments) for step in plan.steps))


PREFERENCE: Final = 8
"""A step that is not avoided is drawn so many times as often as one that is."""


class Walks:
    """Walks through `part` to the goal, by actions with these `costs`, drawn by `random`."""

    def __init__(self, part: Part, costs: Sequence[int], random: Random) -> None:
        self._part, self._costs, self._random = part, costs, random

    def walk(self, avoided: Container[int]) -> list[int] | None:
        """Return a plan of which no steps can be left out, None where the walk does not come to one.

        It costs no more than a bound that is drawn, too, more often a low one: dear ways are often wasteful. Actions
        that are `avoided` are taken less often.
        """
        part = self._part
        state, spare, actions = part.start, frozenset[int](), list[int]()
        left = min(self._random.randint(part.distance(state), part.bound) for _ in range(2))
        while not part.is_goal(state):
            taken = self._step(state, spare, left, avoided)
            if taken is None:
                return None
            action, spare = taken
            left -= self._costs[action]
            state = part.edges(state)[action]
            actions.append(action)
        return actions

    def _step(
        self, state: int, spare: frozenset[int], left: int, avoided: Container[int]
    ) -> tuple[int, frozenset[int]] | None:
        """Return an action after which no step was wasted so far, and where its plan leads without some of its steps.

        See `Completions`; here, too, only what the goal can be reached from for what is left counts.
        """
        part, costs = self._part, self._costs
        edges = part.edges(state)
        choices = [action for action, child in edges.items() if costs[action] + part.distance(child) <= left]
        while choices:
            weights = [1 if action in avoided else PREFERENCE for action in choices]
            action = self._random.choices(choices, weights)[0]
            choices.remove(action)
            reached = {state, *spare, *[part.edges(other).get(action, other) for other in spare]}
            others = frozenset([other for other in reached if part.distance(other) <= left - costs[action]])
            if edges[action] not in others and not any(map(part.is_goal, others)):
                return action, others
        return None


def draws(
    listing: Listing, made: Making, most: int, avoided: Callable[[], Collection[Step]], *, limits: Limits, seed: int
) -> Iterator[Plan | None]:
    """Yield plans that cost `most`, or less, and that were not listed yet; None where a draw comes to none.

    What is `avoided` then is taken less often. Ends at once where too little could be explored.
    """
    reached = _explored(listing, most, limits)
    part = listing.part(reached)
    if part.distance(part.start) > reached:
        return
    space = listing.space
    walks, numbers = Walks(part, space.costs, Random(seed)), dict[Step, int]()
    for number, action in enumerate(space.task.actions):
        numbers.setdefault(action.step, number)
    while True:
        limits.check()
        found = walks.walk({numbers[step] for step in avoided()})
        fresh = None if found is None else listing.fresh(found)
        yield None if fresh is None else made(fresh)


def _explored(listing: Listing, most: int, limits: Limits) -> int:
    """Explore what plans go through that cost `most`, for half of the time that is left; return up to what all is."""
    left = limits.remaining
    until = None if left is None else time.monotonic() + left / 2
    for _ in listing.explored.through(most):
        limits.check()
        if until is not None and time.monotonic() > until:
            break
    return min(most, listing.explored.lowest - 1)


Features = Counter[Hashable]
"""What a plan has, and how many times."""


def actions_of(plan: Plan) -> Features:
    """Return the steps of `plan`."""
    return Counter[Hashable]([(step.action, step.arguments) for step in plan.steps])


def links_of(plan: Plan) -> Features:
    """Return the causal links of `plan`: which step provides which condition for which step, or for the goal."""
    from planner.partial_order.causal_links import causal_links

    ends: list[Hashable] = ["initial state", *[(step.action, step.arguments) for step in plan.steps], "goal"]
    problem = replace(classical_of(plan.problem), budgets={}, deadline=None)
    links = causal_links(problem, replace(plan, problem=problem, tree=None))
    return Counter[Hashable]([(ends[each.provider], str(each.condition), ends[each.consumer]) for each in links])


DISTANCES: Final[dict[str, Callable[[Plan], Features]]] = {"actions": actions_of, "links": links_of}
"""What plans may differ by."""


def distance(one: Features, other: Features) -> Fraction:
    """Return how different plans with these features are: from 0 to 1."""
    both = common(one, other)
    either = one.total() + other.total() - both
    return Fraction(0) if not either else 1 - Fraction(both, either)


def common(one: Features, other: Features) -> int:
    """Return how many features both have."""
    return sum([min(times, other[each]) for each, times in one.items() if each in other])


@dataclass(frozen=True, slots=True)
class Diversity:
    """How far each plan of a set is from each, from 0 to 1, `by` its actions or links.

    Of all plans within the bound, `seen` were compared. If these are `all_seen`, no so many plans have a least distance
    of more than twice the `least` of these.
    """

    by: str
    distances: tuple[tuple[Fraction, ...], ...]
    seen: int
    all_seen: bool

    @property
    def least(self) -> Fraction | None:
        """The distance of the two plans that are nearest to each other; None where there are no two."""
        pairs = combinations(range(len(self.distances)), 2)
        return min([self.distances[one][other] for one, other in pairs], default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON-ready data; distances are rounded."""
        return {
            "by": self.by,
            "distances": [[_rounded(each) for each in row] for row in self.distances],
            "least": None if self.least is None else _rounded(self.least),
            "seen": self.seen,
            "all_seen": self.all_seen,
        }

    def summary(self, plans: Sequence[Plan]) -> str:
        """Return for people how different `plans` are, and what is known of it: a sentence, and a table."""
        if self.least is None:
            return self._compared()
        apart = f"they differ by {float(self.least):.2f} or more in their {self.by}"
        return f"{apart}; {self._compared()}\n\n{self._table(plans)}"

    def _compared(self) -> str:
        if not self.all_seen:
            return f"of the plans within the bound, {self.seen} were compared"
        found, number = f"all plans within the bound were compared, {self.seen}", len(self.distances)
        most = 1 if self.least is None else 2 * self.least
        return found if most >= 1 else f"{found}: no {number} of them differ by more than {float(most):.2f}"

    def _table(self, plans: Sequence[Plan]) -> str:
        """Return for each plan its cost, and which other is the nearest."""
        lines = ["candidate      cost  nearest  distance"]
        for place, (plan, row) in enumerate(zip(plans, self.distances, strict=True)):
            far, nearest = min((value, other) for other, value in enumerate(row) if other != place)
            lines.append(f"{place + 1:>9}  {plan.charge:>8}  {nearest + 1:>7}  {float(far):>8.2f}")
        return "\n".join(lines)


def _rounded(value: Fraction) -> float:
    return round(float(value), 4)


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Some plans, by their costs.

    `proved`: no plan that is not among them costs less than any of them. All others cost `lower_bound` or more; None
    where there are no others: then the set is `complete`. `stopped_by` says why there are no more: FIRST_PLAN where
    there are as many as were asked for. `diversity` says how far plans are from each other that were chosen for that.
    Of the last ones, `unproved` were come upon where time ended: others may cost less, and some of their steps may be
    of no use.
    """

    plans: tuple[Plan, ...]
    proved: bool
    stopped_by: StoppedBy
    lower_bound: Number | None
    complete: bool
    diversity: Diversity | None = None
    unproved: int = 0

    def summary(self) -> str:
        """Return for people how many there are, and what is proved of them."""
        said = self._said()
        return said if self.diversity is None or not self.plans else f"{said}; {self.diversity.summary(self.plans)}"

    def _said(self) -> str:
        number = len(self.plans) - self.unproved
        if self.unproved and not number:
            return f"{_candidates(self.unproved)} of which nothing is proved{self._others()}"
        if not number and self.complete:
            return "proved unsolvable"
        said = _candidates(number)
        if self.complete:
            return f"{said}: there are no others"
        which = "the cheapest" if self.proved else f"ended: {self.stopped_by.value}"
        if not self.proved and self.stopped_by is StoppedBy.FIRST_PLAN:
            which = "of which nothing is proved"
        if self.diversity is not None and not self.proved:
            return said
        more = f", and {self.unproved} more of which nothing is proved" if self.unproved else ""
        return f"{said}, {which}{more}{self._others()}"

    def _others(self) -> str:
        if self.lower_bound is None:
            return ""
        counted = ", with what they forgo," if any(plan.forgone for plan in self.plans) else ""
        return f"; others{counted} cost {self.lower_bound} or more"

    def to_dict(self) -> dict[str, Any]:
        """Return the set as JSON-ready data."""
        return {
            "candidates": [_dumped(plan) for plan in self.plans],
            "proved": self.proved,
            "stopped_by": self.stopped_by.name.lower(),
            "lower_bound": json_number(self.lower_bound),
            "complete": self.complete,
            **({"unproved": self.unproved} if self.unproved else {}),
            **({} if self.diversity is None else {"diversity": self.diversity.to_dict()}),
        }


def _dumped(plan: Plan) -> dict[str, Any]:
    data = {"cost": json_number(plan.cost), **plan.to_dict()}
    if plan.utility is not None:
        data["forgone"] = forgone_data(plan.forgone)
    return data


def k_best(
    problem: AnyProblem,
    k: int | None,
    *,
    within: Number | float | None = None,
    orders: bool = False,
    wasteful: bool = False,
    fill: bool = False,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> CandidateSet:
    """Return the `k` cheapest plans for `problem`, or all where there are fewer, or `k` is None.

    The options are those of `candidates`. Where a limit ends the work before, those are returned that were found. To
    `fill` the set, some of the time is kept for a search for good plans, whose costs nothing is proved of; whether they
    are `within` the factor is known only where the cheapest plan is. Raises as `candidates` does.
    """
    checked_number(k)
    limits: dict[str, Any] = {"memory_limit": memory_limit, "cancel": cancel}
    kept = time_limit * SHARE if fill and time_limit is not None else 0.0
    first = None if time_limit is None else time_limit - kept
    found = candidates(problem, within=within, orders=orders, wasteful=wasteful, time_limit=first, **limits)
    plans = tuple(islice(found, None if k is None else min(k, sys.maxsize)))
    stopped_by = found.stopped_by or StoppedBy.FIRST_PLAN
    proved = found.misses_none and stopped_by in (StoppedBy.EXHAUSTED, StoppedBy.FIRST_PLAN)
    more: list[Plan] = []
    if fill and stopped_by is StoppedBy.TIME:
        more = filling(problem, plans, found.most, time_limit=kept, **limits)[: None if k is None else k - len(plans)]
    return CandidateSet((*plans, *more), proved, stopped_by, found.lower_bound, found.complete, unproved=len(more))


def checked_number(k: Any) -> None:
    """Raise `InputError` unless `k` is a number of plans, or None."""
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise InputError(f"the number of plans is a whole number of 1 or more, not {k!r}")


def _candidates(number: int) -> str:
    return f"{number} candidate{'' if number == 1 else 's'}"


class Dispersion:
    """Takes from `features` the first one, and then whatever is farthest from all that were taken."""

    def __init__(self, features: Sequence[Features]) -> None:
        self._features = features
        self._sizes = [each.total() for each in features]
        # Of parts of less than 2**26 features, equal ones are equal as floats, and a larger one is larger.
        self._shared = [-1.0] * len(features)
        self.taken: list[int] = []
        """The places of what was taken."""

    def take(self, place: int) -> None:
        """Take what is at `place`."""
        mine, size = self._features[place], self._sizes[place]
        for other, features in enumerate(self._features):
            both = common(mine, features)
            either = size + self._sizes[other] - both
            self._shared[other] = max(self._shared[other], both / either if either else 1.0)
        self.taken.append(place)

    def farthest(self) -> tuple[float, int]:
        """Return which part the farthest shares with one that was taken, at most; the first among equals: its place."""
        shared = min(self._shared)
        return shared, self._shared.index(shared)


def dispersed(
    features: Sequence[Features], k: int | None, least: Fraction, until: float | None = None
) -> tuple[list[int], bool]:
    """Return the places of `k` of the `features` or fewer, any two of them apart by `least` at least, and by anything.

    The first one is among them. `until` is the time, by `time.monotonic`, after which no more are taken; besides the
    places, whether this was so.
    """
    dispersion, most = Dispersion(features), float(1 - least)
    if features:
        dispersion.take(0)
    while features and (k is None or len(dispersion.taken) < k):
        shared, place = dispersion.farthest()
        if shared == 1 or shared > most:
            break
        if until is not None and time.monotonic() > until:
            return dispersion.taken, True
        dispersion.take(place)
    return dispersion.taken, False
