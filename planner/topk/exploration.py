"""Exploring in plain Python: A* that goes on after the first plan, until all of up to some cost are within.

What A* has expanded when every state with f ≤ bound is (Hart, Nilsson and Raphael, 1968; K*: Aljazzar and Leue, 2011)
holds all plans that cost no more than the bound. Backwards from the goal states, each state gets its exact distance.

Explorations that take turns, each in the tier that suits it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heappop, heappush

from planner.heuristics import REGISTRY
from planner.lightweight import Any, Final, Protocol, dataclass
from planner.portfolio.tiers import Contender, take_turns, tiered
from planner.portfolio.workplace import COMPACT, Workplace
from planner.search.astar import ActionCosts, LifoOpenList, PathMax
from planner.search.search_run import Ending, Estimate, IncrementalHeuristic, Run, Steps
from planner.task.ground_task import INFINITY, State
from planner.topk.listing import Exploration
from planner.topk.partial_order_reduction import Part

PAUSE: Final = 8
"""Expansions between two pauses."""


Order = Callable[[State, int], int]


def _by_h(_state: State, h: int) -> int:
    return h


class Graph(Protocol):
    """A state space, as exploring sees it: where it begins, where it ends, and which edges lead where at which cost."""

    @property
    def initial(self) -> State:
        """The state in which it begins."""

    @property
    def costs(self) -> ActionCosts:
        """What each edge costs."""

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Return the edges from `state`, each with the next state."""

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""


class Explored:
    """The states of `space` that were reached, the estimate being admissible.

    `past_goals`: goal states are expanded, too. Among states with the same f, those come first for which `order` gives
    less, from the state and its h; without it, those with less h. `lowest` is the least cost of a plan through a state
    that was not expanded yet; `INFINITY` where there is none left. `optimum` is what the cheapest plan costs, once that
    is known.
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

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none."""
        while self.optimum is None and self._waiting:
            yield from self._next_level()
        return Ending.EXHAUSTED

    def through(self, bound: int) -> Steps:
        """Expand all states through which a plan might cost no more than `bound`."""
        self._settle()
        while self.lowest <= bound:
            yield from self._next_level()
        return Ending.EXHAUSTED

    def _settle(self) -> None:
        """Note what is left: work that was paused may have been given up."""
        self.lowest = self._waiting.lowest if self._waiting else INFINITY

    def _next_level(self) -> Generator[None]:
        """Expand all states with the lowest f, those that come to have it, too; stop where the first plan is known."""
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
        self._settle()

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
        """Return what plans go through that cost no more than `bound`, up to which everything was expanded."""
        distances, beyond = self._distances(bound)
        start, beyond = self._space.initial, min(beyond, self.lowest)
        return Within(start, bound, beyond, self._space.costs, self._reached, self._edges, self._goals, distances)

    def _distances(self, bound: int) -> tuple[dict[State, int], int]:
        """Return what it costs from each state to the goal, where a plan within `bound` goes through it.

        And what the others cost at least, as far as they do not go through a state that was not expanded yet.
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
    """A `Part` whose states are those of the reference tier."""

    start: State
    bound: int
    beyond: int
    costs: ActionCosts
    reached: dict[State, int]
    successors: dict[State, list[tuple[int, State]]]
    goals: set[State]
    distances: dict[State, int]

    def distance(self, state: State) -> int:
        """Return what the cheapest way from `state` to the goal costs; `INFINITY` for a state that is not in it."""
        return self.distances.get(state, INFINITY)

    def edges(self, state: State) -> dict[int, State]:
        """Return the next state by action, in ascending order of the actions."""
        left = self.bound - self.reached[state]
        return {
            action: child
            for action, child in self.successors[state]
            if self.costs[action] + self.distances.get(child, INFINITY) <= left
        }

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""
        return state in self.goals


BLIND_STATES: Final = 1_000_000
"""States after which exploring without estimates gives up in plain Python."""

Work = Callable[[Exploration], Steps]


class Tiered:
    """An exploration that begins in plain Python; what lasts begins again in machine code.

    With a number of `states` it gives up after about so many, or four times as many in machine code.
    """

    def __init__(self, workplace: Workplace, heuristic: str, *, past_goals: bool, states: int | None = None) -> None:
        self._workplace, self._heuristic, self._past_goals = workplace, heuristic, past_goals
        self._most = states
        self._now: Exploration = self._reference()
        self._may_change = workplace.has_small_costs()

    def _reference(self) -> Exploration:
        space, check = self._workplace.space, self._workplace.check
        estimate = REGISTRY[self._heuristic].build(self._workplace.task, space.costs, check)
        return Explored(space, estimate, past_goals=self._past_goals)

    def _compiled(self) -> Exploration:
        from planner.topk.exploration_compiled import CompiledExplored

        most = None if self._most is None else COMPACT * self._most
        board = self._workplace.board()
        return CompiledExplored(board, self._heuristic, past_goals=self._past_goals, states=most)

    @property
    def optimum(self) -> int | None:
        """What the cheapest plan costs, once that is known."""
        return self._now.optimum

    @property
    def lowest(self) -> int:
        """What a plan costs at least that goes through a state that was not expanded; `INFINITY`: none is left."""
        return self._now.lowest

    @property
    def expanded(self) -> int:
        """How many states were expanded."""
        return self._now.expanded

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none; INCOMPLETE where it gives up."""
        return self._in_tiers(lambda now: now.first())

    def through(self, bound: int) -> Steps:
        """Expand all states through which a plan might cost no more than `bound`; INCOMPLETE where it gives up."""
        return self._in_tiers(lambda now: now.through(bound))

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, as far as it was expanded."""
        return self._now.part(bound)

    def _in_tiers(self, work: Work) -> Steps:
        """Do `work`, after what came before it where that begins again."""
        if not self._may_change:
            return (yield from work(self._now))

        def reference() -> Steps:
            if not self._may_change:
                self._now = self._reference()
                yield from self._now.first()
            for _ in work(self._now):
                if self._most is not None and self._now.expanded >= self._most:
                    return Ending.INCOMPLETE
                yield
            return Ending.EXHAUSTED

        def compiled() -> Steps:
            self._may_change = False
            self._now = self._compiled()
            ending = yield from self._now.first()
            return (yield from work(self._now)) if ending is Ending.EXHAUSTED else ending

        return (yield from tiered(reference, compiled, large=self._workplace.is_large(), again=self._most is None))


class Race:
    """Explorations that take turns up to the first plan: the one that finds it goes on, and another if it gives up.

    Each comes with its share of the time.
    """

    def __init__(self, runners: list[tuple[Exploration, int]]) -> None:
        self._runners = runners
        self._leader = runners[0][0]

    @property
    def optimum(self) -> int | None:
        """What the cheapest plan costs, once that is known."""
        return self._leader.optimum

    @property
    def lowest(self) -> int:
        """What a plan costs at least that goes through a state that was not expanded; `INFINITY`: none is left."""
        return self._leader.lowest

    @property
    def expanded(self) -> int:
        """How many states were expanded by the one that goes on."""
        return self._leader.expanded

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none; INCOMPLETE where all give up."""
        contenders = [Contender(self._leading(runner), share) for runner, share in self._runners]
        return (yield from take_turns(contenders, Run()))

    def _leading(self, runner: Exploration) -> Steps:
        ending = yield from runner.first()
        if ending is Ending.EXHAUSTED:
            self._leader = runner
        return ending

    def through(self, bound: int) -> Steps:
        """Expand all states through which a plan might cost no more than `bound`; INCOMPLETE where all give up."""
        ending = yield from self._leader.through(bound)
        if ending is Ending.INCOMPLETE:
            self._runners = [(runner, share) for runner, share in self._runners if runner is not self._leader]
            if self._runners:
                yield from self.first()
                ending = yield from self.through(bound)
        return ending

    def part(self, bound: int) -> Part:
        """Return what plans go through that cost no more than `bound`, as far as it was expanded."""
        return self._leader.part(bound)


def exploration(workplace: Workplace, *, past_goals: bool) -> Exploration:
    """Return what explores the state space of a task; `past_goals`: beyond goal states, too."""
    guided = Tiered(workplace, "lmcut", past_goals=past_goals)
    blind = Tiered(workplace, "blind", past_goals=past_goals, states=BLIND_STATES)
    return Race([(guided, 3), (blind, 1)])
