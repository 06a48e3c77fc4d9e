"""What a plan costs at least, in time that grows with the size of the task alone.

Every plan achieves each *landmark* for the first time by one of its achievers: a fact of the goal that does not hold
yet, and what all achievers of a landmark need. One after the other, each landmark takes the least of what its
achievers cost from all of them, so that nothing is counted twice: cost partitioning as with cuts (Helmert and
Domshlak, 2009) over landmarks found backwards (Porteous, Sebastia and Hoffmann, 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from planner.task import Task


def least_cost(task: Task, costs: Sequence[int], check: Callable[[], None]) -> int:
    """Return a lower bound of what any plan for `task` costs, its actions at these `costs`; `check` is called often."""
    achievers: dict[int, list[int]] = {}
    for number, action in enumerate(task.actions):
        for fact in (*action.adds, *(fact for effect in action.conditional for fact in effect.adds)):
            achievers.setdefault(fact, []).append(number)
    skipped = task.derived.union(task.initial)
    left, total, seen = list(costs), 0, set(skipped)
    waiting = [fact for fact in task.goal if fact not in seen]
    seen.update(waiting)
    for fact in waiting:  # which grows
        check()
        found = achievers.get(fact)
        if not found:
            continue
        least = min([left[number] for number in found])
        if least:
            total += least
            for number in found:
                left[number] -= least
        new = _shared(task.actions[number].precondition for number in found) - seen
        seen |= new
        waiting += sorted(new)
    return total


def _shared(conditions: Iterable[Sequence[int]]) -> set[int]:
    """Return the facts that all `conditions` have."""
    shared: set[int] | None = None
    for condition in conditions:
        shared = set(condition) if shared is None else shared.intersection(condition)
        if not shared:
            break
    return shared or set()
