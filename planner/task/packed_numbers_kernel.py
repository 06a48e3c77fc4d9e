"""Numbers in packed states: what actions change, linear conditions, and prices.

Behind the words of facts, a state has those of variables: as many bits of a word as the range of a variable needs, or a
whole word without a known range. The facts of linear conditions are kept up to date with the variables, so that
everything else in a state reads them as it reads any fact. Values stay within `Numbers.low` and `Numbers.high`, which
are so narrow that no sum leaves 64 bits, and no value its bits.
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


class Fields(NamedTuple):
    """Where variables are, in the `words[0]` words behind those of facts.

    Variable v is `least[v]` plus `state[word[v]] >> shift[v] & mask[v]`. One with a word of its own is that word.
    """

    words: Index
    word: Index
    shift: Words
    mask: Words
    least: Words


class Numbers(NamedTuple):
    """The variables and the effects on them.

    `low` and `high` are the bounds of variables; `declared[2 * v]` and `declared[2 * v + 1]` say whether it is the
    domain that has them. `now` and `after` are room for the values in a state and after an action. Action a reads and
    changes the variables of its list `read`, also by conditions that read what it changes. Its effects are numbers
    `start[a]` up to `start[a + 1]`. Effect e changes `variable[e]`, by a sum if `additive[e]`, else to it:
    `constant[e]` and the terms of its list. It happens if one of the conjunctions of its list `guard` holds, or if that
    list is empty.
    """

    fields: Fields
    now: Words
    after: Words
    low: Words
    high: Words
    declared: Index
    read_start: Index
    read: Index
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
def value_of(fields: Fields, variable: int, state: Words, base: int) -> int:
    """Return the value of a variable in the state whose variables begin at `state[base]`."""
    part = state[base + fields.word[variable]] >> fields.shift[variable] & fields.mask[variable]
    return fields.least[variable] + part


@kernel
def put_value(fields: Fields, variable: int, value: int, state: Words, base: int) -> None:
    """Make `value` that of a variable in the state whose variables begin at `state[base]`; it must be in range."""
    place, shift = base + fields.word[variable], fields.shift[variable]
    state[place] = state[place] & ~(fields.mask[variable] << shift) | (value - fields.least[variable]) << shift


@kernel
def unpack_values(numbers: Numbers, state: Words, base: int) -> None:
    """Write the values in the state whose variables begin at `state[base]` to `numbers.now`."""
    for variable in range(len(numbers.now)):
        numbers.now[variable] = value_of(numbers.fields, variable, state, base)


@kernel
def price_step(prices: Prices, fields: Fields, state: Words, source: int, target: int) -> int:
    """Return what a step costs beside its action, between states whose variables begin at `source` and `target`."""
    total = 0
    for variable in range(len(prices.step)):
        more = value_of(fields, variable, state, target) - value_of(fields, variable, state, source)
        total += prices.step[variable] * more
    return total


@kernel
def price_end(prices: Prices, fields: Fields, state: Words, base: int) -> int:
    """Return what a plan costs for ending in the state whose variables begin at `state[base]`."""
    total = 0
    if len(prices.end):
        total = prices.constant[0] + 0
    for variable in range(len(prices.end)):
        total += prices.end[variable] * value_of(fields, variable, state, base)
    return total


@kernel
def sum_terms(start: Index, term: Index, weight: Words, number: int, values: Words) -> int:
    """Return the sum of the terms of list `number` where the variables have these `values`."""
    total = 0
    for index in range(start[number], start[number + 1]):
        total += weight[index] * values[term[index]]
    return total


@kernel
def lack_of(comparisons: Comparisons, number: int, values: Words) -> int:
    """Return what comparison `number` lacks, 0 or less if it holds, where the variables have these `values`."""
    return -comparisons.constant[number] - sum_terms(
        comparisons.term_start, comparisons.term, comparisons.weight, number, values
    )


@kernel
def change_numbers(
    numbers: Numbers, comparisons: Comparisons, action: int, words: int, state: Words, source: int, target: int
) -> int:
    """Write the variables after `action` in the state at `state[source]` to the one at `state[target]`.

    That state has the variables from before so far; its comparisons are brought up to date. Returns `APPLIED`, or why
    the action cannot be applied.
    """
    first, last, after = numbers.start[action], numbers.start[action + 1], numbers.after
    for index in range(numbers.read_start[action], numbers.read_start[action + 1]):
        variable = numbers.read[index]
        numbers.now[variable] = value_of(numbers.fields, variable, state, source + words)
        after[variable] = numbers.now[variable]
    for effect in range(first, last):
        if happens(numbers, effect, state, source):
            amount, variable = amount_of(numbers, effect, numbers.now), numbers.variable[effect]
            after[variable] = after[variable] + amount if numbers.additive[effect] else amount
    for effect in range(first, last):
        if not happens(numbers, effect, state, source):
            continue
        variable = numbers.variable[effect]
        value = after[variable]
        if value < numbers.low[variable]:
            return OUT_OF_BOUNDS if numbers.declared[2 * variable] else OUT_OF_RANGE
        if value > numbers.high[variable]:
            return OUT_OF_BOUNDS if numbers.declared[2 * variable + 1] else OUT_OF_RANGE
        put_value(numbers.fields, variable, value, state, target + words)
    for effect in range(first, last):
        compare(comparisons, numbers.variable[effect], after, state, target)
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
def amount_of(numbers: Numbers, effect: int, values: Words) -> int:
    """Return what `effect` adds or assigns where the variables have these `values`."""
    return numbers.constant[effect] + sum_terms(numbers.term_start, numbers.term, numbers.weight, effect, values)


@kernel
def compare(comparisons: Comparisons, variable: int, values: Words, state: Words, base: int) -> None:
    """Bring the facts of conditions that read `variable` up to date with `values` in the state at `state[base]`."""
    for index in range(comparisons.reader_start[variable], comparisons.reader_start[variable + 1]):
        number = comparisons.reader[index]
        place = base + comparisons.word[number]
        bits = comparisons.yes[number] if lack_of(comparisons, number, values) <= 0 else comparisons.no[number]
        state[place] = state[place] & ~comparisons.mask[number] | bits
