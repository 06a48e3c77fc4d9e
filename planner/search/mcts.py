"""Monte Carlo tree search for plans, with bandits over the actions of each state.

A simulation descends from the root to an untried action, and continues from its successor while estimates fall; the
states of this short rollout stay in the tree. Then values are backed up: the value of a state is the least cost of an
action plus the value of its successor (full Bellman backups: Keller and Helmert, 2013; Schulte and Keller, 2014). Each
state is one node, at the end of the cheapest known path; the transposition table outlives the trees. A node below which
there can be no better plan is *settled*; a settled root proves the incumbent optimal.

All untried actions are one arm of the bandit of a state, beside the tried actions (progressive widening: Coulom, 2007);
preferred actions are tried first, the others in an order drawn from the seed. UCB1 (Auer, 2002) selects the arm, with
values scaled by their spread (Schulte and Keller, 2014). Logarithms and random numbers are computed as in the kernel,
so that both select the same arms. One tree grows for each of a row of falling weights of the estimate.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from math import log, sqrt

from planner.lightweight import Final, dataclass, field
from planner.search.lazy_best_first import lower_weights
from planner.search.search_run import DEAD_END, Advice, Ending, Estimate, Run, Steps, as_advice
from planner.task.ground_task import INFINITY, State
from planner.task.successor_generator import Space

ROOT: Final = 0
NO_NODE: Final = -1
"""No parent, no child, no sibling, no action."""


@dataclass(frozen=True, slots=True)
class Table:
    """The transposition table: the N states that were reached in any tree; the initial state is number `ROOT`."""

    number: dict[State, int] = field(default_factory=dict)
    state: list[State] = field(default_factory=list)
    """[N]"""
    estimate: list[int] = field(default_factory=list)
    """[N] Estimated cost of reaching the goal, or `DEAD_END`."""
    actions: list[list[int]] = field(default_factory=list)
    """[N] Applicable actions, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class SearchTree:
    """A tree over the N states of the table; the cost of a state outside the tree is `INFINITY`."""

    parent: list[int]
    """[N] `NO_NODE` for the root."""
    action: list[int]
    """[N] Action that leads from the parent to this node."""
    cost: list[int]
    """[N] Cost of the path from the root."""
    value: list[int]
    """[N] Backed-up estimate of the cost of reaching the goal."""
    visits: list[int]
    """[N] Simulations that passed through the node, plus one."""
    tried: list[int]
    """[N] Number of actions that were tried."""
    settled: list[bool]
    """[N] Whether no plan through this node can be better than the incumbent."""
    child: list[int]
    """[N] Latest child, or `NO_NODE`."""
    sibling: list[int]
    """[N] Next older child of the same parent, or `NO_NODE`."""

    def grow(self) -> None:
        """Add a node that is not reached yet."""
        for each in (self.parent, self.action, self.child, self.sibling):
            each.append(NO_NODE)
        for each in (self.value, self.visits, self.tried):
            each.append(0)
        self.cost.append(INFINITY)
        self.settled.append(False)

    def children(self, node: int) -> Iterator[int]:
        """Yield the children of `node`, the latest first."""
        child = self.child[node]
        while child != NO_NODE:
            yield child
            child = self.sibling[child]

    def link(self, child: int, parent: int) -> None:
        """Make `child` the latest child of `parent`, and remove it from its old parent."""
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
    """Allocate a tree over this number of states that contains none of them."""
    tree = SearchTree([], [], [], [], [], [], [], [], [])
    for _ in range(nodes):
        tree.grow()
    return tree


EXPLORATION: Final = 0.1
"""Weight of the exploration term of UCB1, relative to the spread of values."""
GRAIN: Final = float(1 << 32)
"""Logarithms are rounded down to multiples of 1 / GRAIN: the last digits of `math.log` depend on the platform."""
LOGARITHMS: Final = [0.0, *[int(log(number) * GRAIN) / GRAIN for number in range(1, 1024)]]
"""Natural logarithms of small numbers, from which those of larger numbers are computed."""
LOGARITHM_OF_2: Final = LOGARITHMS[2]
MULTIPLIER: Final = 0x1E3779B97F4A7C15
LOW_BITS: Final = (1 << 62) - 1


def select_arm(values: Sequence[int], pulls: Sequence[int], total: int) -> int:
    """Return the index of the arm that UCB1 selects after `total` pulls; the first one of equals."""
    least = min(values)
    spread = float(max(values) - least) or 1.0
    wide = logarithm(total)
    scores = [
        float(value - least) / spread - EXPLORATION * sqrt(wide / many)
        for value, many in zip(values, pulls, strict=True)
    ]
    return scores.index(min(scores))


def logarithm(number: int) -> float:
    """Return an approximation of the natural logarithm of a positive number."""
    halvings = 0
    while number >= len(LOGARITHMS):
        number >>= 1
        halvings += 1
    return LOGARITHMS[number] + float(halvings) * LOGARITHM_OF_2


class RandomNumbers:
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
"""The arm of all untried actions."""


def mcts(space: Space, estimate: Estimate, run: Run) -> Steps:
    """Search for cheaper and cheaper plans until none can be cheaper, or `run.most_simulations` were made."""
    search = Mcts(space, as_advice(estimate), run)
    return (yield from lower_weights(search.grow_tree))


class Mcts:
    """The state of the search: the transposition `table` and the current `tree`."""

    def __init__(self, space: Space, advise: Advice, run: Run) -> None:
        self._space, self._advise, self._run = space, advise, run
        self._draw = RandomNumbers(run.seed)
        self._weight = 1
        self.table, self.tree = Table(), new_tree(0)
        self._look_up(space.initial, 0, None)

    def grow_tree(self, weight: int) -> Steps:
        """Grow a tree until it contains a plan that is cheaper than the best one."""
        run, table = self._run, self.table
        tree = self.tree = new_tree(len(table.state))
        self._weight = weight
        tree.settled[ROOT] = table.estimate[ROOT] >= DEAD_END or run.limit <= 0
        tree.cost[ROOT], tree.visits[ROOT] = 0, 1
        goal = ROOT if self._space.is_goal(self._space.initial) else NO_NODE
        while not tree.settled[ROOT]:
            if goal != NO_NODE:
                run.report_plan(self._plan(goal), tree.cost[goal])
                return Ending.FIRST_PLAN
            if run.has_made_all_simulations:
                return Ending.INCOMPLETE
            run.simulations += 1
            goal = yield from self._simulate()
        run.raise_bound(run.limit)
        return Ending.EXHAUSTED

    def _simulate(self) -> Generator[None, None, int]:
        """Descend, roll out and back up; return the node of a goal state if one was reached, else `NO_NODE`."""
        estimate = self.table.estimate
        node = ROOT
        # Descend along tried arms. An untried arm adds a node; from there go on as long as the estimate falls.
        while (arm := self._select(node)) != NO_NODE:
            if arm != UNTRIED:
                node = arm
                continue
            child = self._try_action(node)
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
        """Return the child to descend to, or `UNTRIED`; `NO_NODE` if no arm is left."""
        tree, costs = self.tree, self._space.costs
        arms, values, pulls = [], [], []
        if tree.tried[node] < len(self.table.actions[node]):
            arms.append(UNTRIED)
            values.append(self._weight * self.table.estimate[node])
            pulls.append(1 + tree.tried[node])
        for child in self._open_children(node):
            arms.append(child)
            values.append(costs[tree.action[child]] + tree.value[child])
            pulls.append(tree.visits[child])
        return arms[select_arm(values, pulls, tree.visits[node])] if arms else NO_NODE

    def _open_children(self, node: int) -> Iterator[int]:
        """Yield the children of `node` that are not settled; settle those whose cost has reached the limit."""
        tree = self.tree
        for child in tree.children(node):
            if tree.cost[child] >= self._run.limit:
                tree.settled[child] = True
            if not tree.settled[child]:
                yield child

    def _try_action(self, node: int) -> int:
        """Apply the next untried action of `node`; return the child, or `NO_NODE` if that was reached as cheaply."""
        tree, table = self.tree, self.table
        action = table.actions[node][tree.tried[node]]
        tree.tried[node] += 1
        cost = tree.cost[node] + self._space.costs[action]
        if cost < self._run.limit:
            child = self._look_up(self._space.apply(action, table.state[node]), cost, action)
            if cost < tree.cost[child] and table.estimate[child] < DEAD_END:
                self._add_child(child, node, action, cost)
                return child
        return NO_NODE

    def _add_child(self, child: int, node: int, action: int, cost: int) -> None:
        """Put `child` below `node`; its actions are tried again, since its successors may be cheaper to reach, too."""
        tree = self.tree
        if tree.cost[child] == INFINITY:
            tree.value[child] = self._weight * self.table.estimate[child]
        tree.link(child, node)
        tree.action[child], tree.cost[child] = action, cost
        tree.tried[child], tree.settled[child] = 0, False
        tree.visits[child] += 1

    def _back_up(self, node: int) -> None:
        """Update values and visits from `node` to the root."""
        tree = self.tree
        while node != NO_NODE:
            tree.visits[node] += 1
            value = self._value_of(node)
            if value is None:
                tree.settled[node] = True
            else:
                tree.value[node] = value
            node = tree.parent[node]

    def _value_of(self, node: int) -> int | None:
        """Return the least cost by an open child of `node`; without any its estimate, or None if no action is left."""
        tree, costs = self.tree, self._space.costs
        values = [costs[tree.action[child]] + tree.value[child] for child in self._open_children(node)]
        if values:
            return min(values)
        if tree.tried[node] < len(self.table.actions[node]):
            return self._weight * self.table.estimate[node]
        return None

    def _look_up(self, state: State, cost: int, action: int | None) -> int:
        """Return the number of `state`; evaluate it if it is new, which `action` then reached at this `cost`."""
        table, run = self.table, self._run
        node = table.number.setdefault(state, len(table.state))
        if node == len(table.state):
            run.evaluated += 1
            value, preferred = self._advise(state)
            if run.watch is not None and value < DEAD_END:
                run.watch.expand(self._space.task, state, cost, value, action)
            table.state.append(state)
            table.estimate.append(value)
            table.actions.append(self._order_actions(state, preferred) if value < DEAD_END else [])
            self.tree.grow()
        return node

    def _order_actions(self, state: State, preferred: Collection[int]) -> list[int]:
        """Return the applicable actions of `state` in random order, preferred ones first."""
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
