"""Value iteration in rounds that the caller counts; the twin is `planner.policies.value_iteration`."""

from __future__ import annotations

from typing import Final, NamedTuple

from planner.jit import slots_kernel as slot
from planner.jit.common_kernel import Index, Reals, Words, entry, kernel
from planner.policies.mdp_kernel import Options, Outlook

TIE: Final = 1e-9
"""Two values are tied if they differ by less than this fraction of them."""


@kernel
def is_tied(one: float, other: float) -> bool:
    """Return whether two values are equal up to rounding."""
    return abs(one - other) <= TIE * max(1.0, abs(other))


@kernel
def worth(parts: int, value: Reals, options: Options, part: int, node: int, option: int) -> float:
    """Return one of the values of `option` of `node`, which is repeated while it leads back to the node."""
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
    """Return whether all successors by `option` of `node` are settled."""
    for branch in range(options.start[option], options.end[option]):
        after = options.node[branch]
        if after != node and not settled[after]:
            return False
    return True


@kernel
def compare_values(parts: int, worths: Reals) -> int:
    """Return 1 if the second of two lists of values is better than the first, -1 if it is worse, else 0."""
    for part in range(parts - 1):
        if not is_tied(worths[parts + part], worths[part]):
            return 1 if worths[parts + part] > worths[part] else -1
    if worths[parts + parts - 1] == worths[parts - 1]:
        return 0
    return 1 if worths[parts + parts - 1] < worths[parts - 1] else -1


@kernel
def back_up(number: Words, outlook: Outlook, options: Options, worths: Reals, node: int) -> None:
    """Set the values of `node` to those of its best option; the node is settled if all its successors are.

    Where all values are optimistic, it is also settled if the successors of its best option are. `worths` is a buffer
    for two lists of values.
    """
    parts, many = number[slot.REWARDS] + 1, outlook.many[node] + 0
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
        better = compare_values(parts, worths)
        if better > 0 or (better == 0 and done and not known):
            for part in range(parts):
                worths[part] = worths[parts + part]
            known = done
            outlook.best[node] = 1 + place if place >= 0 else 1 + many
    for part in range(parts):
        outlook.value[base + part] = worths[part]
    outlook.settled[node] = 1 if not waits and (all_known or (known and not number[slot.WIDENED])) else 0
    number[slot.WORK] += 4 * parts * (1 + many)


HOPEFUL: Final = 0
"""Modes of a sweep: with the optimistic ends of all nodes, so that values are bounds."""
LIKELY: Final = 1
"""With optimistic ends only in nodes without options."""
CLOSED: Final = 2
"""Without optimistic ends: the values of policies that stop in unexpanded nodes."""

BEGIN: Final = 0
"""Tasks of a call: select the nodes, and keep all their options."""
START: Final = 1
"""Set one of the values to its start."""
ROUND: Final = 2
"""Update it once; return 1 if no node has changed."""
KEEP: Final = 3
"""Keep only the options that are optimal for it."""
SETTLE: Final = 4
"""Settle the nodes whose best options are no optimistic ends."""
DOUBT: Final = 5
"""Unsettle nodes whose best options lead to unsettled nodes; return 1 if there are none."""
CLOSE: Final = 1e-12
"""A value has converged when a round changes it by no more than this fraction."""


class Swept(NamedTuple):
    """The nodes of a sweep, and their options that are optimal for the values so far (*kept*)."""

    node: Index
    """[N] 1 if the node is swept."""
    stop: Index
    """[N] 1 if stopping is kept."""
    hope: Index
    """[N] 1 if the optimistic end is kept."""
    option: Index
    """[O] 1 if the option is kept."""
    far: Reals
    """[1] A cost that is higher than that of any policy."""


@entry
@kernel
def sweep(asked: int, part: int, mode: int, number: Words, outlook: Outlook, options: Options, swept: Swept) -> int:
    """Do the task `asked` for all swept nodes, the latest first; return 1 or 0, as the task says."""
    rest, cost = 1, number[slot.REWARDS] + 0
    for node in range(number[slot.NODES] - 1, -1, -1):
        if asked == BEGIN:
            _begin(mode, cost, outlook, swept, node)
        elif not swept.node[node]:
            continue
        elif asked == START:
            outlook.value[node * (cost + 1) + part] = swept.far[0] if part == cost else 0.0
            if part == 0 or not _is_kept(outlook, swept, node, outlook.best[node]):
                outlook.best[node] = _first_kept(outlook, swept, node)
        elif asked == ROUND:
            if _update(part, cost, outlook, options, swept, node):
                rest = 0
        elif asked == KEEP:
            _keep_optimal(part, cost, outlook, options, swept, node)
        elif asked == SETTLE:
            outlook.settled[node] = 1 if outlook.best[node] <= outlook.many[node] else 0
        elif outlook.settled[node] and _is_doubtful(outlook, options, node):
            outlook.settled[node] = 0
            rest = 0
    return rest


@kernel
def _begin(mode: int, cost: int, outlook: Outlook, swept: Swept, node: int) -> None:
    """Select `node` if it is expanded and not settled, and keep all its options; reset other nodes in mode CLOSED."""
    swept.node[node] = 1 if outlook.inside[node] and not outlook.settled[node] else 0
    if not outlook.inside[node]:
        if mode == CLOSED:
            for each in range(node * (cost + 1), (node + 1) * (cost + 1)):
                outlook.value[each] = outlook.stop[each]
        return
    if not swept.node[node]:
        return
    swept.stop[node] = 1
    waits = outlook.made[node] < outlook.total[node]
    swept.hope[node] = 1 if waits and (mode == HOPEFUL or (mode == LIKELY and not outlook.many[node])) else 0
    for option in range(outlook.first[node], outlook.first[node] + outlook.many[node]):
        swept.option[option] = 1


@kernel
def _is_kept(outlook: Outlook, swept: Swept, node: int, place: int) -> bool:
    if place == 0:
        return swept.stop[node] == 1
    if place > outlook.many[node]:
        return swept.hope[node] == 1
    return swept.option[outlook.first[node] + place - 1] == 1


@kernel
def _first_kept(outlook: Outlook, swept: Swept, node: int) -> int:
    place = 0
    while not _is_kept(outlook, swept, node, place):
        place += 1
    return place


@kernel
def _worth(part: int, cost: int, outlook: Outlook, options: Options, node: int, place: int) -> float:
    if place == 0:
        return outlook.stop[node * (cost + 1) + part] + 0.0
    if place > outlook.many[node]:
        return outlook.hope[node * (cost + 1) + part] + 0.0
    return worth(cost + 1, outlook.value, options, part, node, outlook.first[node] + place - 1)


@kernel
def _update(part: int, cost: int, outlook: Outlook, options: Options, swept: Swept, node: int) -> bool:
    """Update one of the values of `node` and its best option; return whether the value has changed.

    The best option changes only for a better one, so that best options never form a cycle without progress.
    """
    best = held = 0.0
    for turn in range(-1, outlook.many[node] + 2):
        place = turn if turn >= 0 else outlook.best[node] + 0
        if turn < 0 or _is_kept(outlook, swept, node, place):
            value = _worth(part, cost, outlook, options, node, place)
            if turn < 0:
                best = held = value
            elif (value > held if part < cost else value < held) and not is_tied(value, held):
                held = value
                outlook.best[node] = place
            if part < cost:
                best = max(best, value)
    if part == cost:
        best = held
    at = node * (cost + 1) + part
    changed = abs(best - outlook.value[at]) > CLOSE * max(1.0, abs(best))
    outlook.value[at] = best
    return changed


@kernel
def _keep_optimal(part: int, cost: int, outlook: Outlook, options: Options, swept: Swept, node: int) -> None:
    """Keep the options that are optimal for a reward."""
    value = outlook.value[node * (cost + 1) + part] + 0.0
    for place in range(outlook.many[node] + 2):
        if _is_kept(outlook, swept, node, place):
            kept = 1 if is_tied(_worth(part, cost, outlook, options, node, place), value) else 0
            if place == 0:
                swept.stop[node] = kept
            elif place > outlook.many[node]:
                swept.hope[node] = kept
            else:
                swept.option[outlook.first[node] + place - 1] = kept


@kernel
def _is_doubtful(outlook: Outlook, options: Options, node: int) -> bool:
    """Return whether the best option of `node` leads to an unsettled node."""
    if not outlook.best[node]:
        return False
    option = outlook.first[node] + outlook.best[node] - 1
    for branch in range(options.start[option], options.end[option]):
        if not outlook.settled[options.node[branch]]:
            return True
    return False
