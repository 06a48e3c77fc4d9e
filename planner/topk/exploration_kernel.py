"""The part of a state space on plans of bounded cost: its edges, and its distances to the goal.

The twin in plain Python is `planner.topk.exploration`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import EXHAUSTED, FULL, INFINITE, PAUSED, Index, Words, entry, kernel
from planner.jit.containers_kernel import pop, push
from planner.task.packed_facts_kernel import holds
from planner.task.packed_states_kernel import Space, apply, find_applicable
from planner.task.state_registry_kernel import CLOSED, Nodes, Registry, number_of

STATES: Final = 0
"""Places in `Edges.number`: numbers of all states, of processed states, and of edges."""
DONE: Final = 1
MADE: Final = 2
BEYOND: Final = 3
"""Lower bound on the cost of plans that leave the part."""


class Edges(NamedTuple):
    """The edges of the part, sorted by `source`; their arrays grow.

    `number` has shape (4,); `source`, `action` and `child` have one entry for each edge; `is_goal` has one for each
    state, and `first` one more: the edges of state s are those from `first[s]` to `first[s + 1]`, once they are pruned.
    """

    number: Words
    source: Index
    action: Index
    child: Index
    first: Index
    is_goal: Index


@entry
@kernel
def make_edges(
    work: int, bound: int, space: Space, registry: Registry, nodes: Nodes, made: Edges, found: Index, stack: Index
) -> int:
    """Make the edges that a plan within `bound` may take, for about `work` units of work.

    Return `PAUSED` to go on, `FULL` if there is no room for edges, or `EXHAUSTED`. The registry must have room for one
    more state, and hold all successors of `CLOSED` states.
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
                # The successor is written behind the last state, and found in the registry.
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
    """The distance `value` of each state to the goal; `INFINITE` for states on no plan within the bound.

    The edges into state s are `into[before[s]:before[s + 1]]`. `key` and `heap` have room for all edges and all states.
    """

    value: Words
    before: Index
    into: Index
    key: Words
    heap: Index


@entry
@kernel
def measure_distances(bound: int, cost: Words, reached: Words, made: Edges, to_goal: Distances) -> int:
    """Measure goal distances by a backward search (Dijkstra, 1959), and drop edges on no plan within `bound`; return 0.

    `cost` is by action, `reached` has the costs from the initial state. `before` must be full of 0, `value` of
    `INFINITE`.
    """
    number, value, before = made.number, to_goal.value, to_goal.before
    _list_incoming(made, to_goal)
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
    _drop_edges(bound, cost, reached, made, value)
    return 0


@kernel
def _list_incoming(made: Edges, to_goal: Distances) -> None:
    """List the edges by the states that they lead to (counting sort)."""
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
def _drop_edges(bound: int, cost: Words, reached: Words, made: Edges, value: Words) -> None:
    """Keep the edges on plans within `bound`, and set `first`."""
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
