"""Estimates by abstractions that share costs: the best of several ways to share them (Seipp, Keller and Helmert, 2020).

The readable twin is `planner.heuristics.scp`.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.kernels.data import INFINITE, NOTHING, Space
from planner.kernels.kernel import Index, Words, entry, kernel
from planner.kernels.states import apply
from planner.kernels.successors import applicable
from planner.kernels.types import drawn


class Trees(NamedTuple):
    """Decision trees: a node asks for the value of a `variable`, and leads on to node `high` if that is in a set.

    Else it leads to node `low`. Value k is in the set if bit `bit + k` of `piece` is set. A leaf has no variable
    (`NOTHING`), and in `low` the number of the abstract state, or `NOTHING` for a dead one. Variable v is
    `state[word[v]] >> shift[v] & mask[v]`.
    """

    word: Index
    shift: Words
    mask: Words
    variable: Index
    low: Index
    high: Index
    bit: Index
    piece: Index


class Lookup(NamedTuple):
    """How abstract states are found: number i is that of the index which its list of places adds up to.

    A place adds `state[word] >> shift & mask` times `factor`; `rank[first[i] + index]` is the number of the abstract
    state, or `NOTHING` for a dead one. Where there are no places, it is found in the tree of node `first[i]`.
    """

    start: Index
    word: Index
    shift: Words
    mask: Words
    factor: Words
    first: Words
    rank: Index
    trees: Trees


class Tables(NamedTuple):
    """Distances by order: each abstraction of the list of an order adds `value[base + its state's number]`.

    `part` are the abstractions. `at` is room for the number of a state of each.
    """

    lookup: Lookup
    start: Index
    part: Index
    base: Words
    value: Index
    at: Index


@kernel
def scp(tables: Tables, state: Words, base: int) -> int:
    """Return the estimate for the state at `state[base]`: `INFINITE` for a dead end."""
    if not locate(tables.lookup, state, base, tables.at, 0):
        return INFINITE
    best = 0
    for order in range(len(tables.start) - 1):
        best = max(best, total(tables, order, tables.at, 0))
    return best


@kernel
def locate(lookup: Lookup, state: Words, base: int, at: Index, first: int) -> bool:
    """Write the numbers of the abstract states to `at[first:]`; return whether all of them are alive."""
    for number in range(len(lookup.start) - 1):
        begin, end, index = lookup.start[number] + 0, lookup.start[number + 1] + 0, lookup.first[number]
        if begin == end:
            rank = _leaf(lookup.trees, state, base, index)
        else:
            for place in range(begin, end):
                value = state[base + lookup.word[place]] >> lookup.shift[place] & lookup.mask[place]
                index += value * lookup.factor[place]
            rank = lookup.rank[index] + 0
        if rank == NOTHING:
            return False
        at[first + number] = rank
    return True


@kernel
def _leaf(trees: Trees, state: Words, base: int, node: int) -> int:
    """Return what the tree of this node says of the state."""
    variable = trees.variable[node] + 0
    while variable != NOTHING:
        place = trees.bit[node] + (state[base + trees.word[variable]] >> trees.shift[variable] & trees.mask[variable])
        is_in = trees.piece[place >> 5] >> (place & 31) & 1
        node = trees.high[node] + 0 if is_in else trees.low[node] + 0
        variable = trees.variable[node] + 0
    return trees.low[node] + 0


@kernel
def total(tables: Tables, order: int, at: Index, first: int) -> int:
    """Return what the distances of abstract states `at[first:]` add up to in an order."""
    value = 0
    for index in range(tables.start[order], tables.start[order + 1]):
        value += tables.value[tables.base[index] + at[first + tables.part[index]]]
    return value


class Samples(NamedTuple):
    """States to judge by: number 0 is the initial one.

    Their words are one after the other in `state`, with room for one more state than there may be samples and another
    one; `at` are the numbers of their abstract states, `best` the best estimates so far. `counts[0]` is how many there
    are, `counts[1]` how many steps the present walk has left, `counts[2]` how many walks were begun.
    """

    counts: Words
    state: Words
    at: Index
    best: Words


@entry
@kernel
def walk(
    work: int, length: int, number: Words, space: Space, lookup: Lookup, samples: Samples, found: Index, stack: Index
) -> int:
    """Go on with random walks of about `length` steps from the initial state; keep where they end, unless it is dead.

    That is for about `work` steps of inner loops, until `samples` are complete, or until twice as many walks were
    begun; returns 1 when it is done.
    """
    count, most, parts, done = samples.counts[0], len(samples.best), len(lookup.start) - 1, 0
    words = len(samples.state) // (most + 2)
    present, after = most * words, (most + 1) * words
    while done < work:
        if not samples.counts[1]:
            if count == most or samples.counts[2] == 2 * most:
                return 1
            samples.counts[2] += 1
            samples.counts[1] = 1 + drawn(number, length) + drawn(number, length)
            for word in range(words):
                samples.state[present + word] = samples.state[word]
        many = applicable(space.tree, samples.state, present, found, stack)
        done += 20 * many + 50
        if not many:
            samples.counts[1] = 0
            continue
        apply(space, found[drawn(number, many)], samples.state, present, after, words)
        for word in range(words):
            samples.state[present + word] = samples.state[after + word]
        samples.counts[1] -= 1
        if not samples.counts[1]:
            done += 10 * parts
            if locate(lookup, samples.state, present, samples.at, count * parts):
                for word in range(words):
                    samples.state[count * words + word] = samples.state[present + word]
                count += 1
                samples.counts[0] = count
    return 0


@entry
@kernel
def place(tables: Tables, state: Words) -> int:
    """Write the numbers of the abstract states of the state at `state[0]` to `tables.at`; return 0 for a dead one."""
    return 1 if locate(tables.lookup, state, 0, tables.at, 0) else 0


@entry
@kernel
def judge(tables: Tables, samples: Samples) -> int:
    """Let order 0 of `tables` count for the samples; return for how many it is better than all before."""
    better, parts = 0, len(tables.lookup.start) - 1
    for sample in range(samples.counts[0]):
        value = total(tables, 0, samples.at, sample * parts)
        if value > samples.best[sample]:
            samples.best[sample] = value
            better += 1
    return better
