"""Fact landmarks: facts that hold at some time in every plan, and orders among them.

The landmarks are those of the delete relaxation, all of them (Keyder, Richter and Helmert, 2010): those of a fact are
the fact itself and what the landmarks of all its achievers have in common. Orders are natural (one is a landmark of the
other), greedy-necessary (it must hold right before the other holds first), and reasonable (it would have to be given up
for the other: Hoffmann, Porteous and Sebastia, 2004; Richter and Westphal, 2010).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from planner.heuristics.kind import Check
from planner.heuristics.relaxed import RelaxedTask
from planner.task import Task, bits, facts_of


@dataclass(frozen=True, slots=True)
class FactLandmarks:
    """The landmarks of a task: numbers of facts, in an order in which they may become true.

    `before[i]` are the landmarks that come before number i (by their numbers here), and `needed_for[i]` those right
    before which number i must hold when they first become true. `goals[i]`: whether it is part of the goal.
    """

    facts: list[int]
    before: list[list[int]]
    needed_for: list[list[int]]
    goals: list[bool]


def fact_landmarks(task: Task, relaxed: RelaxedTask, check: Check) -> FactLandmarks:
    """Return the landmarks of `task`, whose relaxation is `relaxed`; none where not even that can be solved.

    `check` is called now and then; it raises when a limit is reached.
    """
    marks = _propagated(task, relaxed, check)
    if marks[relaxed.goal] < 0:
        return FactLandmarks([], [], [], [])
    found = marks[relaxed.goal] & ~bits([relaxed.start, relaxed.goal])
    derived = bits(task.derived)
    facts = [fact for fact in facts_of(found) if not derived >> fact & 1]
    facts.sort(key=lambda fact: (marks[fact].bit_count(), fact))
    number = {fact: place for place, fact in enumerate(facts)}
    needed = _needed_before(relaxed, marks, facts)
    natural = [{number[mark] for mark in facts_of(marks[fact]) if mark in number and mark != fact} for fact in facts]
    reasonable = _reasonable(task, relaxed, facts, needed, natural)
    return FactLandmarks(
        facts,
        [sorted(natural[place] | reasonable[place]) for place in range(len(facts))],
        _inverted([{number[fact] for fact in before if fact in number} for before in needed]),
        [fact in set(task.goal) for fact in facts],
    )


def _propagated(task: Task, relaxed: RelaxedTask, check: Check) -> list[int]:
    """Return the landmarks of each fact as bits; of facts that cannot be reached, -1: all."""
    marks = [-1] * relaxed.size
    missing = [len(facts) for facts in relaxed.preconditions]
    waiting = deque[int]()
    queued = bytearray(len(missing))

    def wake(fact: int, *, first: bool) -> None:
        """Queue the operators that need `fact`, when all that they need was reached."""
        for operator in relaxed.needed_by[fact]:
            missing[operator] -= first
            if not missing[operator] and not queued[operator]:
                queued[operator] = 1
                waiting.append(operator)

    for fact in (*task.initial, relaxed.start):
        marks[fact] = 1 << fact
        wake(fact, first=True)
    while waiting:
        operator = waiting.popleft()
        queued[operator] = 0
        if not operator & 255:
            check()
        needed = 0
        for fact in relaxed.preconditions[operator]:
            needed |= marks[fact]
        for effect in relaxed.effects[operator]:
            known = marks[effect]
            shared = known & (needed | 1 << effect)
            if shared != known:
                marks[effect] = shared
                wake(effect, first=known < 0)
    return marks


def _needed_before(relaxed: RelaxedTask, marks: list[int], facts: list[int]) -> list[set[int]]:
    """Return, for each landmark, the facts that all operators need that can make it true for the first time."""
    found = []
    for fact in facts:
        shared = -1
        for operator in relaxed.added_by[fact]:
            needed = 0
            for condition in relaxed.preconditions[operator]:
                needed |= marks[condition]
            if needed >= 0 and not needed >> fact & 1:
                shared &= bits(relaxed.preconditions[operator])
        found.append(set() if shared < 0 or marks[fact] == 1 << fact else set(facts_of(shared)))
    return found


def _reasonable(
    task: Task,
    relaxed: RelaxedTask,
    facts: list[int],
    needed: list[set[int]],
    natural: list[set[int]],
) -> list[set[int]]:
    """Return, for each landmark, those that reasonably come before it, without making any order circular."""
    variable_of = {fact: number for number, group in enumerate(task.variables) for fact in group}
    initial, goals = set(task.initial), set(task.goal)
    spoilt = [_spoilt_by(relaxed, fact, before) for fact, before in zip(facts, needed, strict=True)]
    number = {fact: place for place, fact in enumerate(facts)}
    found: list[set[int]] = [set() for _ in facts]
    ahead = [set(before) for before in natural]

    def interferes(late: int, early: int) -> bool:
        """Return whether making landmark `early` true makes `late` false."""
        mine = variable_of.get(facts[late])
        return any(variable_of.get(fact) == mine and fact != facts[late] for fact in spoilt[early])

    def order(early: int, late: int) -> None:
        if early != late and early not in ahead[late] and late not in ahead[early] and interferes(late, early):
            found[late].add(early)
            ahead[late].add(early)

    mine = [place for place, fact in enumerate(facts) if fact in goals and fact not in initial]
    for late in mine:
        for early in mine:
            order(early, late)
    for place, before in enumerate(needed):
        for late in (number[fact] for fact in before if fact in number and fact not in goals and fact not in initial):
            for early in natural[place]:
                if facts[early] not in initial:
                    order(early, late)
    return _acyclic(natural, found)


def _spoilt_by(relaxed: RelaxedTask, fact: int, needed: set[int]) -> set[int]:
    """Return facts that hold when `fact` becomes true, or must hold right before: what excludes them is given up."""
    shared = -1
    for operator in relaxed.added_by[fact]:
        shared &= bits(relaxed.effects[operator])
    return {fact, *needed} if shared < 0 else {fact, *needed, *facts_of(shared)}


def _acyclic(natural: list[set[int]], reasonable: list[set[int]]) -> list[set[int]]:
    """Return the reasonable orders without those that close a circle with the others."""
    kept: list[set[int]] = [set() for _ in reasonable]
    for late, before in enumerate(reasonable):
        for early in sorted(before):
            if not _leads(natural, kept, late, early):
                kept[late].add(early)
    return kept


def _leads(natural: list[set[int]], kept: list[set[int]], early: int, late: int) -> bool:
    """Return whether `early` has to come before `late` by the orders so far."""
    seen, waiting = {late}, [late]
    while waiting:
        place = waiting.pop()
        if place == early:
            return True
        for before in natural[place] | kept[place]:
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return False


def _inverted(lists: Iterable[set[int]]) -> list[list[int]]:
    """Return, for each number, the places of the sets that it is in."""
    sets = list(lists)
    found: list[list[int]] = [[] for _ in sets]
    for place, members in enumerate(sets):
        for member in members:
            found[member].append(place)
    return found
