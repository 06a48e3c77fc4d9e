"""Exact solution of decision processes, as far as limits let.

`everything` looks into every state and solves what it has found once: the obvious way. `promising` is LAO* (Hansen and
Zilberstein, 2001): it looks only into states that the best policy reaches if what is unknown turns out as well as may
be hoped for, until that policy reaches nothing unknown. Between two solutions of all that is known, guesses lead on.
"""

from __future__ import annotations

from collections.abc import Callable

from planner.annotations import Final
from planner.records import dataclass
from planner.uncertain.graph import Graph
from planner.uncertain.guess import Guess
from planner.uncertain.lexicographic import Solution, best_policy

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
