"""Monte-Carlo tree search for plans: a tree that grows where estimates promise most, and now and then elsewhere.

A simulation walks down from the root to an untried action, and goes on from its successor as long as estimates fall: a
short rollout whose states stay in the tree. Then values are backed up: a state is worth its best way on (full Bellman
backups: Keller and Helmert, 2013; Schulte and Keller, 2014). A state is one node, at the end of the cheapest known
path; the transposition table outlives the trees. A node below which no better plan can lie is *settled*; a settled root
proves the incumbent optimal.

Untried actions are one arm of the bandit of a state, beside the tried ones (progressive widening: Coulom, 2007):
preferred actions first, then the others in an order drawn from the seed. UCB1 (Auer, 2002) chooses the arm, with values
scaled by their spread (Schulte and Keller, 2014); logarithms are computed alike here and in machine code, so that both
choose alike. One tree grows for each of a row of falling weights of the estimate, until it has a better plan.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from math import log, sqrt

from planner.lightweight import Final, dataclass, field
from planner.search.search_run import DEAD_END, Advice, Ending, Estimate, Run, Steps, advice
from planner.search.weighted_astar import falling
from planner.task.ground_task import INFINITY, State
from planner.task.state_space import Space

ROOT: Final = 0
NO_NODE: Final = -1
"""No parent, no child, no sibling, no action."""


@dataclass(frozen=True, slots=True)
class Table:
    """The transposition table: what is known of the N states that were reached, whatever tree they are in.

    The number of a state is that of its node; the initial state is `ROOT`.
    """

    number: dict[State, int] = field(default_factory=dict)
    state: list[State] = field(default_factory=list)
    """[N]"""
    estimate: list[int] = field(default_factory=list)
    """[N] What it costs to reach the goal, as estimated; `DEAD_END` where that is impossible."""
    actions: list[list[int]] = field(default_factory=list)
    """[N] Those that can be applied, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class SearchTree:
    """A tree over N states; those that are not in it yet cost `INFINITY`."""

    parent: list[int]
    """[N] `NO_NODE` for the root."""
    action: list[int]
    """[N] What leads here from the parent."""
    cost: list[int]
    """[N] Of the way from the root."""
    value: list[int]
    """[N] What the way on to the goal costs, as estimated by now."""
    visits: list[int]
    """[N] Simulations that came by, and one for the node itself."""
    tried: list[int]
    """[N] How many of the actions were tried."""
    settled: list[bool]
    """[N] Whether no plan through here can be better than the best one."""
    child: list[int]
    """[N] The latest child, or `NO_NODE`."""
    sibling: list[int]
    """[N] The child of the same parent that came before, or `NO_NODE`."""

    def grow(self) -> None:
        """Add a node that is not reached yet."""
        for each in (self.parent, self.action, self.child, self.sibling):
            each.append(NO_NODE)
        for each in (self.value, self.visits, self.tried):
            each.append(0)
        self.cost.append(INFINITY)
        self.settled.append(False)

    def children(self, node: int) -> Iterator[int]:
        """Go through the children of `node`, the latest first."""
        child = self.child[node]
        while child != NO_NODE:
            yield child
            child = self.sibling[child]

    def link(self, child: int, parent: int) -> None:
        """Make `child` the latest one of `parent`, and of nobody else."""
        before = self.parent[child]
        if before != NO_NODE:
            self._unlink(child, before)
        self.parent[child] = parent
        self.sibling[child] = self.child[parent]
        self.child[parent] = child

    def _unlink(self, child: int, parent: int) -> None:
        if self.child[parent] == child:
            self.child[parent] = self.sibling[child]
            return
        for other in self.children(parent):
            if self.sibling[other] == child:
                self.sibling[other] = self.sibling[child]
                return


def new_tree(nodes: int) -> SearchTree:
    """Return a tree over so many states, none of which is in it."""
    tree = SearchTree([], [], [], [], [], [], [], [], [])
    for _ in range(nodes):
        tree.grow()
    return tree


EXPLORATION: Final = 0.1
"""How much a lack of pulls counts against the spread of values."""
LOGARITHMS: Final = [0.0, *[log(number) for number in range(1, 1024)]]
"""Natural logarithms of small numbers; those of others are made of them."""
LOGARITHM_OF_2: Final = log(2)
MULTIPLIER: Final = 0x1E3779B97F4A7C15
LOW_BITS: Final = (1 << 62) - 1


def choose(values: Sequence[int], pulls: Sequence[int], total: int) -> int:
    """Return the place of the arm to pull, the first of the best, after `total` pulls of all arms."""
    least = min(values)
    spread = float(max(values) - least) or 1.0
    wide = logarithm(total)
    scores = [
        float(value - least) / spread - EXPLORATION * sqrt(wide / many)
        for value, many in zip(values, pulls, strict=True)
    ]
    return scores.index(min(scores))


def logarithm(number: int) -> float:
    """Return about the natural logarithm of a positive number."""
    halvings = 0
    while number >= len(LOGARITHMS):
        number >>= 1
        halvings += 1
    return LOGARITHMS[number] + float(halvings) * LOGARITHM_OF_2


class Draw:
    """Random numbers from a seed (a linear congruential generator), the same as in machine code."""

    def __init__(self, seed: int) -> None:
        self._last = seed & LOW_BITS

    def below(self, many: int) -> int:
        """Return a number from 0 to `many` - 1."""
        self._last = (self._last * MULTIPLIER + 1) & LOW_BITS
        return (self._last >> 24) % many

    def shuffle(self, items: list[int]) -> list[int]:
        """Put `items` into a random order, in place, and return them."""
        for last in range(len(items) - 1, 0, -1):
            place = self.below(last + 1)
            items[last], items[place] = items[place], items[last]
        return items


UNTRIED: Final = -2
"""The arm that stands for all actions that were not tried."""


def mcts(space: Space, estimate: Estimate, run: Run) -> Steps:
    """Search for cheaper and cheaper plans until none can be cheaper, or `run.most_simulations` were made."""
    search = Mcts(space, advice(estimate), run)
    return (yield from falling(search.grown))


class Mcts:
    """The search: its `table`, and the `tree` that is grown now."""

    def __init__(self, space: Space, advise: Advice, run: Run) -> None:
        self._space, self._advise, self._run = space, advise, run
        self._draw = Draw(run.seed)
        self._weight = 1
        self.table, self.tree = Table(), new_tree(0)
        self._number(space.initial)

    def grown(self, weight: int) -> Steps:
        """Grow a tree until it has a plan that is cheaper than the best one."""
        run, table = self._run, self.table
        tree = self.tree = new_tree(len(table.state))
        self._weight = weight
        tree.settled[ROOT] = table.estimate[ROOT] >= DEAD_END or run.limit <= 0
        tree.cost[ROOT], tree.visits[ROOT] = 0, 1
        goal = ROOT if self._space.is_goal(self._space.initial) else NO_NODE
        while not tree.settled[ROOT]:
            if goal != NO_NODE:
                run.found(self._plan(goal), tree.cost[goal])
                return Ending.FIRST_PLAN
            if run.simulated:
                return Ending.INCOMPLETE
            run.simulations += 1
            goal = yield from self._simulate()
        run.proved(run.limit)
        return Ending.EXHAUSTED

    def _simulate(self) -> Generator[None, None, int]:
        """Go down, roll out, back up; return the node of a goal if one was reached, else `NO_NODE`."""
        estimate = self.table.estimate
        node = ROOT
        while (arm := self._select(node)) != NO_NODE:
            if arm != UNTRIED:
                node = arm
                continue
            child = self._try(node)
            yield
            if child == NO_NODE:
                continue
            if self._space.is_goal(self.table.state[child]):
                return child
            node, before = child, node
            if estimate[child] >= estimate[before]:
                break
        self._back_up(node)
        return NO_NODE

    def _select(self, node: int) -> int:
        """Return the child to go on with, or `UNTRIED`; `NO_NODE` where no arm is left."""
        tree, costs = self.tree, self._space.costs
        arms, values, pulls = [], [], []
        if tree.tried[node] < len(self.table.actions[node]):
            arms.append(UNTRIED)
            values.append(self._weight * self.table.estimate[node])
            pulls.append(1 + tree.tried[node])
        for child in self._open(node):
            arms.append(child)
            values.append(costs[tree.action[child]] + tree.value[child])
            pulls.append(tree.visits[child])
        return arms[choose(values, pulls, tree.visits[node])] if arms else NO_NODE

    def _open(self, node: int) -> Iterator[int]:
        """Go through the children of `node` that are not settled; those that cost too much by now are."""
        tree = self.tree
        for child in tree.children(node):
            if tree.cost[child] >= self._run.limit:
                tree.settled[child] = True
            if not tree.settled[child]:
                yield child

    def _try(self, node: int) -> int:
        """Try the next action of `node`; return what it leads to, `NO_NODE` if that was reached as cheaply before."""
        tree, table = self.tree, self.table
        action = table.actions[node][tree.tried[node]]
        tree.tried[node] += 1
        cost = tree.cost[node] + self._space.costs[action]
        if cost < self._run.limit:
            child = self._number(self._space.apply(action, table.state[node]))
            if cost < tree.cost[child] and table.estimate[child] < DEAD_END:
                self._reach(child, node, action, cost)
                return child
        return NO_NODE

    def _reach(self, child: int, node: int, action: int, cost: int) -> None:
        """Put `child` below `node`: what follows it is tried again, as it may be reached more cheaply, too."""
        tree = self.tree
        if tree.cost[child] == INFINITY:
            tree.value[child] = self._weight * self.table.estimate[child]
        tree.link(child, node)
        tree.action[child], tree.cost[child] = action, cost
        tree.tried[child], tree.settled[child] = 0, False
        tree.visits[child] += 1

    def _back_up(self, node: int) -> None:
        """Bring values up to date, from `node` to the root."""
        tree, costs = self.tree, self._space.costs
        while node != NO_NODE:
            tree.visits[node] += 1
            values = [costs[tree.action[child]] + tree.value[child] for child in self._open(node)]
            if values:
                tree.value[node] = min(values)
            elif tree.tried[node] < len(self.table.actions[node]):
                tree.value[node] = self._weight * self.table.estimate[node]
            else:
                tree.settled[node] = True
            node = tree.parent[node]

    def _number(self, state: State) -> int:
        """Return the number of `state`, which is estimated when it is new."""
        table, run = self.table, self._run
        node = table.number.setdefault(state, len(table.state))
        if node == len(table.state):
            run.evaluated += 1
            value, preferred = self._advise(state)
            table.state.append(state)
            table.estimate.append(value)
            table.actions.append(self._ordered(state, preferred) if value < DEAD_END else [])
            self.tree.grow()
        return node

    def _ordered(self, state: State, preferred: Collection[int]) -> list[int]:
        """Return the actions that can be applied in `state`: preferred ones first, else in random order."""
        actions = self._space.actions_in(state)
        self._run.expanded += 1
        self._run.generated += len(actions)
        first = [action for action in actions if action in preferred]
        others = [action for action in actions if action not in preferred]
        return self._draw.shuffle(first) + self._draw.shuffle(others)

    def _plan(self, node: int) -> list[int]:
        """Return the actions that lead to `node`."""
        actions = []
        while node != ROOT:
            actions.append(self.tree.action[node])
            node = self.tree.parent[node]
        return actions[::-1]
