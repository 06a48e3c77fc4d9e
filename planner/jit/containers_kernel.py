"""Containers in arrays: lists, linked lists, orders, a binary heap, and a queue of facts by value.

    lists          numbers in two arrays, where they start and what they are
    orders         orders in which what belongs together stands close together
    heap           numbers by key; `key` and `heap` have room for all that wait
    linked lists   the first and last of each list, and what follows a number
    level queue    levels, each a circular list of facts, so that a fact changes its level in constant time

In a level queue, item f is fact f, and item `facts + l` stands for level l. A level has as many values as
`level[SHIFT]` bits can tell apart, and the last has all greater ones; a level with several values is searched for the
least.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import NOTHING, Changes, Conditions, Exploration, Index, Words, entry, kernel


class Lists(NamedTuple):
    """List k is `item[start[k]:start[k + 1]]`; the last element of `start` is where the last list ends."""

    start: Index
    item: Index


class Places(NamedTuple):
    """Where facts are in a packed state: fact f holds where `state[word[f]] & mask[f] == bits[f]`.

    `variable` is which one it is a value of.
    """

    word: Index
    mask: Words
    bits: Words
    variable: Index


@entry
@kernel
def inverted(lists: Lists, inverse: Lists) -> int:
    """Make list i of `inverse` the numbers of the `lists` that have i, ascending; returns 0.

    `inverse.start` must be all 0 at first.
    """
    start, inside = inverse.start, lists.item
    for place in range(len(inside)):
        start[inside[place] + 1] += 1
    for number in range(1, len(start)):
        start[number] += start[number - 1]
    for number in range(len(lists.start) - 1):
        for place in range(lists.start[number], lists.start[number + 1]):
            at = start[inside[place]] + 0
            inverse.item[at] = number
            start[inside[place]] = at + 1
    for number in range(len(start) - 1, 0, -1):
        start[number] = start[number - 1]
    start[0] = 0
    return 0


@entry
@kernel
def chosen(lists: Lists, which: Index, name: Index, made: Lists) -> int:
    """Make `made` those of the `lists` that are asked for, in this order, by the `name` of each item.

    Returns how many items these are. What is called `NOTHING` is left out.
    """
    count = 0
    for number in range(len(which)):
        made.start[number] = count
        for place in range(lists.start[which[number]], lists.start[which[number] + 1]):
            called = name[lists.item[place]] + 0
            if called != NOTHING:
                made.item[count] = called
                count += 1
    made.start[len(which)] = count
    return count


@entry
@kernel
def tested(lists: Lists, places: Places, tests: Conditions) -> int:
    """Make `tests` say that all facts of each list hold; returns how many words are tested.

    Facts that exclude each other make a test that no state passes.
    """
    count = 0
    for number in range(len(lists.start) - 1):
        tests.start[number] = count
        first = count
        for place in range(lists.start[number], lists.start[number + 1]):
            fact = lists.item[place]
            word, mask, bits = places.word[fact], places.mask[fact], places.bits[fact]
            at = first
            while at < count and tests.word[at] != word:
                at += 1
            if at == count:
                tests.word[at], tests.mask[at], tests.bits[at] = word, mask, bits
                count += 1
            elif tests.mask[at] & mask and tests.bits[at] & mask != bits:
                tests.word[first], tests.mask[first], tests.bits[first] = 0, 0, 1
                count = first + 1
                break
            else:
                tests.mask[at] |= mask
                tests.bits[at] |= bits
    tests.start[len(lists.start) - 1] = count
    return count


@entry
@kernel
def assigned(needs: Lists, adds: Lists, deletes: Lists, places: Places, changes: Changes, unsure: Lists) -> int:
    """Make `changes` what each action assigns whatever holds; returns how many words are changed.

    Deletes of what need not hold depend on what holds: they are `unsure`, and the changes say nothing of them.
    """
    count, left = 0, 0
    for number in range(len(adds.start) - 1):
        changes.start[number], unsure.start[number] = count, left
        first = count
        for place in range(adds.start[number], adds.start[number + 1]):
            fact = adds.item[place]
            count = _assign(changes, first, count, places.word[fact], places.mask[fact], places.bits[fact])
        for place in range(deletes.start[number], deletes.start[number + 1]):
            fact = deletes.item[place]
            if _changes(adds, number, places.variable, places.variable[fact]):
                continue
            if _has(needs, number, fact):
                count = _assign(changes, first, count, places.word[fact], places.mask[fact], 0)
            else:
                unsure.item[left] = fact
                left += 1
    changes.start[len(adds.start) - 1], unsure.start[len(adds.start) - 1] = count, left
    return count


@kernel
def _assign(changes: Changes, first: int, count: int, word: int, mask: int, bits: int) -> int:
    """Change the bits of a `mask` in a `word`; return how many words are changed now."""
    at = first
    while at < count and changes.word[at] != word:
        at += 1
    if at == count:
        changes.word[at], changes.keep[at], changes.put[at] = word, ~mask, bits
        return count + 1
    changes.keep[at] &= ~mask
    changes.put[at] |= bits
    return count


@kernel
def _changes(adds: Lists, number: int, variable_of: Index, variable: int) -> bool:
    """Return whether list `number` has a value of the `variable`."""
    for place in range(adds.start[number], adds.start[number + 1]):
        if variable_of[adds.item[place]] == variable:
            return True
    return False


@kernel
def _has(lists: Lists, number: int, wanted: int) -> bool:
    """Return whether `wanted` is in list `number`."""
    for place in range(lists.start[number], lists.start[number + 1]):
        if lists.item[place] == wanted:
            return True
    return False


@entry
@kernel
def emptied(adds: Lists, deletes: Lists, variable_of: Index, vague: Index) -> int:
    """Mark in `vague` the variables that some action deletes a value of without adding another; returns 0."""
    for number in range(len(adds.start) - 1):
        for place in range(deletes.start[number], deletes.start[number + 1]):
            variable = variable_of[deletes.item[place]] + 0
            if not _changes(adds, number, variable_of, variable):
                vague[variable] = 1
    return 0


MULTIPLIER: Final = 1103515245
INCREMENT: Final = 12345
MODULUS: Final = 1 << 31
"""Of the generator of random numbers (linear congruential; the upper bits are used)."""


@entry
@kernel
def arrange(exchanges: int, seed: int, near: Lists, order: Words, place: Words) -> int:
    """Exchange pairs as long as that lessens the sum of squared distances between each item and those `near` it.

    That many times two items are drawn; `place[order[i]]` is i. Both are modified in place. Returns the sum, in which
    each pair counts twice.
    """
    many = len(order)
    for _ in range(exchanges):
        seed = (MULTIPLIER * seed + INCREMENT) % MODULUS
        here = (seed >> 8) % many
        seed = (MULTIPLIER * seed + INCREMENT) % MODULUS
        there = (seed >> 8) % many
        one, other = order[here] + 0, order[there] + 0
        change = _moved(one, other, here, there, near, place) + _moved(other, one, there, here, near, place)
        if change < 0:
            order[here], order[there] = other, one
            place[one], place[other] = there, here
    total = 0
    for item in range(many):
        for index in range(near.start[item], near.start[item + 1]):
            total += (place[item] - place[near.item[index]]) ** 2
    return total


@kernel
def _moved(item: int, but: int, here: int, there: int, near: Lists, place: Words) -> int:
    """Return by how much the squared distances grow if `item` goes from `here` to `there`, those to `but` left out."""
    change = 0
    for index in range(near.start[item], near.start[item + 1]):
        if near.item[index] != but:
            at = place[near.item[index]]
            change += (there - at) ** 2 - (here - at) ** 2
    return change


@kernel
def push(key: Words, heap: Index, waiting: int, value: int, item: int) -> int:
    """Let `item` wait among `waiting` others, the least `key` first; return how many these are now."""
    place = waiting
    while place and key[(place - 1) >> 1] > value:
        above = (place - 1) >> 1
        key[place], heap[place] = key[above], heap[above]
        place = above
    key[place], heap[place] = value, item
    return waiting + 1


@kernel
def pop(key: Words, heap: Index, waiting: int) -> int:
    """Take out the first that waits; return how many are left."""
    left = waiting - 1
    value, item = key[left] + 0, heap[left] + 0
    place, below = 0, 1
    while below < left:
        if below + 1 < left and key[below + 1] < key[below]:
            below += 1
        if key[below] >= value:
            break
        key[place], heap[place] = key[below], heap[below]
        place, below = below, 2 * below + 1
    key[place], heap[place] = value, item
    return left


@kernel
def append(first: Index, last: Index, following: Index, which: int, item: int) -> None:
    """Put `item` at the end of list `which`; `last` counts only where there is a first one."""
    following[item] = NOTHING
    if first[which] == NOTHING:
        first[which] = item
    else:
        following[last[which]] = item
    last[which] = item


LEVELS: Final = 1024
LOWEST: Final = 0
"""Where in `Exploration.level` it stands below which level no fact waits."""
SHIFT: Final = 1
"""Where it stands how far values are shifted to be levels."""


@kernel
def push_level(room: Exploration, fact: int) -> None:
    """Let `fact` wait where its (lowered) value belongs, whether or not it waits already."""
    if room.following[fact] != NOTHING:
        _unlink(room, fact)
    level = min(room.value[fact] >> room.level[SHIFT], LEVELS - 1)
    room.level[LOWEST] = min(level, room.level[LOWEST])
    head = len(room.value) + level
    after = room.following[head] + 0
    room.following[head], room.previous[fact] = fact, head
    room.following[fact], room.previous[after] = after, fact


@kernel
def _unlink(room: Exploration, fact: int) -> None:
    before, after = room.previous[fact] + 0, room.following[fact] + 0
    room.following[before], room.previous[after] = after, before
    room.following[fact] = NOTHING


@kernel
def pop_level(room: Exploration, limit: int) -> int:
    """Take out and return the fact with the least value, `NOTHING` if none waits with a value below `limit`."""
    facts, level = len(room.value), room.level[LOWEST] + 0
    last = min(limit >> room.level[SHIFT], LEVELS - 1)
    while level <= last and room.following[facts + level] == facts + level:
        level += 1
    room.level[LOWEST] = level
    if level > last:
        return NOTHING
    least = room.following[facts + level] + 0
    if room.level[SHIFT] or level == LEVELS - 1:
        other = room.following[least] + 0
        while other < facts:
            if room.value[other] < room.value[least]:
                least = other
            other = room.following[other] + 0
    if room.value[least] >= limit:
        return NOTHING
    _unlink(room, least)
    return least


@kernel
def forget(room: Exploration) -> None:
    """Empty the queue."""
    facts = len(room.value)
    for head in range(facts + room.level[LOWEST], facts + LEVELS):
        while room.following[head] != head:
            _unlink(room, room.following[head])
    room.level[LOWEST] = LEVELS
