"""Plans in the order of their costs: a bound that rises whenever all plans up to it were given.

Costs with lengths: among plans of one cost, those with fewer steps come first, and steps that cost nothing count.

Whether a plan has steps that it can do without.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from planner.lightweight import Final, Protocol
from planner.search.search_run import Steps
from planner.task.ground_task import INFINITY, State, bits
from planner.task.state_space import Space
from planner.topk.completions import Completions
from planner.topk.partial_order_reduction import Commuting, OfSteps, Part, Sleep, Variants

UNIT: Final = 1 << 64
"""What a cost of 1 weighs; a step weighs 1. No plan that anybody waits for has so many steps."""


def weights_of(costs: list[int]) -> list[int]:
    """Return what actions of these costs weigh."""
    return [cost * UNIT + 1 for cost in costs]


class WithLengths:
    """A `Part` whose distances are weights: those of `part`, to which `weights` are given."""

    def __init__(self, part: Part, weights: list[int]) -> None:
        self.start = part.start
        self.bound = part.bound * UNIT + UNIT - 1
        self.beyond = INFINITY if part.beyond == INFINITY else part.beyond * UNIT
        self._part = part
        self._distances = self._measured(weights)

    def _measured(self, weights: list[int]) -> dict[int, int]:
        before: dict[int, list[tuple[int, int]]] = {self.start: []}
        states = [self.start] if self._part.distance(self.start) < INFINITY else []
        for state in states:
            for action, child in self._part.edges(state).items():
                if child not in before:
                    before[child] = []
                    states.append(child)
                before[child].append((state, weights[action]))
        found = {state: 0 for state in states if self._part.is_goal(state)}
        heap = [(0, state) for state in found]
        while heap:
            value, state = heappop(heap)
            if found[state] < value:
                continue
            for other, weight in before[state]:
                if value + weight < found.get(other, INFINITY):
                    found[other] = value + weight
                    heappush(heap, (value + weight, other))
        return found

    def distance(self, state: int) -> int:
        """Return the least weight of a way from `state` to the goal; `INFINITY` for a state that is not in it."""
        return self._distances.get(state, INFINITY)

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the next state by action, in ascending order of the actions."""
        return self._part.edges(state)

    def is_goal(self, state: int) -> bool:
        """Return whether the goal holds in `state`."""
        return self._part.is_goal(state)


MOST: Final = 10_000
"""States that are looked at, at most, after each step."""


def is_wasteful(space: Space, variants: Variants, plan: Sequence[int], spare: int) -> bool | None:
    """Return whether some steps of `plan`, `spare` in cost at most, can be left out so that the rest is a plan.

    Each action of it stands for all of its `variants`. None where too many steps can be left out without that the rest
    breaks at once.
    """
    settled = _settled(space, variants, plan)
    state, others = space.initial, dict[State, int]()
    for step, action in enumerate(plan):
        cost, goals = space.costs[action], settled[step + 1]
        after: dict[State, int] = {}
        for other, skipped in (*others.items(), (state, 0)):
            if skipped + cost <= spare:
                _take(after, other, skipped + cost, goals)
            following = _after(space, variants.of[action], other) if other != state else None
            if following is not None:
                _take(after, following, skipped, goals)
        following = _after(space, variants.of[action], state)
        assert following is not None
        state, others = following, after
        if state in others:
            return True
        if len(others) > MOST:
            return None
    return any(map(space.is_goal, others))


def _after(space: Space, actions: Sequence[int], state: State) -> State | None:
    """Return the state after the first of `actions` that can be applied in `state`."""
    full = space.closed(state)
    return next((space.apply(each, state) for each in actions if not space.preconditions[each] & ~full), None)


def _take(found: dict[State, int], state: State, skipped: int, goals: State) -> None:
    """Take in `state`, if it has the `goals` that can no longer be attained."""
    if not goals & ~state:
        found[state] = min(skipped, found.get(state, skipped))


def _settled(space: Space, variants: Variants, plan: Iterable[int]) -> list[State]:
    """Return, for each place in `plan`, the goals that no step from there on may make true."""
    goal = 0 if space.task.has_axioms else space.goal
    found = [goal]
    for action in reversed([*plan]):
        added = 0
        for ground in [space.task.actions[variant] for variant in variants.of[action]]:
            added |= bits(ground.adds)
            for effect in ground.conditional:
                added |= bits(effect.adds)
        found.append(found[-1] & ~added)
    return found[::-1]


MORE: Final = 1.5
"""States are expanded until they are so many times as many, before what there is now is looked at."""


class Exploration(Protocol):
    """What finds the part of the state space that plans go through."""

    @property
    def optimum(self) -> int | None:
        """What the cheapest plan costs, once that is known."""

    @property
    def lowest(self) -> int:
        """What a plan costs at least that goes through a state that was not expanded; `INFINITY`: none is left."""

    @property
    def expanded(self) -> int:
        """How many states were expanded."""

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none; INCOMPLETE where it gives up."""

    def through(self, bound: int) -> Steps:
        """Expand all states through which a plan might cost no more than `bound`; INCOMPLETE where it gives up."""

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, as far as it was expanded."""


class Listing:
    """The plans for the task of `space` that `explored` has, by their costs.

    Plans that cost more than `limit(optimum)` are left out. With `commuting`, each comes in one order of its
    independent steps. If `frugal`, those are left out of which some steps can be left out. All plans that were not
    given yet cost `lower_bound` or more; `INFINITY`: there are none. `optimum` is what the cheapest costs. `check`
    raises when a limit is reached.
    """

    def __init__(
        self,
        space: Space,
        explored: Exploration,
        commuting: Commuting | None,
        limit: Callable[[int], int],
        check: Callable[[], None],
        *,
        frugal: bool,
    ) -> None:
        self.space, self.explored, self.commuting = space, explored, commuting
        self._variants = Variants(space.task, check)
        self._limit, self._check, self._frugal = limit, check, frugal
        self._free_steps = 0 in space.costs
        self._given: set[tuple[int, ...]] = set()
        self._step = 0
        self.optimum = 0
        self.lower_bound = 0

    def plans(self) -> Generator[list[int] | None]:
        """Yield plans, and None where the work may be paused or given up."""
        explored = self.explored
        for _ in explored.first():
            self.lower_bound = max(self.lower_bound, explored.lowest)
            yield None
        if explored.optimum is None:
            self.lower_bound = INFINITY
            return
        bound = self.lower_bound = self.optimum = explored.optimum
        most = self._limit(bound)
        while bound <= most:
            yield from self._early()
            bound = yield from self._expanded(bound)
            before, completions = len(self._given), self._completions(self.part(bound))
            for plan in self._new(map(tuple, completions)):
                self.lower_bound = max(self.lower_bound, self.space.cost_of(plan))
                yield plan
            self.lower_bound = self._in_costs(completions.beyond)
            few = len(self._given) < 2 * before
            bound = min(self._raised(bound, few=few), max(self.lower_bound, most))

    def _early(self) -> Generator[list[int] | None]:
        """Yield cheapest plans while others, that cost as much, may go through states that were not expanded yet.

        Where steps cost nothing, there is no end of such plans, or they may turn out to be wasteful.
        """
        enough, bound = 0.0, self.lower_bound
        for _ in self.explored.through(bound) if not self._free_steps else ():
            if self.explored.expanded >= enough:
                enough = self.explored.expanded * MORE
                yield from self._new(self.first_orders(self._completions(self.part(bound))))
            yield None

    def first_orders(self, completions: Completions) -> Iterator[tuple[int, ...]]:
        """Return the plans without those that are wasteful, in the order in which they will be given once more."""
        for plan in completions:
            cost = self.space.cost_of(plan)
            if cost < self.lower_bound:
                continue
            if not self._frugal or is_wasteful(self.space, self._variants, plan, cost - self.optimum) is False:
                yield self.ordered(plan)

    def ordered(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return `plan` in the order of its independent steps in which it is given."""
        return tuple(plan) if self.commuting is None else self.commuting.first(plan)

    def fresh(self, plan: Sequence[int]) -> list[int] | None:
        """Return `plan` as it is given, None if it was given before."""
        return next(self._new(iter([self.ordered(plan)])), None)

    def key(self, plan: tuple[int, ...]) -> tuple[int, ...]:
        """Return what plans share that count as one."""
        return plan

    def _new(self, plans: Iterator[tuple[int, ...]]) -> Iterator[list[int]]:
        """Return the plans that were not given yet, and note them."""
        for plan in plans:
            key = self.key(plan)
            if key not in self._given:
                self._given.add(key)
                yield [*plan]

    def _expanded(self, bound: int) -> Generator[None, None, int]:
        """Expand what the next plan takes, and up to `bound` if that is little more; return up to what all is."""
        explored = self.explored
        yield from explored.through(self.lower_bound)
        enough = explored.expanded * MORE
        for _ in explored.through(bound):
            if explored.expanded >= enough:
                return max(self.lower_bound, min(bound, explored.lowest - 1))
            yield
        return bound

    def _completions(self, part: Part) -> Completions:
        costs, sleep = self.space.costs, None if self.commuting is None else self.sleep(self.commuting, part)
        if self._frugal:
            return Completions(part, costs, sleep, self._check, frugal=True)
        weights = weights_of(costs)
        return Completions(WithLengths(part, weights), weights, sleep, self._check, frugal=False)

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, by steps, as far as it was explored."""
        return self.by_step(self.explored.part(bound))

    def by_step(self, part: Part) -> Part:
        """Return `part` with one edge for each step."""
        return OfSteps(part, self._variants) if self._variants.any else part

    def sleep(self, commuting: Commuting, _part: Part) -> Sleep:
        """Return what leaves one order of independent steps."""
        return Sleep(commuting)

    def _in_costs(self, weight: int) -> int:
        return weight if self._frugal or weight == INFINITY else weight // UNIT

    def _raised(self, bound: int, *, few: bool) -> int:
        """Return the next bound: by more than before if the last one gave only `few` plans."""
        least = self.lower_bound
        if least == INFINITY:
            return INFINITY
        raised = max(least, bound + (2 * self._step if few else self._step // 2))
        self._step = raised - bound
        return raised
