"""Lazy greedy best-first search for numeric tasks, with helpful actions and macro steps.

As in LAMA (Richter and Westphal, 2010), a state is evaluated when it is expanded; its edges wait in two queues, one for
all and one for the helpful actions, which are those of its relaxed plan. A helpful action that the relaxed plan repeats
has an edge that repeats it as often as it can be applied, up to so many times. Other edges may jump: they repeat an
action until a fact changes, such as a condition that begins to hold. States with a value of a variable that no state
with the same estimate had may come first (best-first width search: Lipovetzky and Geffner, 2017).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.numeric_demands_kernel import DemandRoom, NumericDemands, meet_demands
from planner.heuristics.numeric_relaxation_kernel import NumericRelaxed, NumericRoom, estimate_numeric
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import EXHAUSTED, FOUND, FULL, INFINITE, PAUSED, Index, Words, entry, kernel
from planner.jit.containers_kernel import pop, push
from planner.task.packed_facts_kernel import Conditions, holds
from planner.task.packed_numbers_kernel import APPLIED, OUT_OF_RANGE
from planner.task.packed_states_kernel import Space, apply, find_applicable
from planner.task.state_registry_kernel import LOW_BITS, MULTIPLIER, Registry, number_of

OLD: Final = 1 << 29
"""Added to the estimates of states that are not novel; greater estimates count as equal."""
BOOST: Final = 1000
"""Turns that the queue of helpful actions gains when the best estimate improves."""
JUMP: Final = 0
"""Stands for the number of repetitions up to the next one that changes a fact."""
LONGEST_JUMP: Final = 1 << 10
"""Most repetitions of an action by a jump, as some actions change no fact however often they are repeated."""
MOST_REPEATED: Final = 1 << 14
"""Most repetitions of an action by one edge: without machine code, they take half a second between two pauses."""
SCRATCH: Final = 3
"""Rows of the registry, behind its states, that a search writes to."""


class NumericPaths(NamedTuple):
    """How the S states of a registry were reached.

    `parent[s]` is `NOTHING` for the initial state; `action[s]` was applied `times[s]` times. `cost[s]` is the number of
    steps, and `estimate[s]` the latest estimate.
    """

    parent: Index
    action: Index
    times: Index
    cost: Words


class NumericQueues(NamedTuple):
    """Two queues of batches of edges, for all and for helpful actions.

    Batch b has the edges `at[b]` up to `end[b]` of state `state[b]`. Edge e repeats `edge[e]` up to `repeat[e]` times,
    or jumps (`JUMP`).
    """

    all_key: Words
    all_heap: Index
    helpful_key: Words
    helpful_heap: Index
    state: Index
    at: Index
    end: Index
    edge: Index
    repeat: Index


@entry
@kernel
def numeric_best_first(
    work: int,
    youngest: int,
    novel: int,
    jumps: int,
    pays: int,
    number: Words,
    space: Space,
    preconditions: Conditions,
    registry: Registry,
    paths: NumericPaths,
    queues: NumericQueues,
    relaxed: NumericRelaxed,
    room: NumericRoom,
    demands: NumericDemands,
    memory: DemandRoom,
    seen: Words,
    found: Index,
    stack: Index,
) -> int:
    """Search for about `work` steps; return `PAUSED`, `EXHAUSTED`, `FOUND` or `FULL`.

    After `FOUND`, `number[GOAL_STATE]` is reached by a plan. Among edges of one estimate the oldest comes first, or the
    `youngest`. If `novel` is not 0, states without a value that is new at their estimate come after all others; if
    `jumps` is not 0, edges jump; if `pays` is not 0, relaxed plans produce what they use up.
    """
    words = len(room.state)
    row = words + len(space.numbers.low)
    number[slot.WORK] = 0
    while number[slot.WORK] < work:
        if (
            number[slot.STATES] + SCRATCH >= len(paths.parent)
            or 2 * (number[slot.STATES] + 1) > len(registry.table)
            or number[slot.BATCHES] + 2 >= len(queues.state)
            or number[slot.EDGES] + 3 * len(found) >= len(queues.edge)
        ):
            return FULL
        state = number[slot.PENDING] + 0
        number[slot.PENDING] = -1
        if state < 0:
            # No state is pending: the next edge of the queue whose turn it is leads to one.
            batch = _next_batch(queues, number)
            if batch < 0:
                return EXHAUSTED
            _follow_edge(number, space, preconditions, registry, paths, queues, batch, words)
            number[slot.WORK] += 40
            continue
        base = state * row
        if holds(space.goal, 0, registry.state, base):
            number[slot.GOAL_STATE] = state
            return FOUND
        number[slot.EVALUATIONS] += 1
        estimate = estimate_numeric(
            relaxed,
            room,
            space,
            words,
            registry.state,
            base,
            number[slot.EVALUATIONS],
        )
        number[slot.WORK] += 2 * len(relaxed.cost) + 20
        if estimate == INFINITE:
            continue
        if pays:
            estimate += meet_demands(
                relaxed,
                room,
                demands,
                memory,
                space,
                words,
                registry.state,
                base,
                number[slot.EVALUATIONS],
            )
            number[slot.WORK] += len(relaxed.cost)
        if estimate < number[slot.BEST]:
            number[slot.BEST] = estimate
            number[slot.TURNS + 1] -= BOOST
        number[slot.EXPANSIONS] += 1
        many = find_applicable(space.tree, registry.state, base, found, stack)
        key = estimate
        if novel and not is_novel(registry.state, base, space, words, estimate, seen):
            key = min(key, OLD - 1) + OLD
        _put_edges(number, queues, room, state, key, found, many, youngest, jumps)
    return PAUSED


@kernel
def is_novel(state: Words, base: int, space: Space, words: int, estimate: int, seen: Words) -> bool:
    """Return whether the state has a value that none before it had at this estimate, and note its values."""
    novel = False
    mask = len(seen) * 32 - 1
    coding = space.coding
    for variable in range(len(coding.word) + len(space.numbers.low)):
        if variable < len(coding.word):
            value = state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
        else:
            value = state[base + words + variable - len(coding.word)]
        code = (((variable * MULTIPLIER + value) & LOW_BITS) * MULTIPLIER + estimate) & LOW_BITS
        code ^= code >> 29
        code = (code * MULTIPLIER) & LOW_BITS
        place = (code >> 20) & mask
        bit = 1 << (place & 31)
        if not seen[place >> 5] & bit:
            seen[place >> 5] |= bit
            novel = True
    return novel


@kernel
def _next_batch(queues: NumericQueues, number: Words) -> int:
    """Return the first batch of the queue whose turn it is; -1 if both are empty."""
    if number[slot.MEMBERS] and (number[slot.TURNS + 1] <= number[slot.TURNS] or not number[slot.OPEN]):
        number[slot.TURNS + 1] += 1
        batch = queues.helpful_heap[0] + 0
        if queues.at[batch] + 1 == queues.end[batch]:
            number[slot.MEMBERS] = pop(queues.helpful_key, queues.helpful_heap, number[slot.MEMBERS])
        return batch
    if number[slot.OPEN]:
        number[slot.TURNS] += 1
        batch = queues.all_heap[0] + 0
        if queues.at[batch] + 1 == queues.end[batch]:
            number[slot.OPEN] = pop(queues.all_key, queues.all_heap, number[slot.OPEN])
        return batch
    return -1


@kernel
def _follow_edge(
    number: Words,
    space: Space,
    preconditions: Conditions,
    registry: Registry,
    paths: NumericPaths,
    queues: NumericQueues,
    batch: int,
    words: int,
) -> None:
    """Follow the next edge of `batch`; a state that is new becomes pending."""
    row = words + len(space.numbers.low)
    place = queues.at[batch] + 0
    queues.at[batch] = place + 1
    parent, action, most = queues.state[batch] + 0, queues.edge[place] + 0, queues.repeat[place] + 0
    source, target, other = parent * row, number[slot.STATES] * row, (number[slot.STATES] + 1) * row
    times = 0
    jumps = most == JUMP
    if jumps:
        most = LONGEST_JUMP
    while times < most and (times == 0 or holds(preconditions, action, registry.state, source)):
        if jumps and times > 1 and not _has_same_facts(registry.state, source, target, words):
            break
        outcome = apply(space, action, registry.state, source, target, words)
        if outcome != APPLIED:
            if outcome == OUT_OF_RANGE:
                number[slot.LEFT_OUT] += 1
            break
        times += 1
        source, target, other = target, other, target
    number[slot.WORK] += 10 * times
    if not times:
        return
    last = number[slot.STATES] * row
    if source != last:
        for word in range(row):
            registry.state[last + word] = registry.state[source + word]
    child = number_of(registry, number[slot.STATES], row)
    if child < number[slot.STATES]:
        return
    number[slot.STATES] += 1
    number[slot.GENERATED] += 1
    paths.parent[child] = parent
    paths.action[child] = action
    paths.times[child] = times
    paths.cost[child] = paths.cost[parent] + times
    number[slot.PENDING] = child


@kernel
def _has_same_facts(state: Words, one: int, other: int, words: int) -> bool:
    for word in range(words):
        if state[one + word] != state[other + word]:
            return False
    return True


@kernel
def _put_edges(
    number: Words,
    queues: NumericQueues,
    room: NumericRoom,
    state: int,
    key: int,
    found: Index,
    many: int,
    youngest: int,
    jumps: int,
) -> None:
    """Queue the `many` applicable actions of `state`; the helpful ones twice."""
    plan = number[slot.EVALUATIONS]
    age = number[slot.BATCHES] + 0
    if youngest:
        age = (1 << 31) - 1 - age
    key = (min(key, (1 << 31) - 1) << 31) + age
    first = number[slot.EDGES] + 0
    count = first
    for index in range(many):
        action = found[index]
        if room.planned[action] == plan and room.repeated[action] > 1:
            queues.edge[count], queues.repeat[count] = action, min(room.repeated[action], MOST_REPEATED)
            count += 1
    for index in range(many):
        action = found[index]
        if room.planned[action] == plan:
            queues.edge[count], queues.repeat[count] = action, 1
            count += 1
    if count > first:
        batch = number[slot.BATCHES] + 0
        queues.state[batch], queues.at[batch], queues.end[batch] = state, first, count
        number[slot.MEMBERS] = push(queues.helpful_key, queues.helpful_heap, number[slot.MEMBERS], key, batch)
        number[slot.BATCHES] += 1
    first = count
    for index in range(many):
        queues.edge[count], queues.repeat[count] = found[index], JUMP if jumps else 1
        count += 1
    if count > first:
        batch = number[slot.BATCHES] + 0
        queues.state[batch], queues.at[batch], queues.end[batch] = state, first, count
        number[slot.OPEN] = push(queues.all_key, queues.all_heap, number[slot.OPEN], key, batch)
        number[slot.BATCHES] += 1
    number[slot.EDGES] = count
