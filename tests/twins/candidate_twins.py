"""The slow, obvious twin of candidates: sequences of actions are tried by cost, then grouped by what is equivalent."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations

from search_twins import Facts, applied, is_goal, successors

from planner.task.ground_task import Task


def sequences(task: Task, *, loops: bool) -> Iterator[tuple[int, tuple[int, ...]] | None]:
    """Plans with their costs, by cost and then by length; None for each sequence that is no plan.

    Without `loops`, those are left out that lead to a state twice.
    """
    start = frozenset(task.initial)
    edges = cache(lambda state: successors(task, state))
    heap: list[tuple[int, int, tuple[int, ...], tuple[Facts, ...]]] = [(0, 0, (), (start,))]
    while heap:
        cost, length, plan, states = heapq.heappop(heap)
        yield (cost, plan) if is_goal(task, states[-1]) else None
        for number, after in edges(states[-1]):
            if loops or after not in states:
                step = task.actions[number].cost
                heapq.heappush(heap, (cost + step, length + 1, (*plan, number), (*states, after)))


def leads_to_goal(task: Task, plan: tuple[int, ...]) -> bool:
    state: Facts | None = frozenset(task.initial)
    for number in plan:
        state = applied(task, state, number) if state is not None else None
    return state is not None and is_goal(task, state)


def is_wasteful(task: Task, plan: tuple[int, ...]) -> bool:
    """Whether some steps can be left out so that the rest is still a plan."""
    kept = (rest for size in range(len(plan)) for rest in combinations(plan, size))
    return any(leads_to_goal(task, rest) for rest in kept)


def base_facts(task: Task, facts) -> set[int]:
    """What facts depend on: themselves, or the base facts below those that are derived."""
    found, changed = set(facts), True
    while changed:
        before = len(found)
        for layer in task.axioms:
            found |= {fact for rule in layer.rules if rule.head in found for fact in rule.body}
            found |= {derived for negated, derived in layer.negated if negated in found}
        changed = len(found) > before
    return found - task.derived


def reads(task: Task, number: int) -> set[int]:
    action = task.actions[number]
    return base_facts(task, {*action.precondition, *(fact for e in action.conditional for fact in e.condition)})


def writes(task: Task, number: int, read: Iterable[int] = ()) -> tuple[set[int], set[int]]:
    """What an action may make true, and what it may make false, as far as anything reads it: others than it, `read`."""
    action = task.actions[number]
    read = base_facts(task, (*task.goal, *read)).union(*[reads(task, other) for other in range(len(task.actions))])
    adds = {*action.adds, *(fact for effect in action.conditional for fact in effect.adds)}
    deletes = {*action.deletes, *(fact for effect in action.conditional for fact in effect.deletes)}
    return adds & read, deletes & read


def independent(task: Task, one: int, other: int, read: Iterable[int] = ()) -> bool:
    mine, theirs = writes(task, one, read), writes(task, other, read)
    return not (
        reads(task, one) & (theirs[0] | theirs[1])
        or reads(task, other) & (mine[0] | mine[1])
        or mine[0] & theirs[1]
        or mine[1] & theirs[0]
    )


class Traces:
    """Plans in a form that all orders of their independent steps share."""

    def __init__(self, task: Task) -> None:
        pairs = [(one, other) for one in range(len(task.actions)) for other in range(len(task.actions))]
        self.independent = {pair for pair in pairs if independent(task, *pair)}

    def sort_steps(self, plan: tuple[int, ...]) -> tuple[int, ...]:
        """The equivalent plan that comes first in the alphabet of actions: of what can come next, the least."""
        rest, found = list(plan), []
        while rest:
            ready = [
                place
                for place, action in enumerate(rest)
                if all((earlier, action) in self.independent for earlier in rest[:place])
            ]
            found.append(rest.pop(min(ready, key=lambda place: rest[place])))
        return tuple(found)


def enumerated(
    task: Task, *, orders: bool, wasteful: bool, most: int, plans: int
) -> tuple[list[tuple[int, tuple[int, ...]]], bool]:
    """The cheapest plans, each in its first order unless `orders`, after looking at so many sequences.

    So many `plans` at most; and whether these are all.
    """
    traces, found = Traces(task), {}
    for count, item in enumerate(sequences(task, loops=wasteful)):
        if count >= most or len(found) >= plans:
            return list(found.values()), False
        if item is not None:
            cost, plan = item
            key = plan if orders else traces.sort_steps(plan)
            if key not in found and (wasteful or not is_wasteful(task, plan)):
                found[key] = (cost, key)
    return list(found.values()), True
