"""Exact solution of decision processes, as far as limits let.

`everything` looks into every state and solves what it has found once: the obvious way. `promising` is LAO* (Hansen and
Zilberstein, 2001): it looks only into states that the best policy reaches if what is unknown turns out as well as may
be hoped for, until that policy reaches nothing unknown. Whole batches of states are looked into between two solutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.annotations import Final
from planner.records import dataclass
from planner.uncertain.graph import STOP, Graph, Option
from planner.uncertain.lexicographic import Solution, best_policy

GROWTH: Final = 0.3
"""By this part of its nodes a graph grows at least before it is solved again."""
LEAST: Final = 20
"""And by so many nodes."""

Check = Callable[[], None]


@dataclass(slots=True)
class Bounds:
    """What is proved about the initial state: no policy has more of a reward, nor, if it has as much, less cost.

    `simulations` were made for it, where that is the search.
    """

    values: tuple[float, ...]
    proved: bool = False
    simulations: int = 0


Search = Callable[[Graph, Bounds, Check], Solution]
"""What looks into a graph, tells what is proved, and returns the best policy; it calls the check often."""


def everything(graph: Graph, bounds: Bounds, check: Check) -> Solution:
    """Look into all nodes of `graph` and return the best policy; `bounds` is told what is proved."""
    number = 0
    while number < len(graph):
        check()
        if not graph.inside[number]:
            graph.expand(number)
        number += 1
    return _noted(graph, bounds, check)


def promising(graph: Graph, bounds: Bounds, check: Check) -> Solution:
    """Return the best policy as `everything` does, looking only into nodes where it may lead."""
    while True:
        solution = _noted(graph, bounds, check)
        unknown = [node for node in reached(solution) if not graph.inside[node]]
        bounds.proved = not unknown
        if not unknown:
            return solution
        _grow(graph, unknown, check)


def _noted(graph: Graph, bounds: Bounds, check: Check) -> Solution:
    solution = best_policy(graph.options, graph.aim.rewards, check)
    bounds.values = tuple([values[0] for values in solution.values])
    bounds.proved = all(graph.inside)
    return solution


def _grow(graph: Graph, unknown: Iterable[int], check: Check) -> None:
    """Look into the `unknown` nodes, and from there on where it seems best."""
    queue = [*unknown]
    most = max(len(queue), LEAST, int(GROWTH * sum(graph.inside)))
    done = 0
    for node in queue:
        if done >= most:
            return
        if graph.inside[node]:
            continue
        check()
        graph.expand(node)
        done += 1
        best = min(graph.options[node], key=lambda option: _promise(graph, option))
        queue += [after for _, after in best.branches]


def _promise(graph: Graph, option: Option) -> tuple[float, ...]:
    """Return what to prefer among the options of a node just looked into, the least first."""
    if option.choice == STOP:
        return (*[-value for value in option.worth], option.cost)
    total = [0.0] * graph.aim.rewards
    cost = option.cost
    for share, after in option.branches:
        hope = graph.options[after][0]
        cost += share * hope.cost
        total = [value - share * each for value, each in zip(total, hope.worth, strict=True)]
    return (*total, cost)


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
