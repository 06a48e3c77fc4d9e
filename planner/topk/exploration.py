"""Exploration: A* that goes on after the first plan, until all states on plans up to a cost bound are expanded.

When A* has expanded every state with f ≤ bound, these states hold all plans of cost at most the bound (Hart, Nilsson
and Raphael, 1968; K*: Aljazzar and Leue, 2011). A backward search from the goal states gives the exact distances.
`explore` lets a guided and a blind exploration take turns, each in plain Python or in machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from heapq import heappop, heappush

from planner.heuristics import REGISTRY
from planner.lightweight import Any, Final, Protocol, dataclass
from planner.portfolio.tiers import Contender, run_in_tiers, take_turns
from planner.portfolio.workplace import COMPACT, COMPILED, Workplace
from planner.search.astar import ActionCosts, LifoOpenList, PathMax
from planner.search.search_run import Ending, Estimate, IncrementalHeuristic, Run, Steps
from planner.task.ground_task import INFINITY, State

PAUSE: Final = 8
"""Expansions between two pauses."""


class Part(Protocol):
    """The part of a state space that plans of cost at most `bound` go through.

    States are numbers. A plan that leaves the part costs at least `beyond`.
    """

    @property
    def start(self) -> int:
        """The initial state."""

    @property
    def bound(self) -> int:
        """Largest cost of a plan in this part."""

    @property
    def beyond(self) -> int:
        """Lower bound on the cost of plans that leave the part; `INFINITY` if there are none."""

    def distance(self, state: int) -> int:
        """Return the distance of `state` to the goal; `INFINITY` for a state outside the part."""

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the successors of `state` by action, in ascending order of the actions."""

    def is_goal(self, state: int) -> bool:
        """Return whether the goal holds in `state`."""


class Exploration(Protocol):
    """A search that expands the part of the state space that plans up to a cost bound go through."""

    @property
    def optimum(self) -> int | None:
        """Cost of the cheapest plan, once it is known."""

    @property
    def lowest(self) -> int:
        """Lower bound on plans through unexpanded states; `INFINITY` if there are none."""

    @property
    def expanded(self) -> int:
        """Number of expanded states."""

    def find_first_plan(self) -> Steps:
        """Expand until the cheapest plan is known or excluded; end INCOMPLETE to give up."""

    def expand_through(self, bound: int) -> Steps:
        """Expand all states on plans of cost at most `bound`; end INCOMPLETE to give up."""

    def part(self, bound: int) -> Part:
        """Return the part of plans of cost at most `bound`, as far as it is expanded."""


class Graph(Protocol):
    """The state space of an exploration: a graph with costs of edges."""

    @property
    def initial(self) -> State:
        """The initial state."""

    @property
    def costs(self) -> ActionCosts:
        """The costs of the edges, by number."""

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Return `(edge, successor)` for the edges from `state`."""

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""


Order = Callable[[State, int], int]


def _by_h(_state: State, h: int) -> int:
    return h


class Explored:
    """A* over `space` with an admissible estimate that goes on after the first plan; see `Exploration`.

    With `past_goals`, goal states are expanded, too. States with the same f are ordered by `order(state, h)`.
    """

    def __init__(
        self, space: Graph, estimate: Estimate | IncrementalHeuristic, *, past_goals: bool, order: Order = _by_h
    ) -> None:
        self._space, self._past_goals, self._order = space, past_goals, order
        self._source: Any = estimate if isinstance(estimate, IncrementalHeuristic) else PathMax(estimate, space.costs)
        self._reached: dict[State, int] = {space.initial: 0}
        self._edges: dict[State, list[tuple[int, State]]] = {}
        self._goals: set[State] = set()
        self._waiting = LifoOpenList()
        self._waiting.push(0, 0, (space.initial, 0, 0, None, False))
        self.lowest = 0
        self.optimum: int | None = None
        self.expanded = self.evaluated = self.generated = 0

    def find_first_plan(self) -> Steps:
        """Expand until the cheapest plan is known or excluded."""
        while self.optimum is None and self._waiting:
            yield from self._expand_level()
        return Ending.EXHAUSTED

    def expand_through(self, bound: int) -> Steps:
        """Expand all states on plans of cost at most `bound`."""
        self._update_lowest()
        while self.lowest <= bound:
            yield from self._expand_level()
        return Ending.EXHAUSTED

    def _update_lowest(self) -> None:
        """Set the lower bound to the least f in the open list: paused work may have been given up."""
        self.lowest = self._waiting.lowest if self._waiting else INFINITY

    def _expand_level(self) -> Generator[None]:
        """Expand all states with the lowest f, also those generated meanwhile; stop when the first plan is known."""
        level = self.lowest = self._waiting.lowest
        while self._waiting and self._waiting.lowest == level:
            f, _, (state, g, h, known, evaluated) = self._waiting.pop()
            if self._reached[state] < g:
                continue
            if not evaluated:
                self.evaluated += 1
                value, known = self._source.evaluate(state, known, INFINITY)
                if value > h:
                    if value < INFINITY:
                        self._push(state, g, value, known, evaluated=True)
                    continue
            if state in self._goals or self._space.is_goal(state):
                self._goals.add(state)
            is_first = self.optimum is None and state in self._goals
            if is_first:
                self.optimum = f
            self._expand(state, g, known)
            if is_first:
                break
            if not self.expanded % PAUSE:
                yield
        self._update_lowest()

    def _expand(self, state: State, g: int, known: Any) -> None:
        if state in self._goals and not self._past_goals:
            self._edges[state] = []
            return
        self.expanded += 1
        if state not in self._edges:
            self._edges[state] = sorted(self._space.successors(state))
        costs, inherit, reached = self._space.costs, self._source.inherit, self._reached
        for action, child in self._edges[state]:
            cost = g + costs[action]
            if cost < reached.get(child, INFINITY):
                reached[child] = cost
                bound, inherited = inherit(known, action)
                self.generated += 1
                self._push(child, cost, bound, inherited, evaluated=False)

    def _push(self, state: State, g: int, h: int, known: Any, *, evaluated: bool) -> None:
        self._waiting.push(g + h, self._order(state, h), (state, g, h, known, evaluated))

    def part(self, bound: int) -> Within:
        """Return the part of plans of cost at most `bound`, up to which all is expanded."""
        distances, beyond = self._measure_distances(bound)
        start, beyond = self._space.initial, min(beyond, self.lowest)
        return Within(start, bound, beyond, self._space.costs, self._reached, self._edges, self._goals, distances)

    def _measure_distances(self, bound: int) -> tuple[dict[State, int], int]:
        """Return the goal distances of states on plans within `bound`, and a lower bound on all other plans.

        The bound is for plans through expanded states; the distances come from a backward search (Dijkstra, 1959).
        """
        costs, reached, beyond = self._space.costs, self._reached, INFINITY
        before: dict[State, list[tuple[State, int]]] = {}
        for state, edges in self._edges.items():
            for action, child in edges:
                before.setdefault(child, []).append((state, costs[action]))
        heap = [(0, state) for state in self._goals]
        found = dict.fromkeys(self._goals, 0)
        while heap:
            value, state = heappop(heap)
            if found[state] < value:
                continue
            if reached[state] + value > bound:
                beyond = min(beyond, reached[state] + value)
                del found[state]
                continue
            for other, cost in before.get(state, ()):
                then = value + cost
                if reached[other] + then > bound:
                    beyond = min(beyond, reached[other] + then)
                elif then < found.get(other, INFINITY):
                    found[other] = then
                    heappush(heap, (then, other))
        return found, beyond


@dataclass(frozen=True, slots=True)
class Within:
    """A `Part` whose states are those of the reference tier; `reached` has the costs from the initial state."""

    start: State
    bound: int
    beyond: int
    costs: ActionCosts
    reached: dict[State, int]
    successors: dict[State, list[tuple[int, State]]]
    goals: set[State]
    distances: dict[State, int]

    def distance(self, state: State) -> int:
        """Return the distance of `state` to the goal; `INFINITY` for a state outside the part."""
        return self.distances.get(state, INFINITY)

    def edges(self, state: State) -> dict[int, State]:
        """Return the successors of `state` by action, in ascending order of the actions."""
        left = self.bound - self.reached[state]
        return {
            action: child
            for action, child in self.successors[state]
            if self.costs[action] + self.distances.get(child, INFINITY) <= left
        }

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""
        return state in self.goals


class PartWrapper:
    """A `Part` with the states and, unless overridden, the edges and distances of another one."""

    def __init__(self, part: Part) -> None:
        self.start, self.bound, self.beyond = part.start, part.bound, part.beyond
        self._part = part

    def distance(self, state: int) -> int:
        """Return the distance of `state` to the goal; `INFINITY` for a state outside the part."""
        return self._part.distance(state)

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the successors of `state` by action, in ascending order of the actions."""
        return self._part.edges(state)

    def is_goal(self, state: int) -> bool:
        """Return whether the goal holds in `state`."""
        return self._part.is_goal(state)


BLIND_STATES: Final = 1_000_000
"""Number of states after which blind exploration gives up in plain Python."""


class Forwarding:
    """An exploration that hands its calls on to another one, `_current`, which may change."""

    _current: Exploration

    @property
    def optimum(self) -> int | None:
        """Cost of the cheapest plan, once it is known."""
        return self._current.optimum

    @property
    def lowest(self) -> int:
        """Lower bound on plans through unexpanded states; `INFINITY` if there are none."""
        return self._current.lowest

    @property
    def expanded(self) -> int:
        """Number of states expanded by the current exploration."""
        return self._current.expanded

    def part(self, bound: int) -> Part:
        """Return the part of plans of cost at most `bound`, as far as it is expanded."""
        return self._current.part(bound)


class Tiered(Forwarding):
    """An exploration in plain Python that begins again in machine code if it lasts.

    It gives up after about this number of `states`, if given; in machine code after four times as many.
    """

    def __init__(self, workplace: Workplace, heuristic: str, *, past_goals: bool, states: int | None = None) -> None:
        self._workplace, self._heuristic, self._past_goals = workplace, heuristic, past_goals
        self._max_states = states
        self._current = self._explore_in_python()
        self._may_change = workplace.has_small_costs()

    def _explore_in_python(self) -> Exploration:
        space, check = self._workplace.space, self._workplace.check
        estimate = REGISTRY[self._heuristic].build(self._workplace.task, space.costs, check)
        return Explored(space, estimate, past_goals=self._past_goals)

    def _explore_compiled(self) -> Exploration:
        from planner.topk.exploration_compiled import CompiledExplored

        most = None if self._max_states is None else COMPACT * self._max_states
        board = self._workplace.board()
        return CompiledExplored(board, self._heuristic, past_goals=self._past_goals, states=most)

    def find_first_plan(self) -> Steps:
        """Expand until the cheapest plan is known or excluded; end INCOMPLETE to give up."""
        return self._in_tiers(lambda current: current.find_first_plan())

    def expand_through(self, bound: int) -> Steps:
        """Expand all states on plans of cost at most `bound`; end INCOMPLETE to give up."""
        return self._in_tiers(lambda current: current.expand_through(bound))

    def _in_tiers(self, work: Callable[[Exploration], Steps]) -> Steps:
        """Do `work` in the tier that suits it; an exploration that begins again first repeats `find_first_plan`."""
        if not self._may_change:
            return (yield from work(self._current))

        def reference() -> Steps:
            if not self._may_change:
                self._current = self._explore_in_python()
                yield from self._current.find_first_plan()
            for _ in work(self._current):
                if self._max_states is not None and self._current.expanded >= self._max_states:
                    return Ending.INCOMPLETE
                yield
            return Ending.EXHAUSTED

        def compiled() -> Steps:
            self._may_change = False
            self._current = self._explore_compiled()
            ending = yield from self._current.find_first_plan()
            return (yield from work(self._current)) if ending is Ending.EXHAUSTED else ending

        large, again = self._workplace.is_large(), self._max_states is None
        kernels = ("exploration", *COMPILED["astar", "lmcut"])
        return (yield from run_in_tiers(reference, compiled, kernels, large=large, again=again))


class Race(Forwarding):
    """Explorations that take turns until one finds the first plan; this one continues alone.

    If it gives up, the others take over. Each of the `runners` comes with its share of the time.
    """

    def __init__(self, runners: list[tuple[Exploration, int]]) -> None:
        self._runners = runners
        self._current = runners[0][0]

    def find_first_plan(self) -> Steps:
        """Expand until the cheapest plan is known or excluded; end INCOMPLETE if all give up."""
        contenders = [Contender(self._run_to_first_plan(runner), share) for runner, share in self._runners]
        return (yield from take_turns(contenders, Run()))

    def _run_to_first_plan(self, runner: Exploration) -> Steps:
        ending = yield from runner.find_first_plan()
        if ending is Ending.EXHAUSTED:
            self._current = runner
        return ending

    def expand_through(self, bound: int) -> Steps:
        """Expand all states on plans of cost at most `bound`; end INCOMPLETE if all give up."""
        ending = yield from self._current.expand_through(bound)
        if ending is Ending.INCOMPLETE:
            self._runners = [(runner, share) for runner, share in self._runners if runner is not self._current]
            if self._runners:
                yield from self.find_first_plan()
                ending = yield from self.expand_through(bound)
        return ending


def explore(workplace: Workplace, *, past_goals: bool) -> Exploration:
    """Return an exploration of the state space of a task; with `past_goals`, goal states are expanded, too."""
    guided = Tiered(workplace, "lmcut", past_goals=past_goals)
    blind = Tiered(workplace, "blind", past_goals=past_goals, states=BLIND_STATES)
    return Race([(guided, 3), (blind, 1)])
