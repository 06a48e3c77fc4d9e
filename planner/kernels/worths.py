"""What options and nodes of a decision process are worth; the twin is `planner.uncertain.values`."""

from __future__ import annotations

from typing import Final

from planner.kernels.kernel import Index, Reals, Words, kernel
from planner.kernels.numbers import REWARDS, WIDENED, WORK
from planner.kernels.process import Options, Outlook

TIE: Final = 1e-9
"""Values that differ by less than this part of them are equal."""


@kernel
def is_tied(one: float, other: float) -> bool:
    """Return whether two values are equal up to rounding."""
    return abs(one - other) <= TIE * max(1.0, abs(other))


@kernel
def worth(parts: int, value: Reals, options: Options, part: int, node: int, option: int) -> float:
    """Return one part of what `option` of `node` is worth; what leads back to the node is done again."""
    total = 0.0
    if part == parts - 1:
        total = options.cost[option] + 0.0
    rest = 1.0
    for branch in range(options.start[option], options.end[option]):
        after = options.node[branch]
        if after == node:
            rest -= options.share[branch]
        else:
            total += options.share[branch] * value[after * parts + part]
    return total / rest


@kernel
def is_done(settled: Index, options: Options, node: int, option: int) -> bool:
    """Return whether what `option` of `node` leads to is settled."""
    for branch in range(options.start[option], options.end[option]):
        after = options.node[branch]
        if after != node and not settled[after]:
            return False
    return True


@kernel
def compared(parts: int, worths: Reals) -> int:
    """Return 1 if the second of two worths is better than the first, -1 if it is worse: rewards first."""
    for part in range(parts - 1):
        if not is_tied(worths[parts + part], worths[part]):
            return 1 if worths[parts + part] > worths[part] else -1
    if worths[parts + parts - 1] == worths[parts - 1]:
        return 0
    return 1 if worths[parts + parts - 1] < worths[parts - 1] else -1


@kernel
def back_up(number: Words, outlook: Outlook, options: Options, worths: Reals, node: int) -> None:
    """Let `node` be worth its best option; it is settled if all that comes after it is.

    Where no values are worse than the truth, it is also settled if its best option is. `worths` is room for two.
    """
    parts, many = number[REWARDS] + 1, outlook.many[node] + 0
    base, waits = node * parts, outlook.made[node] < outlook.total[node]
    for part in range(parts):
        worths[part] = outlook.stop[base + part]
    outlook.best[node] = 0
    known, all_known = True, True
    for place in range(-1 if waits and not many else 0, many):
        option = outlook.first[node] + place
        done = place < 0 or is_done(outlook.settled, options, node, option)
        all_known = all_known and done
        for part in range(parts):
            worths[parts + part] = outlook.hope[base + part]
            if place >= 0:
                worths[parts + part] = worth(parts, outlook.value, options, part, node, option)
        better = compared(parts, worths)
        if better > 0 or (better == 0 and done and not known):
            for part in range(parts):
                worths[part] = worths[parts + part]
            known = done
            outlook.best[node] = 1 + place if place >= 0 else 1 + many
    for part in range(parts):
        outlook.value[base + part] = worths[part]
    outlook.settled[node] = 1 if not waits and (all_known or (known and not number[WIDENED])) else 0
    number[WORK] += 4 * parts * (1 + many)
