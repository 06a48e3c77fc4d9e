"""Numbers in packed states: what actions change, linear conditions, and prices.

A state's words are those of its facts, and then one for each variable. The facts of linear conditions are kept up to
date with the variables, so that everything else in a state reads them as it reads any fact. Values stay within
`Numbers.low` and `Numbers.high`, which are so narrow that no sum leaves 64 bits.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit.common_kernel import Index, Words, kernel
from planner.task.packed_facts_kernel import Conditions, holds

APPLIED: Final = 0
OUT_OF_BOUNDS: Final = 1
"""The action would leave the bounds of a fluent: it is not applicable."""
OUT_OF_RANGE: Final = 2
"""The value is too great for exact arithmetic in 64 bits."""


class Numbers(NamedTuple):
    """The variables and the effects on them.

    `low` and `high` are the bounds of variables; `declared[2 * v]` and `declared[2 * v + 1]` say whether it is the
    domain that has them. The effects of action a are numbers `start[a]` up to `start[a + 1]`. Effect e changes
    `variable[e]`, by a sum if `additive[e]`, else to it: `constant[e]` and the terms of its list. It happens if one of
    the conjunctions of its list `guard` holds, or if that list is empty.
    """

    low: Words
    high: Words
    declared: Index
    start: Index
    variable: Index
    additive: Index
    constant: Words
    term_start: Index
    term: Index
    weight: Words
    guard_start: Index
    guard: Index
    guards: Conditions


class Comparisons(NamedTuple):
    """Linear conditions: number c holds where its terms and `constant[c]` sum up to 0 or more.

    Where it holds, word `word[c]` has the bits `yes[c]` under `mask[c]`, else `no[c]`. `reader` lists by variable the
    conditions that read it.
    """

    term_start: Index
    term: Index
    weight: Words
    constant: Words
    word: Index
    mask: Words
    yes: Words
    no: Words
    reader_start: Index
    reader: Index


class Prices(NamedTuple):
    """What plans cost beside the costs of actions.

    A step costs `step[v]` times what it adds to each variable v; a plan that ends in a state costs `end[v]` times each
    variable v there, plus `constant[0]`. Empty lists are for tasks where this is nothing.
    """

    step: Words
    end: Words
    constant: Words


@kernel
def price_step(prices: Prices, state: Words, source: int, target: int) -> int:
    """Return what a step costs beside its action, between states whose variables begin at `source` and `target`."""
    total = 0
    for variable in range(len(prices.step)):
        total += prices.step[variable] * (state[target + variable] - state[source + variable])
    return total


@kernel
def price_end(prices: Prices, state: Words, base: int) -> int:
    """Return what a plan costs for ending in the state whose variables begin at `state[base]`."""
    total = 0
    if len(prices.end):
        total = prices.constant[0] + 0
    for variable in range(len(prices.end)):
        total += prices.end[variable] * state[base + variable]
    return total


@kernel
def sum_terms(start: Index, term: Index, weight: Words, number: int, state: Words, base: int) -> int:
    """Return the sum of the terms of list `number` where the variables begin at `state[base]`."""
    total = 0
    for index in range(start[number], start[number + 1]):
        total += weight[index] * state[base + term[index]]
    return total


@kernel
def lack_of(comparisons: Comparisons, number: int, state: Words, base: int) -> int:
    """Return what comparison `number` lacks, 0 or less if it holds, where the variables begin at `state[base]`."""
    return -comparisons.constant[number] - sum_terms(
        comparisons.term_start, comparisons.term, comparisons.weight, number, state, base
    )


@kernel
def change_numbers(
    numbers: Numbers, comparisons: Comparisons, action: int, words: int, state: Words, source: int, target: int
) -> int:
    """Write the variables after `action` in the state at `state[source]` to the one at `state[target]`.

    That state has the variables from before so far; its comparisons are brought up to date. Returns `APPLIED`, or why
    the action cannot be applied.
    """
    first, last = numbers.start[action], numbers.start[action + 1]
    for effect in range(first, last):
        if happens(numbers, effect, state, source):
            amount = amount_of(numbers, effect, state, source + words)
            place = target + words + numbers.variable[effect]
            state[place] = state[place] + amount if numbers.additive[effect] else amount
    for effect in range(first, last):
        if not happens(numbers, effect, state, source):
            continue
        variable = numbers.variable[effect]
        value = state[target + words + variable]
        if value < numbers.low[variable]:
            return OUT_OF_BOUNDS if numbers.declared[2 * variable] else OUT_OF_RANGE
        if value > numbers.high[variable]:
            return OUT_OF_BOUNDS if numbers.declared[2 * variable + 1] else OUT_OF_RANGE
    for effect in range(first, last):
        compare(comparisons, numbers.variable[effect], words, state, target)
    return APPLIED


@kernel
def happens(numbers: Numbers, effect: int, state: Words, source: int) -> bool:
    """Return whether `effect` happens in the state at `state[source]`."""
    first, last = numbers.guard_start[effect], numbers.guard_start[effect + 1]
    if first == last:
        return True
    for index in range(first, last):
        if holds(numbers.guards, numbers.guard[index], state, source):
            return True
    return False


@kernel
def amount_of(numbers: Numbers, effect: int, state: Words, base: int) -> int:
    """Return what `effect` adds or assigns where the variables begin at `state[base]`."""
    return numbers.constant[effect] + sum_terms(numbers.term_start, numbers.term, numbers.weight, effect, state, base)


@kernel
def compare(comparisons: Comparisons, variable: int, words: int, state: Words, base: int) -> None:
    """Bring the facts of the conditions that read `variable` up to date in the state at `state[base]`."""
    for index in range(comparisons.reader_start[variable], comparisons.reader_start[variable + 1]):
        number = comparisons.reader[index]
        total = comparisons.constant[number] + sum_terms(
            comparisons.term_start, comparisons.term, comparisons.weight, number, state, base + words
        )
        place = base + comparisons.word[number]
        bits = comparisons.yes[number] if total >= 0 else comparisons.no[number]
        state[place] = state[place] & ~comparisons.mask[number] | bits
