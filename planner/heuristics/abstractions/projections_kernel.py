"""Projections to patterns (Culberson and Schaeffer, 1998; Edelkamp, 2001) as explicit abstract state spaces.

The readable twin, which explains the ideas, is `planner.heuristics.abstractions.projections`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.heuristics.abstractions.abstract_states_kernel import (
    EDGES,
    GROUPS,
    LABELS,
    RANKS,
    STATES,
    WORK,
    Abstractions,
    close_abstraction,
    has_room,
)
from planner.jit.common_kernel import DONE, EXHAUSTED, FULL, NOTHING, Index, Words, entry, kernel
from planner.search.open_lists_kernel import first_slot


class Moves(NamedTuple):
    """The effects of actions on single variables.

    Action a has a list of touches, one for each variable that it changes or needs; touch t has a list of options. An
    option changes the value `origin` (`NOTHING`: any value) to `target` (`NOTHING`: unchanged) under the conditions of
    its list, pairs of a variable and a value. `affecting` lists, by variable, the actions that may change it. Variable
    v has `size[v]` values, numbered from `first[v]` on. If bit j of row i of `excluded` is set, values i and j are
    mutex; `excluded` is empty if mutexes are unknown.
    """

    touch_start: Index
    variable: Index
    option_start: Index
    origin: Index
    target: Index
    condition_start: Index
    condition: Index
    value: Index
    affecting_start: Index
    affecting: Index
    size: Index
    first: Index
    excluded: Index


class Pattern(NamedTuple):
    """A pattern of variables; the index of an abstract state is the sum of value times `factor`.

    `initial` holds their initial values, and `goal` their goal values (or `NOTHING`).
    """

    variable: Index
    factor: Index
    initial: Index
    goal: Index


class Workshop(NamedTuple):
    """Working memory for computing a projection.

    By variable: its `position` in the pattern, or `NOTHING`. By action: `marked`. By position: `touch`, `choice`, and
    the `origin` and `target` of a rule. `table` is a hash table from the `key` of a rule to its number (open
    addressing; the length is a power of 2). Each rule has a linked list of labels from `head` to `tail`: `label`,
    `next`. By transition: `source`, `reached` (its target), `rule`, `sorted`. By index of a state: `stage`, `queue`,
    `start` (one entry more).
    """

    position: Index
    marked: Index
    touch: Index
    choice: Index
    origin: Index
    target: Index
    table: Index
    key: Words
    head: Index
    tail: Index
    label: Index
    next: Index
    source: Index
    reached: Index
    rule: Index
    sorted: Index
    stage: Index
    queue: Index
    start: Index


IMPOSSIBLE: Final = 0
POSSIBLE: Final = 1
REACHED: Final = 2
ALIVE: Final = 3


@entry
@kernel
def project(
    anywhere: int, moves: Moves, pattern: Pattern, shop: Workshop, spaces: Abstractions, rank: Index, counts: Words
) -> int:
    """Append the projection to `pattern` to `spaces`, and write to `rank` the number of each state (dead: `NOTHING`).

    Unreachable states are dead, too, unless a search may start `anywhere`.

    Returns `DONE`, `FULL` if `spaces` or `rank` are too short, or `EXHAUSTED` if the projection would be too large.
    """
    counts[WORK] = 0
    for place in range(len(pattern.variable)):
        shop.position[pattern.variable[place]] = place
    rules = _find_rules(moves, pattern, shop, counts)
    states = _mark_possible(moves, pattern, shop)
    edges = _write_edges(moves, pattern, shop, rules) if rules >= 0 else -1
    _clear_table(shop, max(rules, 0))
    for place in range(len(pattern.variable)):
        shop.position[pattern.variable[place]] = NOTHING
    if edges < 0:
        counts[WORK] += 20 * len(shop.source)
        return EXHAUSTED
    _mark_alive(anywhere, moves, pattern, shop, states, edges)
    counts[WORK] += 10 * states + 20 * edges
    labels = shop.next[len(shop.next) - 1] + 0
    if not has_room(spaces, counts, states, edges, rules, labels) or counts[RANKS] + states > len(rank):
        return FULL
    _write_space(moves, pattern, shop, spaces, rank, counts, states, edges, rules)
    return DONE


@kernel
def _find_rules(moves: Moves, pattern: Pattern, shop: Workshop, counts: Words) -> int:
    """Collect the distinct rules of all actions, with their actions; return the number of rules, or -1 for too many.

    The number of label entries is written to `shop.next[-1]`.
    """
    rules, entries = 0, len(shop.next) - 1
    shop.next[entries] = 0
    for mark in (0, 1):
        for place in range(len(pattern.variable)):
            variable = pattern.variable[place]
            for index in range(moves.affecting_start[variable], moves.affecting_start[variable + 1]):
                action = moves.affecting[index]
                if not mark:
                    shop.marked[action] = 0
                elif not shop.marked[action]:
                    shop.marked[action] = 1
                    counts[WORK] += 50
                    after = _enter_rules(moves, pattern, shop, action, rules)
                    if after < 0:
                        _clear_table(shop, -1 - after)
                        return -1
                    rules = after
    return rules


@kernel
def _clear_table(shop: Workshop, rules: int) -> None:
    """Remove the given number of `rules` from the hash table."""
    mask = len(shop.table) - 1
    for rule in range(rules):
        slot = first_slot(shop.key[rule], mask)
        while shop.table[slot] != rule:
            slot = (slot + 1) & mask
        shop.table[slot] = NOTHING


@kernel
def _enter_rules(moves: Moves, pattern: Pattern, shop: Workshop, action: int, rules: int) -> int:
    """Enter the rules of `action`, one for each choice of options; return the new number of rules.

    If there is no room for all of them, return -1 minus the number of rules.
    """
    size = len(pattern.variable)
    for place in range(size):
        shop.touch[place] = NOTHING
    for touch in range(moves.touch_start[action], moves.touch_start[action + 1]):
        place = shop.position[moves.variable[touch]]
        if place != NOTHING:
            shop.touch[place] = touch
            shop.choice[place] = moves.option_start[touch]
    # count through the choices of one option for each touched variable, as an odometer does
    place = 0
    while place < size:
        if _combine_options(moves, shop, size):
            if rules == len(shop.key) or shop.next[len(shop.next) - 1] == len(shop.next) - 1:
                return -1 - rules
            rules = _enter_rule(moves, pattern, shop, action, rules)
        place = 0
        while place < size:
            touch = shop.touch[place]
            if touch != NOTHING:
                shop.choice[place] += 1
                if shop.choice[place] < moves.option_start[touch + 1]:
                    break
                shop.choice[place] = moves.option_start[touch]
            place += 1
    return rules


@kernel
def _combine_options(moves: Moves, shop: Workshop, size: int) -> bool:
    """Write the changes by the chosen options to `origin` and `target`; return whether their conditions agree."""
    for place in range(size):
        shop.origin[place] = shop.target[place] = NOTHING
        if shop.touch[place] != NOTHING:
            shop.origin[place] = moves.origin[shop.choice[place]]
            shop.target[place] = moves.target[shop.choice[place]]
    for place in range(size):
        if shop.touch[place] != NOTHING:
            option = shop.choice[place]
            for index in range(moves.condition_start[option], moves.condition_start[option + 1]):
                other = shop.position[moves.condition[index]]
                if other != NOTHING:
                    value = moves.value[index]
                    if shop.origin[other] == NOTHING:
                        shop.origin[other] = value
                    elif shop.origin[other] != value:
                        return False
    return True


@kernel
def _enter_rule(moves: Moves, pattern: Pattern, shop: Workshop, action: int, rules: int) -> int:
    """Add `action` to the rule of `origin` and `target`, which may be new; return the number of rules."""
    key = 0
    for place in range(len(pattern.variable)):
        origin, target = (shop.origin[place] + 1) & NOTHING, (shop.target[place] + 1) & NOTHING
        if target == origin:
            target = 0
        base = moves.size[pattern.variable[place]] + 1
        key = (key * base + origin) * base + target
    mask = len(shop.table) - 1
    slot = first_slot(key, mask)
    while shop.table[slot] != NOTHING and shop.key[shop.table[slot]] != key:
        slot = (slot + 1) & mask
    rule = shop.table[slot] + 0
    last = len(shop.next) - 1
    entry = shop.next[last] + 0
    if rule == NOTHING:
        rule = rules
        rules += 1
        shop.table[slot] = rule
        shop.key[rule] = key
        shop.head[rule] = entry
    elif shop.label[shop.tail[rule]] == action:
        return rules
    else:
        shop.next[shop.tail[rule]] = entry
    shop.tail[rule] = entry
    shop.label[entry] = action
    shop.next[entry] = NOTHING
    shop.next[last] = entry + 1
    return rules


@kernel
def _mark_possible(moves: Moves, pattern: Pattern, shop: Workshop) -> int:
    """Mark the states without mutex values; return the number of indices of states."""
    size, states = len(pattern.variable), 1
    for place in range(size):
        states *= moves.size[pattern.variable[place]]
    width = (moves.first[len(moves.first) - 1] + 31) >> 5
    for state in range(states):
        shop.stage[state] = POSSIBLE
        for place in range(size if len(moves.excluded) else 0):
            one = moves.first[pattern.variable[place]] + _value_of(moves, pattern, state, place)
            for other in range(place):
                two = moves.first[pattern.variable[other]] + _value_of(moves, pattern, state, other)
                if moves.excluded[one * width + (two >> 5)] >> (two & 31) & 1:
                    shop.stage[state] = IMPOSSIBLE
    return states


@kernel
def _value_of(moves: Moves, pattern: Pattern, state: int, place: int) -> int:
    """Return the value of the variable at `place` in the state of this index."""
    return state // (pattern.factor[place] + 0) % (moves.size[pattern.variable[place]] + 0)


@kernel
def _write_edges(moves: Moves, pattern: Pattern, shop: Workshop, rules: int) -> int:
    """Write all transitions between possible states; return their number, or -1 for too many."""
    size, edges = len(pattern.variable), 0
    for rule in range(rules):
        # decode the rule: values before and after, the lowest source, and the distance from source to target
        key, source, shift = shop.key[rule] + 0, 0, 0
        for back in range(size):
            place = size - 1 - back
            base = moves.size[pattern.variable[place]] + 1
            target, key = key % base - 1, key // base
            origin, key = key % base - 1, key // base
            factor = pattern.factor[place] + 0
            shop.choice[place] = 0
            shop.origin[place] = origin & NOTHING
            shop.target[place] = target & NOTHING
            source += max(origin, 0) * factor
            if target >= 0:
                shift += (target - max(origin, 0)) * factor
        # count through the values of the variables that the rule leaves open
        place = 0
        while place < size:
            if edges == len(shop.source):
                return -1
            if shop.stage[source] == POSSIBLE and shop.stage[source + shift] == POSSIBLE:
                shop.source[edges] = source
                shop.reached[edges] = source + shift
                shop.rule[edges] = rule
                edges += 1
            place = 0
            while place < size:
                if shop.origin[place] == NOTHING:
                    factor = pattern.factor[place] + 0
                    change = 0 if shop.target[place] == NOTHING else factor
                    shop.choice[place] += 1
                    source += factor
                    shift -= change
                    if shop.choice[place] < moves.size[pattern.variable[place]]:
                        break
                    source -= shop.choice[place] * factor
                    shift += shop.choice[place] * change
                    shop.choice[place] = 0
                place += 1
    return edges


@kernel
def _mark_alive(anywhere: int, moves: Moves, pattern: Pattern, shop: Workshop, states: int, edges: int) -> None:
    """Mark as `ALIVE` the states that are reachable, or `anywhere`, and from which a goal state is reachable."""
    if anywhere:
        for state in range(states):
            shop.stage[state] = REACHED if shop.stage[state] == POSSIBLE else IMPOSSIBLE
    else:
        first = 0
        for place in range(len(pattern.variable)):
            first += pattern.initial[place] * (pattern.factor[place] + 0)
        shop.queue[0] = first
        shop.stage[first] = REACHED
        _spread_mark(shop.source, shop.reached, shop, states, edges, 1, REACHED)
    many = 0
    for state in range(states):
        if shop.stage[state] == REACHED and _is_goal(moves, pattern, state):
            shop.stage[state] = ALIVE
            shop.queue[many] = state
            many += 1
    _spread_mark(shop.reached, shop.source, shop, states, edges, many, ALIVE)


@kernel
def _spread_mark(near: Index, far: Index, shop: Workshop, states: int, edges: int, many: int, stage: int) -> None:
    """Spread the mark `stage` along transitions from end `near` to end `far`, to states one stage behind.

    The queue holds the first `many` states.
    """
    _sort_edges(near, shop, states, edges)
    done = 0
    while done < many:
        state = shop.queue[done] + 0
        done += 1
        for index in range(shop.start[state], shop.start[state + 1]):
            other = far[shop.sorted[index]] + 0
            if shop.stage[other] == stage - 1:
                shop.stage[other] = stage
                shop.queue[many] = other
                many += 1


@kernel
def _sort_edges(by: Index, shop: Workshop, states: int, edges: int) -> None:
    """Sort the transitions by one of their ends: those of state s are `sorted[start[s]:start[s + 1]]`."""
    start = shop.start
    for state in range(states + 1):
        start[state] = 0
    for edge in range(edges):
        start[by[edge]] += 1
    total = 0
    for state in range(states + 1):
        total += start[state]
        start[state] = total
    for back in range(edges):
        edge = edges - 1 - back
        start[by[edge]] -= 1
        shop.sorted[start[by[edge]]] = edge


@kernel
def _is_goal(moves: Moves, pattern: Pattern, state: int) -> bool:
    for place in range(len(pattern.variable)):
        if pattern.goal[place] != NOTHING and _value_of(moves, pattern, state, place) != pattern.goal[place]:
            return False
    return True


@kernel
def _write_space(
    moves: Moves,
    pattern: Pattern,
    shop: Workshop,
    spaces: Abstractions,
    rank: Index,
    counts: Words,
    states: int,
    edges: int,
    rules: int,
) -> None:
    """Append the states and transitions that are alive to `spaces`, and write the ranks."""
    _write_groups(shop, spaces, counts, edges, rules)
    # number the states that are alive, then write their transitions
    ranks, first = counts[RANKS], counts[STATES]
    last = first
    for state in range(states):
        rank[ranks + state] = NOTHING
        if shop.stage[state] == ALIVE:
            rank[ranks + state] = last - first
            last += 1
    number, edge = first, counts[EDGES]
    for state in range(states):
        if shop.stage[state] == ALIVE:
            spaces.goal[number] = 1 if _is_goal(moves, pattern, state) else 0
            spaces.edge_start[number] = edge
            number += 1
            for index in range(shop.start[state], shop.start[state + 1]):
                old = shop.sorted[index]
                source = shop.source[old]
                if source != state and shop.stage[source] == ALIVE:
                    spaces.source[edge] = first + rank[ranks + source]
                    spaces.group[edge] = shop.head[shop.rule[old]]
                    edge += 1
    counts[RANKS] = ranks + states
    close_abstraction(spaces, counts, last, edge, counts[GROUPS], counts[LABELS])


@kernel
def _write_groups(shop: Workshop, spaces: Abstractions, counts: Words, edges: int, rules: int) -> None:
    """Append the rules of living transitions as groups, and write their numbers to `shop.head`."""
    for rule in range(rules):
        shop.tail[rule] = 0
    for edge in range(edges):
        if shop.stage[shop.source[edge]] == ALIVE and shop.stage[shop.reached[edge]] == ALIVE:
            loop = 1 if shop.source[edge] == shop.reached[edge] else 0
            shop.tail[shop.rule[edge]] = 2 | loop | shop.tail[shop.rule[edge]]
    group, label = counts[GROUPS], counts[LABELS]
    for rule in range(rules):
        if shop.tail[rule]:
            spaces.label_start[group] = label
            spaces.loops[group] = shop.tail[rule] & 1
            entry = shop.head[rule] + 0
            while entry != NOTHING:
                spaces.label[label] = shop.label[entry]
                label += 1
                entry = shop.next[entry] + 0
            shop.head[rule] = group
            group += 1
    spaces.label_start[group] = label
    counts[GROUPS], counts[LABELS] = group, label
