"""LM-cut (Helmert and Domshlak, 2009) with inherited landmarks (Pommerening and Helmert, 2013).

`estimate_state` gives access to all admissible estimates of the relaxation. The readable twin is `lmcut`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.relaxation_kernel import (
    Exploration,
    Relaxed,
    begin_exploration,
    clear_levels,
    fire,
    fire_ready,
    h_max,
    reach,
)
from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import INFINITE, NOTHING, Index, Words, entry, kernel
from planner.task.packed_facts_kernel import Coding
from planner.task.state_registry_kernel import MOVED, Nodes, Registry


class Landmarks(NamedTuple):
    """LM-cut's landmarks: number i contributes `worth[i]` and consists of the actions of its list.

    The landmarks of state s are `reference[of[s]:of[s] + many[s]]`; they contribute `kept[s]` together. `lost` has room
    for a number for each action.
    """

    worth: Words
    start: Index
    member: Index
    reference: Index
    of: Words
    many: Index
    kept: Words
    lost: Words


@kernel
def lm_cut(
    relaxed: Relaxed,
    room: Exploration,
    coding: Coding,
    landmarks: Landmarks,
    registry: Registry,
    nodes: Nodes,
    number: Words,
    state: int,
) -> int:
    """Return the estimate of state number `state`, and store its landmarks; `INFINITE` for a dead end.

    The state inherits landmarks of its parent. The evaluation stops once the estimate reaches the remaining limit.
    """
    begin_exploration(relaxed, room, coding, registry.state, state * len(room.state))
    landmarks.of[state] = number[slot.REFERENCES]
    total = 0
    if nodes.parent[state] != NOTHING and nodes.action[state] < MOVED:
        total = _inherit_landmarks(relaxed, room, landmarks, number, nodes.parent[state], nodes.action[state])
    limit = number[slot.LIMIT] - nodes.cost[state]
    value, goal = room.value, len(room.value) - 1
    fire_ready(relaxed, room)
    reach(relaxed, room, 0)
    kept = total
    # each round finds a cut, subtracts its cost, and updates h_max
    while 0 < value[goal] < INFINITE and total < limit:
        landmark = number[slot.LANDMARKS]
        worth = _find_cut(relaxed, room, landmarks, number, _mark_zone(relaxed, room))
        total += worth
        if _keep_landmark(landmarks, number, landmark, worth):
            kept += worth
        _subtract_landmark(relaxed, room, landmarks, landmark, worth)
        reach(relaxed, room, 1)
        number[slot.WORK] += len(relaxed.cost)
    clear_levels(room)
    landmarks.many[state] = number[slot.REFERENCES] - landmarks.of[state]
    landmarks.kept[state] = kept
    number[slot.LONGEST] = max(number[slot.LONGEST], landmarks.many[state])
    return INFINITE if value[goal] >= INFINITE else total


@kernel
def _inherit_landmarks(
    relaxed: Relaxed, room: Exploration, landmarks: Landmarks, number: Words, parent: int, action: int
) -> int:
    """Inherit the parent's landmarks without `action`, and subtract their costs; return the sum."""
    total = 0
    first = landmarks.of[parent]
    for index in range(first, first + landmarks.many[parent]):
        landmark = landmarks.reference[index]
        if not _contains(landmarks, landmark, action):
            landmarks.reference[number[slot.REFERENCES]] = landmark
            number[slot.REFERENCES] += 1
            worth = landmarks.worth[landmark]
            total += worth
            for member in range(landmarks.start[landmark], landmarks.start[landmark + 1]):
                _subtract_cost(relaxed, room, landmarks.member[member], worth)
    return total


@kernel
def _contains(landmarks: Landmarks, landmark: int, action: int) -> bool:
    for member in range(landmarks.start[landmark], landmarks.start[landmark + 1]):
        if landmarks.member[member] == action:
            return True
    return False


@kernel
def _subtract_cost(relaxed: Relaxed, room: Exploration, action: int, worth: int) -> None:
    for index in range(relaxed.operator_start[action], relaxed.operator_start[action + 1]):
        room.price[relaxed.operator[index]] -= worth


@kernel
def _subtract_landmark(relaxed: Relaxed, room: Exploration, landmarks: Landmarks, landmark: int, worth: int) -> None:
    """Subtract the cost of a landmark from its members, and queue the effects whose values fall."""
    for member in range(landmarks.start[landmark], landmarks.start[landmark + 1]):
        action = landmarks.member[member]
        room.marked[action] = 0
        _subtract_cost(relaxed, room, action, worth)
        for index in range(relaxed.operator_start[action], relaxed.operator_start[action + 1]):
            operator = relaxed.operator[index]
            if not room.missing[operator]:
                room.supporter[operator] = _find_supporter(relaxed, room, operator)  # its value may have fallen
                fire(relaxed, room, operator, room.value[room.supporter[operator]] + room.price[operator])


@kernel
def _keep_landmark(landmarks: Landmarks, number: Words, landmark: int, worth: int) -> bool:
    """Keep a landmark for successors if there is room; return whether it is kept."""
    full = (
        landmark + 2 >= len(landmarks.start)
        or number[slot.REFERENCES] >= len(landmarks.reference)
        or landmarks.start[landmark + 1] + len(landmarks.lost) > len(landmarks.member)
    )
    if full:
        return False
    landmarks.worth[landmark] = worth
    landmarks.reference[number[slot.REFERENCES]] = landmark
    number[slot.REFERENCES] += 1
    number[slot.LANDMARKS] = landmark + 1
    number[slot.MEMBERS] = landmarks.start[landmark + 1]
    return True


@kernel
def _find_supporter(relaxed: Relaxed, room: Exploration, operator: int) -> int:
    """Return the precondition of `operator` of highest value, or -1 if any precondition is in the zone."""
    highest, price = -1, -1
    for index in range(relaxed.precondition_start[operator], relaxed.precondition_start[operator + 1]):
        fact = relaxed.precondition[index]
        if room.zone[fact]:
            return -1
        if room.value[fact] > price:
            highest, price = fact + 0, room.value[fact]
    return highest


@kernel
def _mark_zone(relaxed: Relaxed, room: Exploration) -> int:
    """Mark the goal zone: the goal, and the supporter of each zero-cost operator that enters the zone.

    Write its facts to `room.queue`; return their number.
    """
    count, done, goal = 1, 0, len(room.value) - 1
    room.queue[0] = goal
    room.zone[goal] = 1
    while done < count:
        fact = room.queue[done]
        done += 1
        for index in range(relaxed.added_start[fact], relaxed.added_start[fact + 1]):
            operator = relaxed.added[index]
            if not room.price[operator]:
                highest = _find_supporter(relaxed, room, operator)
                if highest >= 0:
                    room.zone[highest] = 1
                    room.queue[count] = highest
                    count += 1
    return count


@kernel
def _find_cut(relaxed: Relaxed, room: Exploration, landmarks: Landmarks, number: Words, count: int) -> int:
    """Write the actions that enter the zone of `count` facts as a landmark; unmark the zone; return the cost."""
    worth = INFINITE
    landmark = number[slot.LANDMARKS]
    end = number[slot.MEMBERS]
    for position in range(count):
        fact = room.queue[position]
        for index in range(relaxed.added_start[fact], relaxed.added_start[fact + 1]):
            operator = relaxed.added[index]
            if room.price[operator] and _find_supporter(relaxed, room, operator) >= 0:
                worth = min(worth, room.price[operator])
                action = relaxed.action[operator]
                if not room.marked[action]:
                    room.marked[action] = 1
                    landmarks.member[end] = action
                    end += 1
    for position in range(count):
        room.zone[room.queue[position]] = 0
    landmarks.start[landmark + 1] = end
    return worth


BLIND: Final = 0
H_MAX: Final = 1
LM_CUT: Final = 2


class Guess(NamedTuple):
    """Working memory to estimate a single state: a copy of the state in `registry`, and landmarks that nobody reads."""

    registry: Registry
    nodes: Nodes
    landmarks: Landmarks


@entry
@kernel
def estimate_state(
    kind: int, number: Words, relaxed: Relaxed, room: Exploration, guess: Guess, coding: Coding, state: Words, base: int
) -> int:
    """Return the estimate `kind` for the state at `state[base]`, `INFINITE` for a dead end."""
    number[slot.EVALUATIONS] += 1
    number[slot.WORK] += len(relaxed.cost) + 20
    if kind == BLIND:
        return 0
    if kind == H_MAX:
        return h_max(relaxed, room, coding, state, base)
    for word in range(len(room.state)):
        guess.registry.state[word] = state[base + word]
    return min(lm_cut(relaxed, room, coding, guess.landmarks, guess.registry, guess.nodes, number, 0), INFINITE)
