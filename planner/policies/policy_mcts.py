"""Monte Carlo tree search for policies, on an explicit graph of the decision process.

A simulation descends from the initial node: bandits select the options, and random numbers their outcomes. It expands
the first unexpanded node, and continues from there while the lower bounds of the cost fall. The nodes of its path are
backed up by dynamic programming: the value of an option is the expected value of its branches, and the value of a node
is that of its best option (DP-UCT and MaxUCT: Keller and Helmert, 2013). All paths to a node share it. As this makes
values depend on each other in cycles, value iteration *sweeps* over all nodes now and then
(`planner.policies.value_iteration`), and settles nodes: simulations end there, and the search ends when the initial
node is settled.

A node with many choices gets options for some of them first, and for more as it is visited more often (progressive
widening: Coulom, 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from planner.lightweight import Final
from planner.policies.decision import Aim, Hopes, Hoping, average_costs
from planner.policies.lao_star import Bounds, Check
from planner.policies.markov_decision_process import Graph, Option
from planner.policies.policy_iteration import Solution, find_best_policy
from planner.policies.value_iteration import FEWEST, Sweeps, Worth, are_equal_rewards, is_tied, new_values
from planner.portfolio.workplace import MOST_TOGETHER
from planner.search.mcts import RandomNumbers, logarithm

EXPLORATION: Final = 0.3
"""Default weight of the exploration term of the bandits, relative to the spread of values."""
WIDE: Final = 24
"""Options of a node at first, and times the square root of its visits later."""
GRAIN: Final = 1 << 30
"""Random outcomes are drawn from so many integers."""
FIRST_SWEEP: Final = 16
"""Simulations before the first sweep; each later sweep follows when there are half as many more."""


def search_by_simulations(
    graph: Graph,
    bounds: Bounds,
    check: Check,
    *,
    simulations: int | None = None,
    seed: int = 0,
    exploration: float = EXPLORATION,
) -> Solution:
    """Find a policy by so many simulations, or without a number by as many as the limits allow; set `bounds`.

    `exploration` is the weight of the exploration term of the bandits.
    `check` raises at a limit; then `graph` has the expanded nodes, too.
    """
    from planner.jit import library
    from planner.policies.policy_mcts_compiled import KernelHopes

    if isinstance(graph.aim.hopes, KernelHopes) and library.load("policy_mcts", "value_iteration"):
        from planner.policies.policy_mcts_compiled import simulate_by_kernels

        return simulate_by_kernels(graph, bounds, check, simulations, seed, exploration=exploration)
    search = Mcts(graph, seed, exploration)
    sweep = FIRST_SWEEP
    while not search.values.settled[0] and (simulations is None or bounds.simulations < simulations):
        check()
        search.simulate()
        bounds.simulations += 1
        if bounds.simulations == sweep:
            search.sweeps.sweep(check)
            sweep += sweep // 2
    return solve_known_part(graph, bounds, check)


def make_hopes(aim: Aim, check: Check) -> Hoping:
    """Return the lower bounds of the kernels, in machine code or plain Python, so that both tiers have the same.

    For costs that are too large for the kernels, and for belief states, whose unknown facts and sensing the kernels do
    not know, return those of the reference tier.
    """
    if aim.process.unknown or sum(average_costs(aim.process)) >= MOST_TOGETHER:
        return Hopes(aim.process, check)
    from planner.jit import library
    from planner.policies.policy_mcts_compiled import KernelHopes, ProcessBoard

    return KernelHopes(ProcessBoard(aim, library.load_or_plain(), check))


def solve_known_part(graph: Graph, bounds: Bounds, check: Check) -> Solution:
    """Return the best policy that stops in unexpanded nodes, which is optimal if no optimistic value is better."""
    solution = find_best_policy(graph.closed_options(), graph.aim.rewards, check)
    if not graph.is_abridged:
        hoped = find_best_policy(graph.options, graph.aim.rewards, check)
        bounds.values = tuple([values[0] for values in hoped.values])
        *rewards, cost = zip([known[0] for known in solution.values], bounds.values, strict=True)
        bounds.proved = all(are_equal_rewards(*pair) for pair in rewards) and is_tied(*cost)
    return solution


class Mcts:
    """The state of the search: `values` are those of the nodes of `graph`."""

    def __init__(self, graph: Graph, seed: int, exploration: float = EXPLORATION) -> None:
        self.graph, self._exploration = graph, exploration
        self.values = new_values(graph)
        self.sweeps = Sweeps(self.values)
        self._draw = RandomNumbers(seed)
        self._simulation = 0
        self._wide = False
        """Whether any node was ever short of options: then values are not optimistic."""

    def simulate(self) -> None:
        """Descend, expand new nodes, and back up."""
        values = self.values
        self._simulation += 1
        path, node = [], 0
        while not values.settled[node]:
            path.append(node)
            values.seen[node] = self._simulation
            values.visits[node] += 1
            fresh = self._expand(node)
            option = self._select(node)
            if option is None:
                break
            values.pulls[node][option.choice] = values.pulls[node].get(option.choice, 0) + 1
            after = self._draw_successor(node, option)
            if values.seen[after] == self._simulation or (fresh and values.hope[after] >= values.hope[node]):
                break
            node = after
        for each in reversed(path):
            values.back_up(each, hopeful=not self._wide)

    def _expand(self, node: int) -> bool:
        """Expand `node`, or widen it if it was visited often; return whether it is new."""
        graph, values = self.graph, self.values
        if not graph.inside[node]:
            waiting = values.waiting[node]
            waiting += graph.process.applicable(graph.states[node])
            if len(waiting) > WIDE:
                self._draw.shuffle(waiting)
            self._widen(node)
            return True
        options = graph.options[node]
        if values.waiting[node] and len(options) - FEWEST < WIDE * int(sqrt(values.visits[node])):
            self._widen(node)
        return False

    def _widen(self, node: int) -> None:
        """Add options for some of the waiting choices of `node`."""
        values, waiting = self.values, self.values.waiting[node]
        self._wide = self._wide or len(waiting) > WIDE
        self.graph.widen(node, waiting[:WIDE], hopeful=len(waiting) > WIDE)
        del waiting[:WIDE]
        values.grow()

    def _select(self, node: int) -> Option | None:
        """Return the option that the bandit selects; None where all are settled."""
        values = self.values
        while not (options := [each for each in self.graph.options[node] if not values.is_done(node, each)]):
            if not values.waiting[node]:
                return None
            self._widen(node)
        pulls = values.pulls[node]
        wide = logarithm(values.visits[node])
        scores = [
            loss - self._exploration * sqrt(wide / (1 + pulls.get(option.choice, 0)))
            for loss, option in zip(
                normalize_losses([values.worth(node, option) for option in options]), options, strict=True
            )
        ]
        return options[scores.index(min(scores))]

    def _draw_successor(self, node: int, option: Option) -> int:
        """Draw a successor of `option` among those that are not settled."""
        settled = self.values.settled
        open_ = [(share, after) for share, after in option.branches if after != node and not settled[after]]
        total = 0.0
        for share, _ in open_:
            total += share
        chance = self._draw.below(GRAIN) / GRAIN * total
        for share, after in open_:
            chance -= share
            if chance < 0.0:
                return after
        return open_[-1][1]


def normalize_losses(worths: Sequence[Worth]) -> list[float]:
    """Scale the loss of each option against the best one to a number from 0 to 2.

    A loss is divided by the spread of the first value in which the option is worse; 1 is added if this is a reward.
    """
    found = [0.0] * len(worths)
    tied = list(range(len(worths)))
    last = len(worths[0]) - 1
    for number in range(last):
        values = [worths[place][number] for place in tied]
        best, spread = max(values), max(values) - min(values)
        for place in tied:
            if not are_equal_rewards(worths[place][number], best):
                found[place] = 1.0 + (best - worths[place][number]) / spread
        tied = [place for place in tied if are_equal_rewards(worths[place][number], best)]
    costs = [worths[place][last] for place in tied]
    least, most = min(costs), max(costs)
    for place in tied:
        found[place] = 0.0 if is_tied(most, least) else (worths[place][last] - least) / (most - least)
    return found
