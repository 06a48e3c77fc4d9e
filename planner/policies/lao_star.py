"""Exact solution of Markov decision processes: all states at once, or by LAO* (Hansen and Zilberstein, 2001).

`search_all_states` expands every state and solves the process once. `search_promising_states` expands only states that
the optimal policy reaches, with optimistic values for unexpanded states, until the policy reaches none of these.
Between two exact solutions, LAO* updates approximate values depth first: they select states to expand and prove
nothing, as they may never converge in cycles.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.lightweight import Final, dataclass
from planner.policies.markov_decision_process import Graph, Option
from planner.policies.policy_iteration import Solution, find_best_policy

Value = tuple[float, ...]
"""Negated rewards, the more important first, and then the cost: smaller is better."""

DIGITS: Final = 9
"""Decimal digits to which rewards are rounded before they are compared."""


class Guess:
    """Approximate optimistic values of the nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: list[Value] = []

    def correct(self, solution: Solution) -> None:
        """Set the values to those of an exact solution."""
        *rewards, costs = solution.values
        self.values = list(zip(*[[round(-each, DIGITS) for each in values] for values in rewards], costs, strict=True))

    def deepen(self, check: Callable[[], None]) -> int:
        """Follow the best options depth first, expand all unexpanded nodes there, and return their number.

        Values are updated in postorder (improved LAO*: Hansen and Zilberstein, 2001).
        """
        graph, done = self.graph, 0
        met = {0}
        path = [(0, self._successors(0))]
        while path:
            node, following = path[-1]
            if not following:
                path.pop()
                self._best_option(node)
                continue
            after = following.pop()
            if after in met:
                continue
            met.add(after)
            if graph.inside[after]:
                path.append((after, self._successors(after)))
            else:
                check()
                self.expand(after)
                done += 1
        return done

    def expand(self, node: int) -> None:
        """Expand `node`, with optimistic values for new nodes."""
        graph = self.graph
        graph.expand(node)
        for new in range(len(self.values), len(graph)):
            first = graph.options[new][0]
            self.values.append((*[round(-each, DIGITS) for each in first.worth], first.cost))
        self._best_option(node)

    def _successors(self, node: int) -> list[int]:
        return [after for _, after in self._best_option(node).branches]

    def _best_option(self, node: int) -> Option:
        """Return the best option of `node`, and update the value of the node."""
        best, value = min(
            [(option, self._value_of(option, node)) for option in self.graph.options[node]], key=lambda found: found[1]
        )
        self.values[node] = max(value, self.values[node])
        return best

    def _value_of(self, option: Option, node: int) -> Value:
        if not option.branches:
            return (*[round(-each, DIGITS) for each in option.worth], option.cost)
        values, size = self.values, self.graph.aim.rewards + 1
        sums, rest = [0.0] * size, 0.0
        for share, after in option.branches:
            if after != node:
                rest += share
                for place, each in enumerate(values[after]):
                    sums[place] += share * each
        *rewards, cost = [each / rest for each in sums]
        return (*[round(each, DIGITS) for each in rewards], cost + option.cost / rest)


GROWTH: Final = 0.3
"""Fraction of its nodes by which a graph grows before it is solved again."""
LEAST: Final = 20
"""Nodes by which it grows in addition."""

ALL: Final = float("inf")

Check = Callable[[], None]


@dataclass(slots=True)
class Bounds:
    """The bounds that a search has proved for the initial state, and its statistics."""

    values: tuple[float, ...]
    """Upper bounds of the rewards, and a lower bound of the cost of policies that have these rewards."""
    proved: bool = False
    """Whether an optimal policy has these values."""
    simulations: int = 0
    plans: int = 0
    """Plans that were searched for."""
    tried: tuple[int, int] = (0, 0)
    """Sampled runs with replanning, and how many of them reached the goal."""
    solution: Solution | None = None
    """The latest solution of the expanded graph, with optimistic values elsewhere."""


Search = Callable[[Graph, Bounds, Check], Solution | None]
"""A search expands a graph, sets the bounds, and returns an optimal policy, or None when its turn has ended."""


def search_all_states(graph: Graph, bounds: Bounds, check: Check, most: float = ALL) -> Solution | None:
    """Expand all nodes of `graph`, set `bounds`, and return the optimal policy; None for more than `most` nodes."""
    number = 0
    while number < len(graph):
        if len(graph) > most:
            return None
        check()
        if not graph.inside[number]:
            graph.expand(number)
        number += 1
    return _solve_graph(graph, bounds, check)


def search_promising_states(graph: Graph, bounds: Bounds, check: Check, most: float = ALL) -> Solution | None:
    """Find the optimal policy by LAO*; return None when `most` nodes are expanded: another call continues.

    `bounds` is set to what is proved.
    """
    guess = Guess(graph)
    while True:
        solution = _solve_graph(graph, bounds, check)
        unknown = [node for node in find_reachable(solution) if not graph.inside[node]]
        bounds.proved = not unknown
        if not unknown:
            return solution
        if sum(graph.inside) >= most:
            return None
        guess.correct(solution)
        for node in unknown:
            check()
            guess.expand(node)
        left = len(graph) * GROWTH + LEAST
        while left > 0 and (done := guess.deepen(check)):
            left -= done


def _solve_graph(graph: Graph, bounds: Bounds, check: Check) -> Solution:
    solution = find_best_policy(graph.options, graph.aim.rewards, check)
    bounds.values = tuple([values[0] for values in solution.values])
    bounds.proved = all(graph.inside)
    bounds.solution = solution
    return solution


def find_reachable(solution: Solution) -> list[int]:
    """Return the nodes that the policy may reach from the initial node, in breadth-first order."""
    found = {0: None}
    queue = [0]
    for node in queue:
        option = solution.chosen[node]
        for _, after in option.branches if option is not None else ():
            if after not in found:
                found[after] = None
                queue.append(after)
    return queue
