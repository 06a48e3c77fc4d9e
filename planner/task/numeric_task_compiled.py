"""A numeric task as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Final

from planner.jit.arrays import flatten, index, words, zeros
from planner.lightweight import dataclass, replace
from planner.limits import never, under_limits
from planner.model.formulas import Not
from planner.task.ground_task import Task
from planner.task.numeric_ranges import Ranges, find_ranges
from planner.task.numeric_task import LinearEffect, NumericTask
from planner.task.packed_facts_kernel import Conditions
from planner.task.packed_numbers_kernel import Comparisons, Fields, Numbers, put_value
from planner.task.packed_states_kernel import Space
from planner.task.packed_task_compiled import (
    Packing,
    branch_space,
    choose_packing,
    fit_fields,
    pack_conjunctions,
    pack_initial_state,
    pack_space,
)

LARGEST_SUM: Final = 1 << 61
"""No sum of a condition or of an effect is greater, so that all fit into 64 bits."""
LARGEST_VALUE: Final = 1 << 52
"""No variable is greater, whatever its weights."""


@dataclass(frozen=True, slots=True)
class NumericSpace:
    """The state space of a numeric task as arrays: `effects` lists all numeric effects in the order of the space's.

    A state has `words` words for facts; those of `space.numbers.fields` follow, for the variables.
    """

    source: NumericTask
    packing: Packing
    space: Space
    preconditions: Conditions
    initial: list[int]
    effects: list[LinearEffect]

    @property
    def words(self) -> int:
        """The number of words for facts in a state."""
        return self.packing.words

    def branch(self) -> NumericSpace:
        """Return the space with memory of its own for all that kernels write to it: another thread may use it, too."""
        return replace(self, space=branch_space(self.space))


def pack_numeric_task(source: NumericTask, check: Callable[[], None] = never) -> NumericSpace | None:
    """Return the arrays of a task; None if its numbers are too great for 64 bits."""
    limit = find_limit(source)
    if limit < 0:
        return None
    task = source.task
    packing = choose_packing(task)
    check()
    numbers, effects = pack_numbers(source, packing, limit)
    facts_alone = pack_space(task, packing, check)
    space = facts_alone._replace(numbers=numbers, comparisons=pack_comparisons(source, packing))
    facts = pack_initial_state(task, packing, space)
    return NumericSpace(
        source,
        packing,
        space,
        pack_conjunctions([action.precondition for action in task.actions], packing),
        [*facts, *pack_values(numbers.fields, [each.initial for each in source.variables])],
        effects,
    )


def find_limit(source: NumericTask) -> int:
    """Return the greatest value of variables for which all sums of `source` fit into 64 bits.

    Return -1 if there is none, or if an initial value is greater. An action may have several effects on one variable:
    the sum of all of them must fit.
    """
    sums = [(abs(each.constant), sum([abs(weight) for _, weight in each.terms])) for each in source.conditions]
    sums.append((0, 2 * sum([ceil(abs(weight) * source.task.resolution) for _, weight in source.metric])))
    for changes in under_limits(source.changes):
        joint: dict[int, list[int]] = {}
        for each in changes:
            for one in each.effects:
                total = joint.setdefault(one.variable, [0, 0])
                total[0] += abs(one.constant)
                total[1] += sum([abs(weight) for _, weight in one.terms])
        sums += [(constant, weight) for constant, weight in joint.values()]
    limit = LARGEST_VALUE
    for constant, weight in sums:
        limit = min(limit, (LARGEST_SUM - constant) // (1 + weight) if max(constant, weight) <= LARGEST_SUM else -1)
    return limit if all(abs(each.initial) <= limit for each in source.variables) else -1


def pack_numbers(source: NumericTask, packing: Packing, limit: int) -> tuple[Numbers, list[LinearEffect]]:
    """Return the arrays of the variables, whose values stay up to `limit`, and the numeric effects in their order."""
    start, effects, guards, conjunctions = [0], list[LinearEffect](), list[list[int]](), list[tuple[int, ...]]()
    for changes in under_limits(source.changes):
        for each in changes:
            always = () in each.conditions
            own = [] if always else [*range(len(conjunctions), len(conjunctions) + len(each.conditions))]
            conjunctions += [] if always else each.conditions
            effects += each.effects
            guards += [own] * len(each.effects)
        start.append(len(effects))
    term_start, term = flatten([[variable for variable, _ in each.terms] for each in effects])
    ranges = find_ranges(source)
    low = [_narrow(-limit, each.low, least) for each, least in zip(source.variables, ranges.low, strict=True)]
    high = [_narrow(limit, each.high, most) for each, most in zip(source.variables, ranges.high, strict=True)]
    declared = [bound for each in source.variables for bound in (each.low, each.high)]
    ends = [end for both in zip(low, high, strict=True) for end in both]
    numbers = Numbers(
        pack_fields(ranges, limit),
        zeros(len(low)),
        zeros(len(low)),
        words(low),
        words(high),
        index(int(bound == end) for bound, end in zip(declared, ends, strict=True)),
        *flatten(_list_read(source)),
        index(start),
        index(each.variable for each in effects),
        index(int(each.additive) for each in effects),
        words(each.constant for each in effects),
        term_start,
        term,
        words(weight for each in effects for _, weight in each.terms),
        *flatten(guards),
        pack_conjunctions(conjunctions, packing),
    )
    return numbers, effects


def _list_read(source: NumericTask) -> list[list[int]]:
    """Return by action the variables that it changes or reads, and those of conditions that read what it changes."""
    beside = [{variable} for variable in range(len(source.variables))]
    for condition in source.conditions:
        variables = [variable for variable, _ in condition.terms]
        for variable in variables:
            beside[variable].update(variables)
    found, known = [], dict[tuple[LinearEffect, ...], list[int]]()
    for changes in under_limits(source.changes):
        effects = tuple([effect for each in changes for effect in each.effects])
        if effects not in known:
            read = {variable for effect in effects for variable, _ in effect.terms}
            known[effects] = sorted(read.union(*[beside[effect.variable] for effect in effects]))
        found.append(known[effects])
    return found


def _narrow(limit: int, *bounds: int | None) -> int:
    """Return the tightest of these bounds and the `limit`, which are upper bounds if the limit is positive."""
    return (min if limit > 0 else max)([limit, *[bound for bound in bounds if bound is not None]])


def pack_fields(ranges: Ranges, limit: int) -> Fields:
    """Return fields for variables of these `ranges`, whose values stay up to `limit`.

    A variable without a known range has a word of its own, behind the shared ones.
    """
    known = [
        None if low is None or high is None else (max(low, -limit), min(high, limit))
        for low, high in zip(ranges.low, ranges.high, strict=True)
    ]
    sites = fit_fields([(both[1] - both[0]).bit_length() for both in known if both is not None])
    count, shared = 1 + max([word for word, _, _ in sites], default=-1), iter(sites)
    places = []
    for both in known:
        if both is None:
            places.append((count, 0, -1, 0))
            count += 1
        else:
            word, shift, width = next(shared)
            places.append((word, shift, (1 << width) - 1, both[0]))
    return Fields(
        index([count]),
        index(word for word, _, _, _ in places),
        words(shift for _, shift, _, _ in places),
        words(mask for _, _, mask, _ in places),
        words(least for _, _, _, least in places),
    )


def pack_values(fields: Fields, values: Sequence[int]) -> list[int]:
    """Return the words of a state in which the variables have these `values`."""
    state = zeros(fields.words[0])
    for variable, value in enumerate(values):
        put_value(fields, variable, value, state, 0)
    return list(state)


def pack_comparisons(source: NumericTask, packing: Packing) -> Comparisons:
    """Return the arrays of the linear conditions."""
    conditions = source.conditions
    term_start, term = flatten([[variable for variable, _ in each.terms] for each in conditions])
    readers: list[list[int]] = [[] for _ in source.variables]
    for number, each in enumerate(conditions):
        for variable, _ in each.terms:
            readers[variable].append(number)
    opposite = find_opposites(source.task)
    places = [packing.places[each.fact] for each in conditions]
    return Comparisons(
        term_start,
        term,
        words(weight for each in conditions for _, weight in each.terms),
        words(each.constant for each in conditions),
        index(word for word, _, _ in places),
        words(mask for _, mask, _ in places),
        words(bits for _, _, bits in places),
        words(packing.places[opposite[each.fact]][2] for each in conditions),
        *flatten(readers),
    )


def find_opposites(task: Task) -> dict[int, int]:
    """Return for each fact that is the negation of another one the number of that other fact."""
    number_of = {literal: fact for fact, literal in enumerate(task.facts)}
    return {
        fact: number_of[literal.part]
        for fact, literal in enumerate(under_limits(task.facts))
        if isinstance(literal, Not) and literal.part in number_of
    }
