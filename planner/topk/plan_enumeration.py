"""Plan enumeration by cost: the bound rises whenever all plans within the bound are listed.

Cost does not bound the number of steps of wasteful plans: these are listed by cost and then by length. `draw_plans`
draws plans at random from the explored part of the state space.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Generator, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from random import Random

from planner.lightweight import Final
from planner.limits import Limits, read_clock
from planner.plan import Plan, Step
from planner.task.ground_task import INFINITY, State, bits
from planner.task.successor_generator import Space
from planner.topk.completions import Completions
from planner.topk.exploration import Exploration, Part, PartWrapper
from planner.topk.partial_order_reduction import Commuting, OfSteps, Sleep, Variants

UNIT: Final = 1 << 64
"""Weight of cost 1, relative to weight 1 of a step: more than the number of steps of any plan."""


def weights_of(costs: list[int]) -> list[int]:
    """Return the weights of actions with these costs: ordered by cost, then by number of steps."""
    return [cost * UNIT + 1 for cost in costs]


class WithLengths(PartWrapper):
    """A `Part` whose distances are sums of the `weights` of its actions."""

    def __init__(self, part: Part, weights: list[int]) -> None:
        super().__init__(part)
        self.bound = part.bound * UNIT + UNIT - 1
        self.beyond = INFINITY if part.beyond == INFINITY else part.beyond * UNIT
        self._distances = self._measure_distances(weights)

    def _measure_distances(self, weights: list[int]) -> dict[int, int]:
        """Search backwards from the goal states (Dijkstra, 1959)."""
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
        """Return the least weight of a path from `state` to the goal; `INFINITY` for a state outside the part."""
        return self._distances.get(state, INFINITY)


MAX_STATES: Final = 10_000
"""Maximum number of states of subsequences after each step: beyond it, waste stays undecided."""


def is_wasteful(space: Space, variants: Variants, plan: Sequence[int], spare: int) -> bool | None:
    """Return whether `plan` remains a plan without some steps that cost at most `spare` together.

    The function follows the plan together with the states of all its subsequences. Each action stands for all of its
    `variants`. It returns None if there are too many such states.
    """
    settled = _unattainable_goals(space, variants, plan)
    # `others` has the states that subsequences lead to, each with the least cost of the steps left out.
    state, others = space.initial, dict[State, int]()
    for step, action in enumerate(plan):
        cost, goals = space.costs[action], settled[step + 1]
        after: dict[State, int] = {}
        for other, skipped in (*others.items(), (state, 0)):
            if skipped + cost <= spare:
                _add(after, other, skipped + cost, goals)
            following = _apply_first(space, variants.of[action], other) if other != state else None
            if following is not None:
                _add(after, following, skipped, goals)
        following = _apply_first(space, variants.of[action], state)
        assert following is not None
        state, others = following, after
        if state in others:
            return True
        if len(others) > MAX_STATES:
            return None
    return any(map(space.is_goal, others))


def _apply_first(space: Space, actions: Sequence[int], state: State) -> State | None:
    """Return the state after the first applicable one of `actions`."""
    full = space.closed(state)
    return next((space.apply(each, state) for each in actions if not space.preconditions[each] & ~full), None)


def _add(found: dict[State, int], state: State, skipped: int, goals: State) -> None:
    """Add `state`, unless it lacks some of the `goals` that no later step attains."""
    if not goals & ~state:
        found[state] = min(skipped, found.get(state, skipped))


def _unattainable_goals(space: Space, variants: Variants, plan: Iterable[int]) -> list[State]:
    """Return, for each place in `plan`, the goals that no step from there on can make true."""
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


GROWTH: Final = 1.5
"""Growth factor of the number of expanded states between two listings of plans."""


class PlanEnumeration:
    """Lists the plans for the task of `space` by cost, from the states that `explored` expands.

    The listing omits plans that cost more than `limit(optimum)`. With `commuting`, each plan comes in one order of its
    independent steps. With `frugal`, it omits plans that remain plans without some of their steps. Plans not yet listed
    cost at least `lower_bound`; `INFINITY` if there are none. `optimum` is the cost of the cheapest plan. `check`
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
        """Yield plans by cost, and None at each pause."""
        explored = self.explored
        for _ in explored.find_first_plan():
            self.lower_bound = max(self.lower_bound, explored.lowest)
            yield None
        if explored.optimum is None:
            self.lower_bound = INFINITY
            return
        bound = self.lower_bound = self.optimum = explored.optimum
        most = self._limit(bound)
        while bound <= most:
            yield from self._list_early()
            bound = yield from self._expand(bound)
            before, completions = len(self._given), self._completions(self.part(bound))
            for plan in self._take_all_new(map(tuple, completions)):
                self.lower_bound = max(self.lower_bound, self.space.cost_of(plan))
                yield plan
            self.lower_bound = self._cost_of_weight(completions.beyond)
            few = len(self._given) < 2 * before
            bound = min(self._raise_bound(bound, few=few), max(self.lower_bound, most))

    def _list_early(self) -> Generator[list[int] | None]:
        """Yield cheapest plans before all states on plans of this cost are expanded.

        Yield none if steps cost nothing: there may be infinitely many such plans, or they may prove wasteful.
        """
        enough, bound = 0.0, self.lower_bound
        for _ in self.explored.expand_through(bound) if not self._free_steps else ():
            if self.explored.expanded >= enough:
                enough = self.explored.expanded * GROWTH
                yield from self._take_all_new(self.generate_plans(self._completions(self.part(bound))))
            yield None

    def generate_plans(self, completions: Completions) -> Iterator[tuple[int, ...]]:
        """Yield the plans that are not wasteful, each in its listed order of steps."""
        for plan in completions:
            cost = self.space.cost_of(plan)
            if cost < self.lower_bound:
                continue
            if not self._frugal or is_wasteful(self.space, self._variants, plan, cost - self.optimum) is False:
                yield self.order_steps(plan)

    def order_steps(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return `plan` in its listed order of independent steps."""
        return tuple(plan) if self.commuting is None else self.commuting.sort_steps(plan)

    def take_new(self, plan: Sequence[int]) -> list[int] | None:
        """Return `plan` in its listed order; None if it was listed before."""
        return next(self._take_all_new(iter([self.order_steps(plan)])), None)

    def key_of(self, plan: tuple[int, ...]) -> tuple[int, ...]:
        """Return the identity of a plan: plans with the same key are listed once."""
        return plan

    def _take_all_new(self, plans: Iterator[tuple[int, ...]]) -> Iterator[list[int]]:
        """Yield the plans that were not listed before, and record them."""
        for plan in plans:
            key = self.key_of(plan)
            if key not in self._given:
                self._given.add(key)
                yield [*plan]

    def _expand(self, bound: int) -> Generator[None, None, int]:
        """Expand for the next plan, and up to `bound` if that costs little more; return the reached bound."""
        explored = self.explored
        yield from explored.expand_through(self.lower_bound)
        enough = explored.expanded * GROWTH
        for _ in explored.expand_through(bound):
            if explored.expanded >= enough:
                return max(self.lower_bound, min(bound, explored.lowest - 1))
            yield
        return bound

    def _completions(self, part: Part) -> Completions:
        costs, sleep = self.space.costs, None if self.commuting is None else self.make_sleep_sets(self.commuting, part)
        if self._frugal:
            return Completions(part, costs, sleep, self._check, frugal=True)
        weights = weights_of(costs)
        return Completions(WithLengths(part, weights), weights, sleep, self._check, frugal=False)

    def part(self, bound: int) -> Part:
        """Return the part of plans of cost at most `bound`, by steps, as far as it is expanded."""
        return self.merge_variants(self.explored.part(bound))

    def merge_variants(self, part: Part) -> Part:
        """Return `part` with one edge for each step."""
        return OfSteps(part, self._variants) if self._variants.any else part

    def make_sleep_sets(self, commuting: Commuting, _part: Part) -> Sleep:
        """Return the sleep sets that leave one order of independent steps."""
        return Sleep(commuting)

    def _cost_of_weight(self, weight: int) -> int:
        return weight if self._frugal or weight == INFINITY else weight // UNIT

    def _raise_bound(self, bound: int, *, few: bool) -> int:
        """Return the next bound; the step grows if the last bound gave only `few` plans."""
        least = self.lower_bound
        if least == INFINITY:
            return INFINITY
        raised = max(least, bound + (2 * self._step if few else self._step // 2))
        self._step = raised - bound
        return raised


PREFERRED_WEIGHT: Final = 8
"""Weight in a random draw of a step that is not `avoided`; an avoided step has weight 1."""


class RandomWalks:
    """Draws plans as random walks through `part` to the goal, by actions with these `costs`."""

    def __init__(self, part: Part, costs: Sequence[int], random: Random) -> None:
        self._part, self._costs, self._random = part, costs, random

    def walk(self, avoided: Container[int]) -> list[int] | None:
        """Return a plan that needs all of its steps; None if the walk ends before the goal.

        The bound on its cost is the lower of two random draws, since expensive plans are often wasteful. The walk takes
        `avoided` actions less often.
        """
        part = self._part
        state, spare, actions = part.start, frozenset[int](), list[int]()
        left = min(self._random.randint(part.distance(state), part.bound) for _ in range(2))
        while not part.is_goal(state):
            taken = self._draw_step(state, spare, left, avoided)
            if taken is None:
                return None
            action, spare = taken
            left -= self._costs[action]
            state = part.edges(state)[action]
            actions.append(action)
        return actions

    def _draw_step(
        self, state: int, spare: frozenset[int], left: int, avoided: Container[int]
    ) -> tuple[int, frozenset[int]] | None:
        """Return an action after which no step is wasted so far, and the states that subsequences of the walk reach.

        As in `Completions`, only states count from which the goal is within cost `left`.
        """
        part, costs = self._part, self._costs
        edges = part.edges(state)
        choices = [action for action, child in edges.items() if costs[action] + part.distance(child) <= left]
        while choices:
            weights = [1 if action in avoided else PREFERRED_WEIGHT for action in choices]
            action = self._random.choices(choices, weights)[0]
            choices.remove(action)
            reached = {state, *spare, *[part.edges(other).get(action, other) for other in spare]}
            others = frozenset([other for other in reached if part.distance(other) <= left - costs[action]])
            if edges[action] not in others and not any(map(part.is_goal, others)):
                return action, others
        return None


def draw_plans(
    listing: PlanEnumeration,
    make: Callable[[Sequence[int]], Plan | None],
    most: int,
    avoided: Callable[[], Collection[Step]],
    *,
    limits: Limits,
    seed: int,
) -> Iterator[Plan | None]:
    """Yield unlisted plans of cost at most `most`, drawn at random; None for a draw without a new plan.

    The draws take steps that are `avoided` at that time less often. Yield nothing if exploration does not get far
    enough.
    """
    reached = _explore_for_draws(listing, most, limits)
    part = listing.part(reached)
    if part.distance(part.start) > reached:
        return
    space = listing.space
    walks, numbers = RandomWalks(part, space.costs, Random(seed)), dict[Step, int]()
    for number, action in enumerate(space.task.actions):
        numbers.setdefault(action.step, number)
    while True:
        limits.check()
        found = walks.walk({numbers[step] for step in avoided()})
        fresh = None if found is None else listing.take_new(found)
        yield None if fresh is None else make(fresh)


def _explore_for_draws(listing: PlanEnumeration, most: int, limits: Limits) -> int:
    """Explore up to plans of cost `most` for half of the remaining time; return the reached bound."""
    left = limits.remaining
    until = None if left is None else read_clock() + left / 2
    for _ in listing.explored.expand_through(most):
        limits.check()
        if until is not None and read_clock() > until:
            break
    return min(most, listing.explored.lowest - 1)
