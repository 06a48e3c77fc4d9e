"""Exact solution of Markov decision processes: all states at once, or by LAO* (Hansen and Zilberstein, 2001).

`everything` expands every state and solves the process once: the obvious way. `promising` expands only states that the
best policy reaches if unexpanded states turn out as well as may be hoped for, until the policy reaches none of these.
Between two exact solutions, guesses of the values are brought up to date along the way. They lead to the nodes that
matter and prove nothing: in cycles, they may never converge.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.lightweight import Final, dataclass
from planner.policies.markov_decision_process import Graph, Option
from planner.policies.policy_iteration import Solution, best_policy

Value = tuple[float, ...]
"""What there is to pay, the more important first: rewards lost, then the cost."""

DIGITS: Final = 9
"""To so many digits, rewards are compared."""


class Guess:
    """What each node of a graph may be worth at best, for all that is known."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: list[Value] = []

    def correct(self, solution: Solution) -> None:
        """Take over the values of a solution of all that was known."""
        *rewards, costs = solution.values
        self.values = list(zip(*[[round(-each, DIGITS) for each in values] for values in rewards], costs, strict=True))

    def deepened(self, check: Callable[[], None]) -> int:
        """Follow the best options depth first, look into what was not looked into, and return how many nodes that was.

        On the way back, values are brought up to date (improved LAO*: Hansen and Zilberstein, 2001).
        """
        graph, done = self.graph, 0
        met = {0}
        path = [(0, self._after(0))]
        while path:
            node, following = path[-1]
            if not following:
                path.pop()
                self._best(node)
                continue
            after = following.pop()
            if after in met:
                continue
            met.add(after)
            if graph.inside[after]:
                path.append((after, self._after(after)))
            else:
                check()
                self.look(after)
                done += 1
        return done

    def look(self, node: int) -> None:
        """Look into `node`."""
        graph = self.graph
        graph.expand(node)
        for new in range(len(self.values), len(graph)):
            first = graph.options[new][0]
            self.values.append((*[round(-each, DIGITS) for each in first.worth], first.cost))
        self._best(node)

    def _after(self, node: int) -> list[int]:
        return [after for _, after in self._best(node).branches]

    def _best(self, node: int) -> Option:
        """Return the best option of `node`, and note what it makes of the node's value."""
        best, value = min(
            [(option, self._worth(option, node)) for option in self.graph.options[node]], key=lambda found: found[1]
        )
        self.values[node] = max(value, self.values[node])
        return best

    def _worth(self, option: Option, node: int) -> Value:
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
"""By this part of its nodes a graph grows at least before it is solved again."""
LEAST: Final = 20
"""And by about so many nodes."""

ALL: Final = float("inf")

Check = Callable[[], None]


@dataclass(slots=True)
class Bounds:
    """What is proved about the initial state: no policy has more of a reward, nor, if it has as much, less cost.

    `simulations` were made for it, or `plans` looked for, where that is the search; of
    the runs that were `tried` in which one plans again wherever one has to, so many reached the goal.
    """

    values: tuple[float, ...]
    proved: bool = False
    simulations: int = 0
    plans: int = 0
    tried: tuple[int, int] = (0, 0)
    solution: Solution | None = None
    """The latest solution of what was known, with what might be hoped for elsewhere."""


Search = Callable[[Graph, Bounds, Check], Solution | None]
"""What looks into a graph, tells what is proved, and returns the best policy; it calls the check often.

None where it has done its share, and there is more to do.
"""


def everything(graph: Graph, bounds: Bounds, check: Check, most: float = ALL) -> Solution | None:
    """Look into all nodes of `graph` and return the best policy; `bounds` is told what is proved.

    None where there are more than `most` nodes.
    """
    number = 0
    while number < len(graph):
        if len(graph) > most:
            return None
        check()
        if not graph.inside[number]:
            graph.expand(number)
        number += 1
    return _noted(graph, bounds, check)


def promising(graph: Graph, bounds: Bounds, check: Check, most: float = ALL) -> Solution | None:
    """Return the best policy as `everything` does, looking only into nodes where it may lead.

    None where more than `most` nodes would have to be looked into; it can be called again with more.
    """
    guess = Guess(graph)
    while True:
        solution = _noted(graph, bounds, check)
        unknown = [node for node in reached(solution) if not graph.inside[node]]
        bounds.proved = not unknown
        if not unknown:
            return solution
        if sum(graph.inside) >= most:
            return None
        guess.correct(solution)
        for node in unknown:
            check()
            guess.look(node)
        left = len(graph) * GROWTH + LEAST
        while left > 0 and (done := guess.deepened(check)):
            left -= done


def _noted(graph: Graph, bounds: Bounds, check: Check) -> Solution:
    solution = best_policy(graph.options, graph.aim.rewards, check)
    bounds.values = tuple([values[0] for values in solution.values])
    bounds.proved = all(graph.inside)
    bounds.solution = solution
    return solution


def reached(solution: Solution) -> list[int]:
    """Return the nodes that the policy may reach from the initial one, breadth first."""
    found = {0: None}
    queue = [0]
    for node in queue:
        option = solution.chosen[node]
        for _, after in option.branches if option is not None else ():
            if after not in found:
                found[after] = None
                queue.append(after)
    return queue
