"""Landmarks: facts, or small sets of facts, one of which every plan makes true; and orders among them.

Fact landmarks are all those of the delete relaxation (Keyder, Richter and Helmert, 2010): the landmarks of a fact are
the fact itself and the common landmarks of all its achievers. Disjunctive landmarks are preconditions of one predicate
of which each first achiever of a landmark needs one (Richter and Westphal, 2010). Landmark a is ordered reasonably
before b if a plan that reaches b first must delete b to reach a (Hoffmann, Porteous and Sebastia, 2004); plans need not
respect such orders.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

from planner.heuristics.declare import Check
from planner.heuristics.relaxation import RelaxedTask
from planner.lightweight import Final, dataclass
from planner.model import Atom
from planner.task.ground_task import Task, bits, facts_of


def find_reasonable_orders(
    task: Task, relaxed: RelaxedTask, facts: list[int], needed: list[set[int]], before: list[set[int]]
) -> list[set[int]]:
    """Return, for each landmark, the landmarks ordered reasonably before it, without cycles.

    `facts` are the landmarks. `needed[i]` are the facts that must hold right before landmark i first becomes true, and
    `before[i]` the landmarks known to come before it.
    """
    initial, goals = set(task.initial), set(task.goal)
    number = {fact: place for place, fact in enumerate(facts)}
    interference = _Interference(task, relaxed, facts, needed)
    wanted = [place for place, fact in enumerate(facts) if fact in goals and fact not in initial]
    pairs = interference.find_pairs(wanted)
    for place, conditions in enumerate(needed):
        late_ones = [number[fact] for fact in conditions & number.keys() if fact not in goals and fact not in initial]
        early_ones = [early for early in before[place] if facts[early] not in initial]
        pairs += [(early, late) for late in late_ones for early in early_ones]
    found: list[set[int]] = [set() for _ in facts]
    for early, late in dict.fromkeys(pairs):
        known = early == late or early in before[late] or late in before[early] or early in found[late]
        if not known and interference(late, early) and not _is_ordered_before(before, found, late, early):
            found[late].add(early)
    return found


class _Interference:
    """Decides whether achieving one landmark deletes another."""

    def __init__(self, task: Task, relaxed: RelaxedTask, facts: list[int], needed: list[set[int]]) -> None:
        self._facts = facts
        self._groups: dict[int, list[int]] = {}
        for number, group in enumerate((*task.variables, *task.mutexes)):
            for fact in group:
                self._groups.setdefault(fact, []).append(number)
        self._spoilt = [
            self._by_group({fact, *conditions, *_find_common_adds(relaxed, fact)})
            for fact, conditions in zip(facts, needed, strict=True)
        ]

    def _by_group(self, facts: set[int]) -> dict[int, set[int]]:
        found: dict[int, set[int]] = {}
        for fact in facts:
            for group in self._groups.get(fact, ()):
                found.setdefault(group, set()).add(fact)
        return found

    def find_pairs(self, places: list[int]) -> list[tuple[int, int]]:
        """Return all pairs (early, late) of these landmarks that may be ordered, sorted by the late one."""
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


def _find_common_adds(relaxed: RelaxedTask, fact: int) -> list[int]:
    """Return the facts that all achievers of `fact` add."""
    shared = -1
    for operator in relaxed.added_by[fact]:
        shared &= bits(relaxed.effects[operator])
    return [] if shared < 0 else facts_of(shared)


def _is_ordered_before(before: list[set[int]], found: list[set[int]], early: int, late: int) -> bool:
    """Return whether the orders so far imply that `early` comes before `late`."""
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


MOST_FACTS: Final = 4
"""Maximum number of facts of a disjunctive landmark."""


@dataclass(frozen=True, slots=True)
class Landmarks:
    """The landmarks of a task: each is a fact, or a few facts of which one holds at some time.

    `before[i]` are the landmarks ordered before landmark i, and `reasonable[i]` those of them that are only ordered
    reasonably. `needed_for[i]` are the landmarks right before which landmark i must hold when they first become true.
    `goals[i]` tells whether it is part of the goal. `marks` are the landmarks of each fact as bits, negative for an
    unreachable fact.
    """

    facts: list[tuple[int, ...]]
    before: list[list[int]]
    needed_for: list[list[int]]
    goals: list[bool]
    reasonable: list[set[int]]
    marks: list[int]

    def find_first_achievers(self, relaxed: RelaxedTask, facts: Iterable[int]) -> list[int]:
        """Return the operators of `relaxed` that may be the first to make one of `facts` true, if none holds before."""
        found, wanted = {operator for fact in facts for operator in relaxed.added_by[fact]}, bits(facts)
        return sorted([operator for operator in found if not _marks_of(relaxed, self.marks, operator) & wanted])


NONE: Final = Landmarks([], [], [], [], [], [])


def find_landmarks(task: Task, relaxed: RelaxedTask, check: Check) -> Landmarks:
    """Find the landmarks of `task`, whose relaxation is `relaxed`; return none if the relaxation is unsolvable.

    `check` raises when a limit is reached.
    """
    marks = _propagate_landmarks(task, relaxed, check)
    if marks[relaxed.goal] < 0:
        return NONE
    for fact in task.goal:
        marks[fact] = max(marks[fact], 1 << fact)  # the relaxation has no negated derived facts
    found = (marks[relaxed.goal] | bits(task.goal)) & ~bits([relaxed.start, relaxed.goal])
    facts = sorted(facts_of(found), key=lambda fact: (marks[fact].bit_count(), fact))
    number = {fact: place for place, fact in enumerate(facts)}
    initial = set(task.initial)
    achievers = [[] if fact in initial else _find_first_achievers(relaxed, marks, fact) for fact in facts]
    needed = [_intersect_preconditions(relaxed, operators) for operators in achievers]
    before = [{number[mark] for mark in facts_of(marks[fact] & found) if mark != fact} for fact in facts]
    late = find_reasonable_orders(task, relaxed, facts, needed, before)
    needed_for: list[list[int]] = [[] for _ in facts]
    for place, conditions in enumerate(needed):
        for fact in conditions & number.keys():
            needed_for[number[fact]].append(place)
    goal = set(task.goal)
    made = Landmarks(
        [(fact,) for fact in facts],
        [sorted(natural | reasonable) for natural, reasonable in zip(before, late, strict=True)],
        needed_for,
        [fact in goal for fact in facts],
        late,
        marks,
    )
    _add_disjunctions(task, relaxed, achievers, marks, made)
    return made


def _propagate_landmarks(task: Task, relaxed: RelaxedTask, check: Check) -> list[int]:
    """Return the landmarks of each fact as bits; -1 (all) for an unreachable fact."""
    marks = [-1] * relaxed.size
    missing = [len(facts) for facts in relaxed.preconditions]
    waiting = deque[int]()
    queued = bytearray(len(missing))

    def wake(fact: int, *, first: bool) -> None:
        """Queue the operators with precondition `fact` whose preconditions are all reached."""
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
        needed = _marks_of(relaxed, marks, operator)
        for effect in relaxed.effects[operator]:
            known = marks[effect]
            shared = known & (needed | 1 << effect)
            if shared != known:
                marks[effect] = shared
                wake(effect, first=known < 0)
    return marks


def _marks_of(relaxed: RelaxedTask, marks: list[int], operator: int) -> int:
    """Return the landmarks of the preconditions of an operator, as bits; negative if it is never applicable."""
    needed = 0
    for fact in relaxed.preconditions[operator]:
        needed |= marks[fact]
    return needed


def _find_first_achievers(relaxed: RelaxedTask, marks: list[int], fact: int) -> list[int]:
    """Return the operators that can make `fact` true first; none if it holds initially."""
    return [operator for operator in relaxed.added_by[fact] if not _marks_of(relaxed, marks, operator) >> fact & 1]


def _intersect_preconditions(relaxed: RelaxedTask, operators: list[int]) -> set[int]:
    """Return the common preconditions of these operators."""
    if not operators:
        return set()
    return set(relaxed.preconditions[operators[0]]).intersection(*(relaxed.preconditions[each] for each in operators))


def _add_disjunctions(
    task: Task, relaxed: RelaxedTask, achievers: list[list[int]], marks: list[int], made: Landmarks
) -> None:
    """Add the disjunctive landmarks that the first achievers of fact landmarks need."""
    initial, known = set(task.initial), marks[relaxed.goal]
    number = {fact: place for place, (fact,) in enumerate(made.facts)}
    places: dict[tuple[int, ...], int] = {}
    for late, operators in enumerate(achievers):
        for facts in _find_disjunctions(task, relaxed, operators):
            if initial.isdisjoint(facts) and not any(known >> fact & 1 for fact in facts):
                place = places.setdefault(facts, len(made.facts))
                if place == len(made.facts):
                    shared = marks[facts[0]]
                    for fact in facts[1:]:
                        shared &= marks[fact]
                    made.facts.append(facts)
                    made.before.append([number[fact] for fact in facts_of(shared) if fact in number])
                    made.needed_for.append([])
                    made.goals.append(False)
                    made.reasonable.append(set())
                made.before[late].append(place)
                made.needed_for[place].append(late)


def _find_disjunctions(task: Task, relaxed: RelaxedTask, operators: list[int]) -> list[tuple[int, ...]]:
    """Return sets of at most `MOST_FACTS` facts of one predicate of which each operator needs one."""
    found: dict[str, set[int]] = defaultdict(set)
    having: dict[str, int] = defaultdict(int)
    for operator in operators:
        mine = set()
        for fact in relaxed.preconditions[operator]:
            atom = task.facts[fact] if fact < len(task.facts) else None
            if isinstance(atom, Atom) and len(found[atom.predicate]) <= MOST_FACTS:
                found[atom.predicate].add(fact)
                mine.add(atom.predicate)
        for predicate in mine:
            having[predicate] += 1
    return [
        tuple(sorted(facts))
        for predicate, facts in found.items()
        if having[predicate] == len(operators) and 1 < len(facts) <= MOST_FACTS
    ]
