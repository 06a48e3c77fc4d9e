"""A numeric task as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Final

from planner.jit.arrays import flatten, index, words
from planner.lightweight import dataclass, replace
from planner.limits import never, under_limits
from planner.model.formulas import Not
from planner.task.ground_task import Task
from planner.task.numeric_task import LinearEffect, NumericTask
from planner.task.packed_facts_kernel import Conditions
from planner.task.packed_numbers_kernel import Comparisons, Numbers
from planner.task.packed_states_kernel import Space
from planner.task.packed_task_compiled import (
    Packing,
    branch_space,
    choose_packing,
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
    """The state space of a numeric task as arrays: `effects` lists all numeric effects in the order of the space's."""

    source: NumericTask
    packing: Packing
    space: Space
    preconditions: Conditions
    initial: list[int]
    effects: list[LinearEffect]

    @property
    def words(self) -> int:
        """The number of words for facts in a state; as many words as variables follow."""
        return self.packing.words

    def branch(self) -> NumericSpace:
        """Return the space with memory of its own for the derivation of facts, so that another thread may use it."""
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
        [*facts, *[each.initial for each in source.variables]],
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
    bounds = [bound for each in source.variables for bound in (each.low, each.high)]
    numbers = Numbers(
        words(max(-limit, -limit if each.low is None else each.low) for each in source.variables),
        words(min(limit, limit if each.high is None else each.high) for each in source.variables),
        index(int(bound is not None and abs(bound) <= limit) for bound in bounds),
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
