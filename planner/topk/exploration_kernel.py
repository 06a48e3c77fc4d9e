"""The part of the state space that plans of up to some cost go through: its edges, and exact distances to the goal.

The twin is `planner.topk.exploration`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import EXHAUSTED, FULL, INFINITE, PAUSED, Index, Words, entry, kernel
from planner.jit.containers_kernel import pop, push
from planner.task.packed_states_kernel import Space, apply, find_applicable, holds
from planner.task.state_registry_kernel import CLOSED, Nodes, Registry, number_of

STATES: Final = 0
"""Places in `Edges.number`: how many states there are, how many were looked at, how many edges were made."""
DONE: Final = 1
MADE: Final = 2
BEYOND: Final = 3
"""What a plan costs at least that was left out."""
GIVEN: Final = 4
"""How many numbers there are in `Edges.number`."""


class Edges(NamedTuple):
    """Edges by number, in ascending order of the states that they leave; `is_goal` and `first` by state.

    The edges of state s are those from `first[s]` up to `first[s + 1]`, once that is known.
    """

    number: Words
    source: Index
    action: Index
    child: Index
    first: Index
    is_goal: Index


@entry
@kernel
def edges(
    work: int, bound: int, space: Space, registry: Registry, nodes: Nodes, made: Edges, found: Index, stack: Index
) -> int:
    """Make the edges that a plan within `bound` may take, for about `work` steps; return how that ended.

    It may go on: `PAUSED`, `FULL` or `EXHAUSTED`. Behind the last state, there must be room for another. All that
    `CLOSED` states lead to must be known.
    """
    number, words = made.number, len(registry.state) // len(nodes.parent)
    states, done = number[STATES], 0
    while number[DONE] < states:
        state = number[DONE] + 0
        if done >= work:
            return PAUSED
        done += 10
        if (
            nodes.cost[state] <= bound
            and not nodes.bound[state]
            and holds(space.goal, 0, registry.state, state * words)
        ):
            made.is_goal[state] = 1
        if nodes.cost[state] <= bound and nodes.stage[state] == CLOSED:
            count = find_applicable(space.tree, registry.state, state * words, found, stack)
            if number[MADE] + count > len(made.source):
                return FULL
            done += 20 * count
            for index in range(count):
                action = found[index] + 0
                apply(space, action, registry.state, state * words, states * words, words)
                child = number_of(registry, states, words)
                f = nodes.cost[state] + space.actions.cost[action] + nodes.bound[child]
                if f <= bound:
                    edge = number[MADE] + 0
                    number[MADE] = edge + 1
                    made.source[edge], made.action[edge], made.child[edge] = state, action, child
                else:
                    number[BEYOND] = min(number[BEYOND], f)
        number[DONE] = state + 1
    return EXHAUSTED


class Distances(NamedTuple):
    """What it costs from each state to the goal; `INFINITE` for states that no plan within the bound goes through.

    Edges into state s are `into[before[s]:before[s + 1]]`. `key` and `heap` are room for all edges and all states.
    """

    value: Words
    before: Index
    into: Index
    key: Words
    heap: Index


@entry
@kernel
def distances(bound: int, cost: Words, reached: Words, made: Edges, to_goal: Distances) -> int:
    """Find the distances, where actions have a `cost` and states were `reached` at theirs (Dijkstra, 1959); returns 0.

    Then drop the edges that no plan within `bound` takes. `before` must be full of 0 and `value` of `INFINITE`.
    """
    number, value, before = made.number, to_goal.value, to_goal.before
    _turn(made, to_goal)
    waiting = 0
    for state in range(number[STATES]):
        if made.is_goal[state]:
            value[state] = 0
            waiting = push(to_goal.key, to_goal.heap, waiting, 0, state)
    while waiting:
        distance, state = to_goal.key[0] + 0, to_goal.heap[0] + 0
        waiting = pop(to_goal.key, to_goal.heap, waiting)
        if distance > value[state]:
            continue
        for place in range(before[state], before[state + 1]):
            edge = to_goal.into[place]
            source = made.source[edge] + 0
            total = distance + cost[made.action[edge]]
            if reached[source] + total > bound:
                number[BEYOND] = min(number[BEYOND], reached[source] + total)
            elif total < value[source]:
                value[source] = total
                waiting = push(to_goal.key, to_goal.heap, waiting, total, source)
    _drop(bound, cost, reached, made, value)
    return 0


@kernel
def _turn(made: Edges, to_goal: Distances) -> None:
    """List the edges by the states that they lead into."""
    before, many = to_goal.before, made.number[MADE]
    for edge in range(many):
        before[made.child[edge] + 1] += 1
    for state in range(made.number[STATES]):
        before[state + 1] += before[state]
    for edge in range(many):
        child = made.child[edge]
        place = before[child] + 0
        to_goal.into[place] = edge
        before[child] = place + 1
    for state in range(made.number[STATES], 0, -1):
        before[state] = before[state - 1]
    before[0] = 0


@kernel
def _drop(bound: int, cost: Words, reached: Words, made: Edges, value: Words) -> None:
    """Keep the edges that a plan within `bound` takes, and note where those of each state begin."""
    number, kept, next_state = made.number, 0, 0
    for edge in range(number[MADE]):
        source, child = made.source[edge] + 0, made.child[edge] + 0
        if value[child] == INFINITE or reached[source] + cost[made.action[edge]] + value[child] > bound:
            continue
        while next_state <= source:
            made.first[next_state] = kept
            next_state += 1
        made.source[kept], made.action[kept], made.child[kept] = source, made.action[edge], child
        kept += 1
    while next_state <= number[STATES]:
        made.first[next_state] = kept
        next_state += 1
    number[MADE] = kept
