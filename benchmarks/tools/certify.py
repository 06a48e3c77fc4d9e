"""Find cheapest plans without our solver, by plain searches that can be read in a minute each.

`search_exhaustively` is uniform-cost search (Dijkstra 1959) over all states that the relevant tools can reach.
`search_by_regression` ignores deletes and goes through all sets of facts that may be needed, from the goal backwards.
Its answer costs no more than any plan, so that it is optimal wherever it is a plan with the deletes too (`is_plan`).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from benchmarks.tools.tool_library import Tool

MOST_STATES = 2_000_000
"""Generators make tasks whose relevant part is smaller than this."""
UNREACHABLE = 1 << 60


def find_reachable(tools: Iterable[Tool], initial: Iterable[str]) -> list[Tool]:
    """Return the tools that can ever be used if nothing is deleted, in an order in which they can."""
    waiting: dict[str, list[Tool]] = defaultdict(list)
    missing: dict[str, int] = {}
    ready = []
    for tool in tools:
        missing[tool.name] = len(set(tool.requires))
        for fact in set(tool.requires):
            waiting[fact].append(tool)
        if not tool.requires:
            ready.append(tool)
    seen = set(initial)
    facts = list(seen)
    found = 0
    while facts or found < len(ready):
        while facts:
            for tool in waiting[facts.pop()]:
                missing[tool.name] -= 1
                if not missing[tool.name]:
                    ready.append(tool)
        for tool in ready[found:]:
            fresh = [fact for fact in tool.provides if fact not in seen]
            seen.update(fresh)
            facts.extend(fresh)
            found += 1
    return ready


def find_relevant(tools: Iterable[Tool], initial: Iterable[str], goal: Iterable[str]) -> list[Tool]:
    """Return the reachable tools that provide what the goal, or another one of them, needs."""
    providers: dict[str, list[Tool]] = defaultdict(list)
    for tool in find_reachable(tools, initial):
        for fact in tool.provides:
            providers[fact].append(tool)
    needed, queue = set(goal), list(goal)
    found: dict[str, Tool] = {}
    while queue:
        for tool in providers[queue.pop()]:
            found[tool.name] = tool
            fresh = set(tool.requires) - needed
            needed |= fresh
            queue.extend(fresh)
    return list(found.values())


def search_exhaustively(tools: Iterable[Tool], initial: Collection[str], goal: Collection[str]) -> tuple[str, ...]:
    """Return a cheapest plan; raises `ValueError` where there is none or the states are too many."""
    used = find_relevant(tools, initial, goal)
    bits: dict[str, int] = defaultdict(lambda: 1 << len(bits))
    wanted, start = _mask(goal, bits), _mask(initial, bits)
    masks = [(_mask(t.requires, bits), ~_mask(t.deletes, bits), _mask(t.provides, bits), t.cost) for t in used]
    cost_of, came = {start: 0}, dict[int, tuple[int, int]]()
    queue = [(0, start)]
    while queue:
        cost, state = heapq.heappop(queue)
        if state & wanted == wanted:
            return tuple([used[number].name for number in _extract_path(came, state)])
        if cost > cost_of[state]:
            continue
        for number, (needs, keeps, adds, price) in enumerate(masks):
            if state & needs == needs:
                after = state & keeps | adds
                if cost + price < cost_of.get(after, cost + price + 1):
                    cost_of[after], came[after] = cost + price, (state, number)
                    heapq.heappush(queue, (cost + price, after))
        if len(cost_of) > MOST_STATES:
            raise ValueError("too many states")
    raise ValueError("there is no plan")


def search_by_regression(
    tools: Iterable[Tool], initial: Collection[str], goal: Collection[str], level: Mapping[str, int]
) -> tuple[str, ...]:
    """Return a cheapest plan that ignores deletes, in ascending order of levels.

    Each tool provides facts of one `level` and requires facts of lower ones. So whatever needs a fact is chosen before
    what provides it, when the needed facts are met from the highest level down, and no tool is paid for twice.
    Raises `ValueError` where levels are not so, where there is no plan, and where the needs are too many.
    """
    used = find_relevant(tools, initial, goal)
    wanted = {fact for tool in used for fact in tool.requires}.union(goal).difference(initial)
    bits = {fact: 1 << place for place, fact in enumerate(sorted(wanted, key=lambda fact: (level[fact], fact)))}
    providers: list[list[tuple[int, int, int, int]]] = [[] for _ in bits]
    for number, tool in enumerate(used):
        provided, required = wanted.intersection(tool.provides), wanted.intersection(tool.requires)
        given = {level[fact] for fact in provided}
        if len(given) != 1 or any(level[fact] >= min(given) for fact in required):
            raise ValueError(f"{tool.name} does not keep to the levels")
        gives = _mask(provided, bits)
        for place in _places(gives):
            providers[place].append((~gives, _mask(required, bits), tool.cost, number))
    chosen = _cheapest_choice(_mask(wanted.intersection(goal), bits), providers)
    return tuple([used[number].name for number in reversed(chosen)])


def _cheapest_choice(goal: int, providers: Sequence[Sequence[tuple[int, int, int, int]]]) -> list[int]:
    """Return the tools that meet the needs `goal` most cheaply, the last one first (A*: Hart et al. 1968)."""
    single = _single_costs(providers)
    cost_of, came = {goal: 0}, dict[int, tuple[int, int]]()
    queue = [(0, 0, goal)]
    closed = set()
    while queue:
        needs = heapq.heappop(queue)[2]
        if not needs:
            return _extract_path(came, needs)
        if needs in closed:
            continue
        closed.add(needs)
        for keeps, requires, price, number in providers[needs.bit_length() - 1]:
            left, total = needs & keeps | requires, cost_of[needs] + price
            if total < cost_of.get(left, total + 1):
                cost_of[left], came[left] = total, (needs, number)
                bound = max([single[place] for place in _places(left)], default=0)
                heapq.heappush(queue, (total + bound, -total, left))
        if len(cost_of) > MOST_STATES:
            raise ValueError("too many needs")
    raise ValueError("there is no plan")


def _single_costs(providers: Sequence[Sequence[tuple[int, int, int, int]]]) -> list[int]:
    """Return for each fact what it costs at least: its cheapest provider and the dearest fact that this one needs."""
    costs: list[int] = []
    for options in providers:
        totals = [price + max([costs[p] for p in _places(needs)], default=0) for _, needs, price, _ in options]
        costs.append(min(totals, default=UNREACHABLE))
    return costs


def is_plan(tools: Iterable[Tool], initial: Iterable[str], goal: Iterable[str], plan: Iterable[str]) -> bool:
    """Return whether the tools named in `plan`, one after the other, reach the goal, deletes and all."""
    by_name, state = {tool.name: tool for tool in tools}, set(initial)
    for name in plan:
        tool = by_name[name]
        if not state.issuperset(tool.requires):
            return False
        state = state.difference(tool.deletes).union(tool.provides)
    return state.issuperset(goal)


def relaxed_cost(tools: Iterable[Tool], initial: Collection[str], goal: Iterable[str]) -> int:
    """Return the cost of some plan that ignores deletes: no heuristic that does so as well can say more.

    Each fact is provided by the tool with which it is cheapest if everything that one needs is paid for separately
    (Hoffmann and Nebel 2001).
    """
    used = find_reachable(tools, initial)
    costs = dict.fromkeys(initial, 0)
    best: dict[str, Tool] = {}
    changed = True
    while changed:
        changed = False
        for tool in used:
            if all(fact in costs for fact in tool.requires):
                total = tool.cost + sum(costs[fact] for fact in tool.requires)
                for fact in tool.provides:
                    if total < costs.get(fact, total + 1):
                        costs[fact], best[fact], changed = total, tool, True
    chosen, queue = dict[str, Tool](), list(goal)
    while queue:
        provider = best.get(queue.pop())
        if provider is not None and provider.name not in chosen:
            chosen[provider.name] = provider
            queue.extend(provider.requires)
    return sum(tool.cost for tool in chosen.values())


def _mask(facts: Iterable[str], bits: Mapping[str, int]) -> int:
    mask = 0
    for fact in facts:
        mask |= bits[fact]
    return mask


def _places(mask: int) -> list[int]:
    """Return the places of the bits in `mask`."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


def _extract_path(came: Mapping[int, tuple[int, int]], node: int) -> list[int]:
    """Return the numbers on the way that came to `node`, the first one first."""
    numbers = []
    while node in came:
        node, number = came[node]
        numbers.append(number)
    return numbers[::-1]
