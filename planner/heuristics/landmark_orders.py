"""Reasonable orders of landmarks: one would have to be given up for the other, so the other should come first.

From Hoffmann, Porteous and Sebastia (2004) and Richter and Westphal (2010). Plans need not keep to them.
"""

from __future__ import annotations

from planner.heuristics.relaxed import RelaxedTask
from planner.task import Task, bits, facts_of


def reasonable_orders(
    task: Task, relaxed: RelaxedTask, facts: list[int], needed: list[set[int]], before: list[set[int]]
) -> list[set[int]]:
    """Return, for each landmark, the numbers of those that reasonably come before it, no circles closed.

    `facts` are the landmarks, `needed[i]` the facts that must hold right before number i first becomes true, and
    `before[i]` the numbers of those that come before it anyway.
    """
    initial, goals = set(task.initial), set(task.goal)
    number = {fact: place for place, fact in enumerate(facts)}
    interference = _Interference(task, relaxed, facts, needed)
    wanted = [place for place, fact in enumerate(facts) if fact in goals and fact not in initial]
    pairs = interference.among(wanted)
    for place, conditions in enumerate(needed):
        late_ones = [number[fact] for fact in conditions & number.keys() if fact not in goals and fact not in initial]
        early_ones = [early for early in before[place] if facts[early] not in initial]
        pairs += [(early, late) for late in late_ones for early in early_ones]
    found: list[set[int]] = [set() for _ in facts]
    for early, late in dict.fromkeys(pairs):
        known = early == late or early in before[late] or late in before[early] or early in found[late]
        if not known and interference(late, early) and not _leads(before, found, late, early):
            found[late].add(early)
    return found


class _Interference:
    """Whether making one landmark true makes another one false."""

    def __init__(self, task: Task, relaxed: RelaxedTask, facts: list[int], needed: list[set[int]]) -> None:
        self._facts = facts
        self._groups: dict[int, list[int]] = {}
        for number, group in enumerate((*task.variables, *task.mutexes)):
            for fact in group:
                self._groups.setdefault(fact, []).append(number)
        self._spoilt = [
            self._by_group({fact, *conditions, *_gained_with(relaxed, fact)})
            for fact, conditions in zip(facts, needed, strict=True)
        ]

    def _by_group(self, facts: set[int]) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for fact in facts:
            for group in self._groups.get(fact, ()):
                found.setdefault(group, set()).add(fact)
        return found

    def among(self, places: list[int]) -> list[tuple[int, int]]:
        """Return, as (early, late), all pairs of these landmarks that may be ordered, sorted by the late one."""
        by_group: dict[int, list[int]] = {}
        for late in places:
            for group in self._groups.get(self._facts[late], ()):
                by_group.setdefault(group, []).append(late)
        found = {(late, early) for early in places for group in self._spoilt[early] for late in by_group.get(group, ())}
        return [(early, late) for late, early in sorted(found)]

    def __call__(self, late: int, early: int) -> bool:
        """Return whether landmark `late` must be false right before or when `early` becomes true."""
        fact, spoilt = self._facts[late], self._spoilt[early]
        return any(spoilt.get(group, set()) - {fact} for group in self._groups.get(fact, ()))


def _gained_with(relaxed: RelaxedTask, fact: int) -> list[int]:
    """Return the facts that everything adds which adds `fact`."""
    shared = -1
    for operator in relaxed.added_by[fact]:
        shared &= bits(relaxed.effects[operator])
    return [] if shared < 0 else facts_of(shared)


def _leads(before: list[set[int]], found: list[set[int]], early: int, late: int) -> bool:
    """Return whether `early` has to come before `late` by the orders so far."""
    seen, waiting = {late}, [late]
    while waiting:
        place = waiting.pop()
        if place == early:
            return True
        for other in before[place] | found[place]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return False
