"""Monte-Carlo tree search for policies: the explicit part of a process grows where values and curiosity lead.

A simulation goes down from the initial node: bandits choose the options, chance chooses what comes of them. It ends in
a node that was not looked into, which then is, and goes on from there as long as the cost that may be hoped for falls.
The nodes on its way are backed up by dynamic programming: an option is worth what its branches are worth, by their
probabilities, and a node is worth its best option (DP-UCT and MaxUCT: Keller and Helmert, 2013). Nodes are shared by
all ways to them. As that lets values wait for each other in circles, all are *swept* now and then
(`planner.policies.value_iteration`), which also finds out what is settled: simulations end there, and with the initial
node.

Where there are many choices, options are made for some of them at first, and for more the more often a node is visited
(progressive widening: Coulom, 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from planner.lightweight import Final
from planner.policies.decision import Aim, Hopes, Hoping, average_costs
from planner.policies.lao_star import Bounds, Check
from planner.policies.markov_decision_process import Graph, Option
from planner.policies.policy_iteration import Solution, best_policy
from planner.policies.value_iteration import FEWEST, Sweeps, Worth, are_equal_rewards, is_tied, new_values
from planner.portfolio.workplace import MOST_TOGETHER
from planner.search.mcts import RandomNumbers, logarithm

EXPLORATION: Final = 0.3
"""How much a lack of pulls counts against the spread of values."""
WIDE: Final = 24
"""So many options a node has at first, and so many times the square root of its visits later."""
GRAIN: Final = 1 << 30
"""Chances are drawn in so many steps."""
FIRST_SWEEP: Final = 16
"""Simulations before the first sweep; it is done again whenever they are half as many more."""


def simulated(graph: Graph, bounds: Bounds, check: Check, *, simulations: int | None = None, seed: int = 0) -> Solution:
    """Return the best policy found by so many simulations, None for as many as limits let; `bounds` is told the rest.

    `check` raises to give up: then `graph` has what was found, too.
    """
    from planner.jit import library
    from planner.policies.mdp_compiled import KernelHopes

    if isinstance(graph.aim.hopes, KernelHopes) and library.is_loaded():
        from planner.policies.policy_mcts_compiled import simulated_by_kernels

        return simulated_by_kernels(graph, bounds, check, simulations, seed)
    search = Mcts(graph, seed)
    sweep = FIRST_SWEEP
    while not search.values.settled[0] and (simulations is None or bounds.simulations < simulations):
        check()
        search.simulate()
        bounds.simulations += 1
        if bounds.simulations == sweep:
            search.sweeps.sweep(check)
            sweep += sweep // 2
    return best_known(graph, bounds, check)


def hopes_for(aim: Aim, check: Check) -> Hoping:
    """Return hopes by kernels, compiled or as they stand, so that both tiers have the same; others for great costs."""
    if sum(average_costs(aim.process)) >= MOST_TOGETHER:
        return Hopes(aim.process, check)
    from planner.jit import library
    from planner.policies.mdp_compiled import KernelHopes, ProcessBoard

    return KernelHopes(ProcessBoard(aim, library.load_or_plain(), check))


def best_known(graph: Graph, bounds: Bounds, check: Check) -> Solution:
    """Return the best policy that ends where nobody has looked; it is proved where nothing better may be hoped for."""
    solution = best_policy(graph.closed(), graph.aim.rewards, check)
    if not graph.is_abridged:
        hoped = best_policy(graph.options, graph.aim.rewards, check)
        bounds.values = tuple([values[0] for values in hoped.values])
        *rewards, cost = zip([known[0] for known in solution.values], bounds.values, strict=True)
        bounds.proved = all(are_equal_rewards(*pair) for pair in rewards) and is_tied(*cost)
    return solution


class Mcts:
    """The search: `values` are those of the nodes of `graph`."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self.graph = graph
        self.values = new_values(graph)
        self.sweeps = Sweeps(self.values)
        self._draw = RandomNumbers(seed)
        self._simulation = 0
        self._wide = False
        """Whether there ever were choices without options: then values may be worse than the truth."""

    def simulate(self) -> None:
        """Go down, look into new nodes, back up."""
        values = self.values
        self._simulation += 1
        path, node = [], 0
        while not values.settled[node]:
            path.append(node)
            values.seen[node] = self._simulation
            values.visits[node] += 1
            fresh = self._look(node)
            option = self._select(node)
            if option is None:
                break
            values.pulls[node][option.choice] = values.pulls[node].get(option.choice, 0) + 1
            after = self._drawn(node, option)
            if values.seen[after] == self._simulation or (fresh and values.hope[after] >= values.hope[node]):
                break
            node = after
        for each in reversed(path):
            values.back_up(each, hopeful=not self._wide)

    def _look(self, node: int) -> bool:
        """Look into `node`, further where it was visited often or nothing else is open; return whether it is new."""
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
        """Give `node` options for some of the choices that wait."""
        values, waiting = self.values, self.values.waiting[node]
        self._wide = self._wide or len(waiting) > WIDE
        self.graph.widen(node, waiting[:WIDE], hopeful=len(waiting) > WIDE)
        del waiting[:WIDE]
        values.grow()

    def _select(self, node: int) -> Option | None:
        """Return the option to take; None where nothing is to be learnt."""
        values = self.values
        while not (options := [each for each in self.graph.options[node] if not values.is_done(node, each)]):
            if not values.waiting[node]:
                return None
            self._widen(node)
        pulls = values.pulls[node]
        wide = logarithm(values.visits[node])
        scores = [
            loss - EXPLORATION * sqrt(wide / (1 + pulls.get(option.choice, 0)))
            for loss, option in zip(losses([values.worth(node, option) for option in options]), options, strict=True)
        ]
        return options[scores.index(min(scores))]

    def _drawn(self, node: int, option: Option) -> int:
        """Return what comes of `option`, by chance, among what is not settled."""
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


def losses(worths: Sequence[Worth]) -> list[float]:
    """Return for each of some options how much worse than the best it is, from 0 to 2.

    What is worse in one respect is set against the spread in that, and 1 is added where it is not the last.
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
