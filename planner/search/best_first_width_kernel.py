"""Best-first width search over packed states; the twin is `planner.search.best_first_width`.

It differs from the twin in two ways. It counts open landmarks instead of open goals. It stores seen facts and pairs in
a hash table of bits (approximate novelty: Singh et al., 2021), so that it sometimes takes a new one for a known one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.landmarks_kernel import BITS, Milestones, count_open
from planner.heuristics.relaxation_kernel import GIVEN, Achievers, Exploration
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, entry, kernel
from planner.jit.containers_kernel import append_item
from planner.search.best_first_loop_kernel import Parts, make_search
from planner.search.lazy_best_first_kernel import Reached, RelaxedPlans, find_relaxed_plan, generate
from planner.task.packed_facts_kernel import Coding, holds
from planner.task.packed_states_kernel import Space, find_applicable
from planner.task.state_registry_kernel import LOW_BITS, MULTIPLIER, Registry


@kernel
def measure_novelty(seen: Index, coding: Coding, kind: int, state: Words, parent: int, child: int) -> int:
    """Return 1 if the state at `child` has a new fact, 2 if it has a new pair, else 3; then store its facts and pairs.

    Only states of one `kind` are compared. Only pairs with a fact that the state at `parent` lacks can be new.
    """
    found = 3
    for variable in range(len(coding.word)):
        fact = _value(coding, variable, state, child)
        if _note_pair(seen, kind, fact, 0):
            found = 1
        if fact != _value(coding, variable, state, parent):
            for other in range(len(coding.word)):
                second = _value(coding, other, state, child)
                if _note_pair(seen, kind, min(fact, second), 1 + max(fact, second)):
                    found = min(found, 2)
    return found


@kernel
def _value(coding: Coding, variable: int, state: Words, base: int) -> int:
    """Return the number of the value that a variable has, unique among the values of all variables."""
    return coding.first[variable] + (
        state[base + coding.word[variable]] >> coding.shift[variable] & coding.mask[variable]
    )


@kernel
def _note_pair(seen: Index, kind: int, first: int, second: int) -> bool:
    """Store a pair of numbers; return whether it is new."""
    value = (kind * MULTIPLIER + first) & LOW_BITS
    value = ((value ^ (value >> 29)) * MULTIPLIER + second) & LOW_BITS
    value ^= value >> 31
    value = (value * MULTIPLIER) & LOW_BITS
    place = (value >> 20) & (len(seen) * 32 - 1)
    bit = 1 << (place & 31)
    known = seen[place >> 5] & bit
    seen[place >> 5] |= bit
    return known == 0


NOVEL: Final = 3
"""Values of novelty: 1, 2 and 3."""


class Frontier(NamedTuple):
    """The open list of S states in B buckets, and their progress on R relaxed plans."""

    first: Index
    """[B] First state of bucket `novelty · most + left`, or `NOTHING`."""
    last: Index
    """[B] Last state of the bucket."""
    next: Index
    """[S] Next state in the same bucket."""
    origin: Index
    """[S] Relaxed plan on which progress is counted."""
    made: Words
    """[S] Bit i: fact i of this plan (modulo the bits of a word) was true since the plan was made."""
    left: Index
    """[S] Open landmarks."""
    plan_start: Index
    """[R + 1] First fact of each relaxed plan in `fact`."""
    fact: Index
    """Facts that relaxed plans make true, plan by plan."""
    seen: Index
    """Bits of the hash table of novelty, 32 in each element."""


class Facts(NamedTuple):
    """The places of the F facts in packed states: fact f holds if `state[word[f]] & mask[f] == bits[f]`."""

    word: Index
    mask: Words
    bits: Words


class Workspace(NamedTuple):
    """What a search works on: `found` has room for all actions and is kept between calls, `stack` for all nodes."""

    number: Words
    space: Space
    facts: Facts
    registry: Registry
    reached: Reached
    frontier: Frontier
    plans: RelaxedPlans
    milestones: Milestones
    found: Index
    stack: Index


@kernel
def _has_room(at: Workspace) -> bool:
    number, frontier = at.number, at.frontier
    return (
        number[slot.STATES] + 1 < len(at.reached.parent)
        and 2 * (number[slot.STATES] + 1) <= len(at.registry.table)
        and number[slot.TYPES] + 2 < len(frontier.plan_start)
        and number[slot.EDGES] + len(at.facts.word) <= len(frontier.fact)
    )


@kernel
def _row(at: Workspace) -> int:
    return len(at.plans.room.state)


@kernel
def _follow(at: Workspace) -> bool:
    """Follow the next edge of the state `number[EXPANDED]`, or expand the best state; return False if none is left."""
    number = at.number
    if number[slot.TRIED] == number[slot.MANY]:
        return _expand_best(at)
    parent, action = number[slot.EXPANDED] + 0, at.found[number[slot.TRIED]] + 0
    number[slot.PENDING] = generate(number, at.space, at.registry, at.reached, at.milestones, parent, action)
    number[slot.TRIED] += 1
    number[slot.WORK] += 40
    return True


@kernel
def _expand_best(at: Workspace) -> bool:
    """Find the edges of the best state; return False if no state waits."""
    number = at.number
    state = _take(at.frontier, number)
    if state < 0:
        return False
    number[slot.EXPANDED], number[slot.TRIED] = state, 0
    number[slot.MANY] = find_applicable(at.space.tree, at.registry.state, state * _row(at), at.found, at.stack)
    number[slot.EXPANSIONS] += 1
    number[slot.WORK] += 20
    return True


@kernel
def _is_goal(at: Workspace, _state: int, base: int) -> bool:
    return holds(at.space.goal, 0, at.registry.state, base)


@kernel
def _open_state(at: Workspace, state: int, base: int) -> None:
    """Insert `state` into the open list, unless it is a dead end."""
    number, frontier, plans, parent = at.number, at.frontier, at.plans, at.reached.parent[state] + 0
    _count_progress(at.facts, at.registry, at.reached, frontier, at.milestones, parent, state)
    # Fewer open landmarks than before: count progress on a new relaxed plan.
    if frontier.left[state] < frontier.left[parent]:
        if find_relaxed_plan(number, plans, at.space, at.registry, base, 0) == INFINITE:
            return
        _store_relaxed_plan(number, frontier, plans.achievers, plans.room, number[slot.EVALUATIONS] + 0, state)
    _insert(number, at.space, at.registry, frontier, len(plans.room.state), parent, state)


@kernel
def _take(frontier: Frontier, number: Words) -> int:
    """Remove and return the first state of the best bucket; -1 if all are empty."""
    bucket = number[slot.LOWEST] + 0
    while bucket < len(frontier.first) and frontier.first[bucket] == NOTHING:
        bucket += 1
    number[slot.LOWEST] = bucket
    if bucket == len(frontier.first):
        return -1
    state = frontier.first[bucket] + 0
    frontier.first[bucket] = frontier.next[state]
    return state


@kernel
def _count_progress(
    facts: Facts,
    registry: Registry,
    reached: Reached,
    frontier: Frontier,
    milestones: Milestones,
    parent: int,
    child: int,
) -> None:
    """Count the open landmarks of `child`, and its progress on the relaxed plan of `parent`."""
    many, words = len(reached.accepted) // len(reached.parent), len(registry.state) // len(reached.parent)
    frontier.left[child] = count_open(milestones, reached.accepted, child * many, registry.state, child * words)
    origin = frontier.origin[parent] + 0
    frontier.origin[child] = origin
    made, first = frontier.made[parent] + 0, frontier.plan_start[origin] + 0
    for index in range(first, frontier.plan_start[origin + 1]):
        bit = 1 << (index - first) % BITS
        if not made & bit:
            fact = frontier.fact[index]
            if registry.state[child * words + facts.word[fact]] & facts.mask[fact] == facts.bits[fact]:
                made |= bit
    frontier.made[child] = made


@kernel
def _store_relaxed_plan(
    number: Words, frontier: Frontier, achievers: Achievers, room: Exploration, plan: int, child: int
) -> None:
    """Store the facts that the relaxed plan of `child` makes true; progress counts on them from now on."""
    end = number[slot.EDGES] + 0
    for fact in range(len(achievers.wanted) - 2):
        if achievers.wanted[fact] == plan and room.expanded[fact] != GIVEN:
            frontier.fact[end] = fact
            end += 1
    number[slot.EDGES] = end
    number[slot.TYPES] += 1
    frontier.plan_start[number[slot.TYPES] + 1] = end
    frontier.origin[child] = number[slot.TYPES]
    frontier.made[child] = 0


@kernel
def _insert(
    number: Words, space: Space, registry: Registry, frontier: Frontier, words: int, parent: int, child: int
) -> None:
    """Insert `child` into the bucket of its novelty and its open landmarks."""
    made, ones = frontier.made[child] + 0, 0
    while made:
        made &= made - 1
        ones += 1
    left = frontier.left[child] + 0
    new = measure_novelty(frontier.seen, space.coding, left * 64 + ones, registry.state, parent * words, child * words)
    number[slot.WORK] += 6 * len(space.coding.word)
    bucket = min((new - 1) * (len(frontier.first) // NOVEL) + left, len(frontier.first) - 1)
    append_item(frontier.first, frontier.last, frontier.next, bucket, child)
    number[slot.LOWEST] = min(number[slot.LOWEST], bucket)


_search = make_search(Parts(_row, _has_room, _follow, _is_goal, _open_state))


@entry
@kernel
def width(work: int, at: Workspace) -> int:
    """Search as `make_search` says; state 0 must wait in the frontier, and not be a goal."""
    return _search(work, at)
