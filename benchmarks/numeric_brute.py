"""The slow and obvious twin of planning with numbers: every reachable state of the PDDL text, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from benchmarks.numeric_semantics import NumericSemantics, State, Term
from benchmarks.random_numeric import COST, NumericTask

COSTS = frozenset({COST})
"""What nothing but the metric reads, so that states which differ in nothing else are one."""


class TooManyStates(Exception):
    """The task has more reachable states than the caller wanted to look at."""


class Unbounded(Exception):
    """For each plan there is a better one: a circle of steps improves the metric."""


@dataclass(frozen=True)
class Best:
    """The value of the metric after a best plan, less being better also where the metric is maximised, and the plan."""

    value: Fraction
    steps: tuple[Term, ...]


def find_best(task: NumericTask, max_states: int = 500) -> Best | None:
    """Return a best plan, by Bellman and Ford over all reachable states; None where there is no plan.

    The metric is linear, so that what a step adds to it depends on the state without the costs alone. Raises
    `TooManyStates` and `Unbounded`.
    """
    semantics = NumericSemantics(task.domain, task.problem)
    states, edges = find_edges(semantics, max_states)
    start = semantics.find_initial()
    best = {start.without(COSTS): Best(semantics.measure(start, 0), ())}
    for _ in range(len(states)):
        before = dict(best)
        for origin, step, weight, target in edges:
            known = best.get(origin)
            if known is not None and (target not in best or known.value + weight < best[target].value):
                best[target] = Best(known.value + weight, (*known.steps, step))
        if before == best:
            break
    else:
        refuse_circles(states, edges, best, semantics)
    reached = [best[key] for key, state in states.items() if semantics.is_goal(state)]
    return min(reached, key=lambda one: one.value, default=None)


Edge = tuple[State, Term, Fraction, State]


def find_edges(semantics: NumericSemantics, max_states: int) -> tuple[dict[State, State], list[Edge]]:
    """Return the reachable states by their keys, and what each step between them adds to the metric."""
    start = semantics.find_initial()
    states, edges, queue = {start.without(COSTS): start}, [], [start]
    for state in queue:
        for step, after in semantics.successors(state):
            key = after.without(COSTS)
            edges.append((state.without(COSTS), step, semantics.measure(after, 1) - semantics.measure(state, 0), key))
            if key not in states:
                states[key] = after
                queue.append(after)
        if len(states) > max_states:
            raise TooManyStates
    return states, edges


def refuse_circles(
    states: dict[State, State], edges: list[Edge], best: dict[State, Best], semantics: NumericSemantics
) -> None:
    """Raise `Unbounded` if a state that still improves after as many rounds as there are states leads to the goal."""
    reached = {target for origin, _, weight, target in edges if best[origin].value + weight < best[target].value}
    for _ in states:
        reached |= {target for origin, _, _, target in edges if origin in reached}
    if any(semantics.is_goal(states[key]) for key in reached):
        raise Unbounded
