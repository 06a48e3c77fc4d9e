"""The slow and obvious twin of contrastive questions: all states of a small problem, and what the steps do on the way.

A question is watched as a plan goes on: each step takes what is known so far to what is known then. The cheapest plan
that does what is asked for is the cheapest way through pairs of a state and what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from benchmarks.numeric_semantics import NumericSemantics
from benchmarks.random_problems import key_of, successors
from planner.model import Metric, Problem
from planner.model.formulas import Formula
from planner.semantics.simulation import Simulation

MOST_STATES: Final = 300
"""Most states of a problem that is asked about."""
Done = tuple[str, ...]
"""A step: the name of its action, and its arguments."""
Cover = Callable[[Done], bool]
"""Whether a step is one of those that a question names."""


class TooManyStates(Exception):
    """The problem has more states than are enumerated."""


class Unbounded(Exception):
    """A circle of steps improves the metric, so that there is no best plan."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The reachable states, as numbers from 0 (the initial one), with the steps between them and their costs.

    `holds` tells whether a part of the goal holds in a state; None where only the whole goal is known.
    """

    edges: Sequence[Sequence[tuple[Done, Fraction, int]]]
    goals: frozenset[int]
    holds: Callable[[Formula, int], bool] | None = None


def explore(problem: Problem) -> Graph:
    """Enumerate the states of a problem without numbers; raises `TooManyStates`."""
    states = [Simulation(problem)]
    numbers: dict[Hashable, int] = {key_of(states[0]): 0}
    edges: list[list[tuple[Done, Fraction, int]]] = []
    for state in states:
        edges.append([])
        for step, after in successors(state):
            key = key_of(after)
            if key not in numbers:
                numbers[key] = len(states)
                states.append(after)
            cost = 1 if problem.metric is Metric.LENGTH else state.cost(step)
            edges[-1].append(((step.action, *step.arguments), Fraction(cost), numbers[key]))
        if len(states) > MOST_STATES:
            raise TooManyStates
    goals = frozenset([number for number, state in enumerate(states) if state.holds(problem.goal.hard)])
    return Graph(edges, goals, lambda part, number: states[number].holds(part))


def explore_numbers(semantics: NumericSemantics) -> Graph:
    """Enumerate the states of a task with numbers; raises `TooManyStates`."""
    hidden = frozenset({"total-cost"})
    states = [semantics.find_initial()]
    numbers: dict[Hashable, int] = {states[0].without(hidden): 0}
    edges: list[list[tuple[Done, Fraction, int]]] = []
    for state in states:
        edges.append([])
        for step, after in semantics.successors(state):
            key = after.without(hidden)
            if key not in numbers:
                numbers[key] = len(states)
                states.append(after)
            weight = semantics.measure(after, 1) - semantics.measure(state, 0)
            edges[-1].append((tuple(step), weight, numbers[key]))
        if len(states) > MOST_STATES:
            raise TooManyStates
    return Graph(edges, frozenset([number for number, state in enumerate(states) if semantics.is_goal(state)]))


@dataclass(frozen=True, slots=True)
class Watch:
    """What a question demands of the steps of a plan.

    `progress` takes what is known so far, 0 at the start, and the next step; it returns what is known then, None where
    no plan goes on so. A plan does what is asked for if it ends with one of `accepted`.
    """

    progress: Callable[[int, Done], int | None] = lambda known, _: known
    accepted: frozenset[int] = frozenset({0})


def watch_use(covers: Cover) -> Watch:
    """Watch that some step is covered."""
    return Watch(lambda known, step: 1 if covers(step) else known, frozenset({1}))


def watch_avoid(covers: Cover) -> Watch:
    """Watch that no step is covered."""
    return Watch(lambda known, step: None if covers(step) else known)


def watch_order(first: Cover, later: Cover) -> Watch:
    """Watch that some step is one of `first` before the first one of `later`, which comes, too."""

    def progress(known: int, step: Done) -> int | None:
        if later(step):
            return 2 if known else None
        return 1 if known == 0 and first(step) else known

    return Watch(progress, frozenset({2}))


def find_least(graph: Graph, watch: Watch, goals: Iterable[int] | None = None) -> Fraction | None:
    """Return the least cost of a plan that does what is asked for, by Bellman and Ford; None where there is none.

    Raises `Unbounded`.
    """
    best: dict[tuple[int, int], Fraction] = {(0, 0): Fraction(0)}
    waiting = [(0, 0)]
    rounds = 0
    while waiting:
        rounds += 1
        if rounds > 3 * len(graph.edges) + 3:
            raise Unbounded
        changed: dict[tuple[int, int], None] = {}
        for state, known in waiting:
            for step, weight, target in graph.edges[state]:
                then = watch.progress(known, step)
                if then is None:
                    continue
                cost = best[state, known] + weight
                if (target, then) not in best or cost < best[target, then]:
                    best[target, then] = cost
                    changed[target, then] = None
        waiting = list(changed)
    wanted = graph.goals if goals is None else frozenset(goals)
    costs = [cost for (state, known), cost in best.items() if state in wanted and known in watch.accepted]
    return min(costs, default=None)


def replay(graph: Graph, watch: Watch, steps: Iterable[Done]) -> Fraction | None:
    """Return the cost of a plan; None where it is none, or does not do what is asked for."""
    state, known, cost = 0, 0, Fraction(0)
    for step in steps:
        found = next((each for each in graph.edges[state] if each[0] == step), None)
        then = watch.progress(known, step)
        if found is None or then is None:
            return None
        _, weight, state = found
        known, cost = then, cost + weight
    return cost if state in graph.goals and known in watch.accepted else None
