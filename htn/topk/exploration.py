"""Exploring what decompositions lead to, up to some cost.

A part of the graph of decompositions, by steps.

The same steps may come of tasks in many ways. Here they lead to one place: all that they may lead to (the subset
construction: Rabin and Scott, 1959). So each sequence of steps is one path.

How the tasks come to certain steps.

What decompositions lead to, as a graph of numbers: doing actions costs, and decomposing tasks costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from htn.search.ground_hierarchy import Board
from htn.search.task_networks import Node, Nodes
from planner.jit.common_kernel import INFINITE
from planner.lightweight import Final, dataclass
from planner.search.search_run import Steps
from planner.task.ground_task import INFINITY
from planner.topk.exploration import Explored, Within

MANY: Final = 1024
"""Networks of so many tasks are as good as larger ones."""


@dataclass(frozen=True, slots=True)
class Edges:
    """What the number of an edge says: the place in what is left to do, and the action there, or the method for it."""

    actions: int
    methods: int
    costs: Sequence[int]

    def __getitem__(self, edge: int) -> int:
        """Return what the edge costs."""
        action = self.action(edge)
        return 0 if action is None else self.costs[action]

    def action(self, edge: int) -> int | None:
        """Return the action that is done; None where a task is decomposed."""
        number = edge % (self.actions + self.methods)
        return number if number < self.actions else None

    def move(self, edge: int) -> int:
        """Return the edge as `htn.search.plan_extraction` takes it."""
        place, number = divmod(edge, self.actions + self.methods)
        return place * (self.methods + 1) + max(0, number - self.actions + 1)

    def edge(self, move: int, task: int) -> int:
        """Return the edge for a `move` that is about `task`."""
        place, method = divmod(move, self.methods + 1)
        return place * (self.actions + self.methods) + (self.actions + method - 1 if method else task)


class Progress:
    """The graph of the problem on `board`.

    Of the tasks that nothing comes before, the first compound one is decomposed before anything else is done: it may be
    decomposed at any time until then, as what its method requires is checked whenever it holds. Plans of the same steps
    are paths with the same actions.
    """

    def __init__(self, board: Board) -> None:
        self.nodes = Nodes(board, board.costs, 0)
        self.costs = Edges(len(board.costs), len(board.ground.methods), board.costs)
        self.initial = 0
        self._known = [self.nodes.initial]
        self._numbers = {self.nodes.initial: 0}

    def successors(self, number: int) -> list[tuple[int, int]]:
        """Return the edges from this node, each with the number of the next one."""
        nodes, node = self.nodes, self._known[number]
        return [
            (self.costs.edge(move, nodes.task(node, move)), self._number(child))
            for place in self._next(node)
            for child, move in nodes.moves(node, place)
        ]

    def is_goal(self, number: int) -> bool:
        """Return whether all is done and the goal holds."""
        state, network = self._known[number]
        return not network and self.nodes.is_goal(state)

    def estimate(self, number: int) -> int:
        """Return what is left costs at least; `INFINITY` where nothing leads on."""
        node = self._known[number]
        if not node[1]:
            return 0 if self.is_goal(number) else INFINITY
        if not self._next(node) or self.nodes.estimate(node) >= INFINITE:
            return INFINITY
        return self.nodes.left(node[1])

    def order(self, number: int, estimate: int) -> int:
        """Return what is less for nodes that are to be expanded first: with less left, and fewer tasks for that."""
        return estimate * MANY + min(len(self._known[number][1]), MANY - 1)

    def _next(self, node: Node) -> list[int]:
        """Return the places of the tasks that may be next."""
        places = self.nodes.available(node[1])
        return [place for place in places if self.nodes.is_compound(node[1][place][0])][:1] or places

    def _number(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self._known))
        if number == len(self._known):
            self._known.append(node)
        return number


class Subsets:
    """What is `within` some cost, by steps; `first[a]` stands for all actions that are the same step as a."""

    def __init__(self, within: Within, edges: Edges, first: list[int]) -> None:
        self.bound, self.beyond = within.bound, within.beyond
        self.within, self.by = within, edges
        self._first = first
        self._sets: list[frozenset[int]] = []
        self._numbers: dict[frozenset[int], int] = {}
        self._edges: dict[int, dict[int, int]] = {}
        self.start = self._number([within.start])

    def distance(self, state: int) -> int:
        """Return what the cheapest way from `state` to the goal costs; `INFINITY` for a state that is not in it."""
        return min([self.within.distance(node) for node in self._sets[state]], default=INFINITY)

    def is_goal(self, state: int) -> bool:
        """Return whether all may be done in `state`, with the goal."""
        return not self.within.goals.isdisjoint(self._sets[state])

    def edges(self, state: int) -> Mapping[int, int]:
        """Return the next state by action, in ascending order of the actions."""
        found = self._edges.get(state)
        if found is None:
            found = self._edges[state] = self._found(state)
        return found

    def _found(self, state: int) -> dict[int, int]:
        children: dict[int, list[int]] = {}
        for node in self._sets[state]:
            for edge, child in self.within.edges(node).items():
                action = self.by.action(edge)
                if action is not None:
                    children.setdefault(self._first[action], []).append(child)
        return {action: self._number(children[action]) for action in sorted(children)}

    def steps(self, node: int) -> list[tuple[int, int, int]]:
        """Return the actions that may be done at `node` of the graph, each with its edge and the next node."""
        actions = [(self.by.action(edge), edge, child) for edge, child in self.within.edges(node).items()]
        return [(self._first[action], edge, child) for action, edge, child in actions if action is not None]

    def decomposed(self, node: int) -> list[tuple[int, int]]:
        """Return the edges of decompositions from `node` of the graph, each with the next node."""
        return [(edge, child) for edge, child in self.within.edges(node).items() if self.by.action(edge) is None]

    def _number(self, nodes: Iterable[int]) -> int:
        """Return the number of what `nodes` lead to without any step; what is only to be decomposed is left out."""
        waiting = [node for node in nodes if self.within.distance(node) < INFINITY]
        seen = {*waiting}
        kept = []
        while waiting:
            node = waiting.pop()
            further = self.decomposed(node)
            if not further:
                kept.append(node)
            for _, child in further:
                if child not in seen:
                    seen.add(child)
                    waiting.append(child)
        found = frozenset(kept)
        number = self._numbers.setdefault(found, len(self._sets))
        if number == len(self._sets):
            self._sets.append(found)
        return number


class Exploring:
    """All of the graph of `progress` through which plans go that cost no more than what was asked for.

    `first[a]` stands for all actions that are the same step as a. `latest` is the part that was asked for last.
    """

    def __init__(self, progress: Progress, first: list[int]) -> None:
        self._progress, self._first = progress, first
        self._explored = Explored(progress, progress.estimate, past_goals=False, order=progress.order)
        self.latest: Subsets | None = None

    @property
    def optimum(self) -> int | None:
        """What the cheapest plan costs, once that is known."""
        return self._explored.optimum

    @property
    def lowest(self) -> int:
        """What a plan costs at least that goes through a node that was not expanded; `INFINITY`: none is left."""
        return self._explored.lowest

    @property
    def expanded(self) -> int:
        """How many nodes were expanded."""
        return self._explored.expanded

    def first(self) -> Steps:
        """Expand until the cheapest plan is known, or that there is none."""
        return self._explored.first()

    def through(self, bound: int) -> Steps:
        """Expand all nodes through which a plan might cost no more than `bound`."""
        return self._explored.through(bound)

    def part(self, bound: int) -> Subsets:
        """Return what plans go through that cost no more than `bound`, by steps, as far as it was expanded."""
        self.latest = Subsets(self._explored.part(bound), self._progress.costs, self._first)
        return self.latest


Layer = dict[int, tuple[int, int]]
"""Nodes after so many steps, each with the node before it and the edge from there."""
NONE: Final = (-1, -1)
"""Instead of these, where it begins."""


def moves_of(part: Subsets, plan: Sequence[int]) -> list[int]:
    """Return the moves (see `plan_extraction`) of a decomposition that comes to the steps of `plan`, one in `part`."""
    layers = [_closed(part, {part.within.start: NONE})]
    for action in plan:
        begun: Layer = {}
        for node in layers[-1]:
            for done, edge, child in part.steps(node):
                if done == action:
                    begun.setdefault(child, (node, edge))
        layers.append(_closed(part, begun))
    node = next(node for node in layers[-1] if node in part.within.goals)
    edges: list[int] = []
    for layer in reversed(layers):
        while layer[node] != NONE:
            node, edge = layer[node]
            edges.append(edge)
            if part.by.action(edge) is not None:
                break
    return [part.by.move(edge) for edge in reversed(edges)]


def _closed(part: Subsets, layer: Layer) -> Layer:
    """Return `layer` with all that decompositions lead to."""
    waiting = [*layer]
    for node in waiting:
        for edge, child in part.decomposed(node):
            if child not in layer:
                layer[child] = node, edge
                waiting.append(child)
    return layer
