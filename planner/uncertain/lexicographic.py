"""The best policy of an explicit process: one aim after the other, each among the policies that are best so far.

A reward is collected at ends only, so going in circles is free as long as it does not pay: free end components are
made one class for it. Options that keep the best value are left for the next aim; the last one is the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from planner.annotations import Final
from planner.records import dataclass
from planner.uncertain.graph import Option
from planner.uncertain.improve import best_exits, worth
from planner.uncertain.quotient import Exit, Options, Quotient

TIE: Final = 1e-9
"""Options whose values differ by less than this part of them are as good as each other."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The best values in each node, of each reward and then of the cost, and the option to take for them.

    No option where none ends for sure.
    """

    values: tuple[tuple[float, ...], ...]
    chosen: tuple[Option | None, ...]


def best_policy(options: Options, rewards: int, check: Callable[[], None]) -> Solution:
    """Return the lexicographically best values and a policy that has them, for every node.

    Every node has an end among its `options`. `check` raises to give up.
    """
    values: list[tuple[float, ...]] = []
    for number in range(rewards):
        quotient = Quotient(options, partial(_lost, number), check)
        found, _ = best_exits(quotient.exits, check)
        values.append(tuple([-found[quotient.of[node]] for node in range(len(options))]))
        options = _kept(quotient, found)
    quotient = Quotient(options, lambda option: option.cost, check)
    found, exits = best_exits(quotient.exits, check)
    values.append(tuple([found[quotient.of[node]] for node in range(len(options))]))
    return Solution(tuple(values), _taken(quotient, exits))


def _lost(number: int, option: Option) -> float:
    """Return the reward of an end, as a price."""
    return -option.worth[number] if option.worth else 0.0


def _kept(quotient: Quotient, values: Sequence[float]) -> Options:
    """Return the options that keep the best value."""
    kept: list[list[Option]] = [list(quotient.inner.get(node, ())) for node in range(len(quotient.options))]
    for number, exits in enumerate(quotient.exits):
        limit = values[number] + TIE * abs(values[number])
        for each in exits:
            if worth(each, values) <= limit:
                kept[each.node].append(each.option)
    return kept


def _taken(quotient: Quotient, exits: dict[int, Exit]) -> tuple[Option | None, ...]:
    """Return the options of a policy that leaves every class through its exit."""
    chosen: list[Option | None] = [None] * len(quotient.options)
    for number, exit_ in exits.items():
        chosen[exit_.node] = exit_.option
        queue = [exit_.node]
        before: dict[int, list[tuple[int, Option]]] = {}
        for node in quotient.members[number]:
            for option in quotient.inner.get(node, ()):
                for _, after in option.branches:
                    before.setdefault(after, []).append((node, option))
        for node in queue:
            for earlier, option in before.get(node, ()):
                if chosen[earlier] is None:
                    chosen[earlier] = option
                    queue.append(earlier)
    return tuple(chosen)
