"""Monte-Carlo tree search for plans: a tree that grows where estimates promise most, and now and then elsewhere.

Each simulation walks down from the root to an action that was not tried yet, and goes on from the state behind it as
long as estimates fall: a short rollout whose states stay in the tree. Then values are backed up: a state is worth its
best way on (full Bellman backups: Keller and Helmert, 2013; Schulte and Keller, 2014). A state is in the tree once, at
the end of the cheapest way to it that is known; where nothing below can be part of a better plan it is *settled*, and
when the root is, the best plan is proved optimal.

What was not tried in a state is one arm of its bandit, beside those that were: states are widened step by step (Coulom,
2007), by preferred actions first and then the others, in an order drawn from a seed. A tree is grown for each of a row
of falling weights of the estimate, until it has a better plan; all of them share what is known of the states.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator

from planner.annotations import Final
from planner.search.bandit import Draw, choose
from planner.search.run import DEAD_END, Advice, Ending, Estimate, Run, Steps, advice
from planner.search.search_tree import NO_NODE, ROOT, Table, new_tree
from planner.search.space import Space
from planner.search.weighted import falling
from planner.task import INFINITY, State

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
