"""Variables made of pairs: facts of which no two are ever reached together become the values of one variable."""

from __future__ import annotations

from collections.abc import Sequence

from planner.annotations import Final, Protocol
from planner.compiled.packing import may_lack_value, variables_of
from planner.grounding.mutex import Group, cover
from planner.records import replace
from planner.task import State, Task, bits, facts_of

MOST_GROUPS: Final = 1_500
"""Variables up to which larger ones are looked for: it takes a second then."""
FEW: Final = 64
"""So many facts are compared for the next one of a group; of more, the first one is taken."""


class Rows(Protocol):
    """Rows of bits by number."""

    def __getitem__(self, number: int) -> State:
        """Return a row."""


def grouped(task: Task, unreachable: Rows) -> Task:
    """Return `task` with fewer variables, if states take fewer bits then, and with all groups that were found.

    Row f of `unreachable` has the facts that are never reached together with f.
    """
    if len(task.variables) > MOST_GROUPS:
        return task
    rows = [unreachable[fact] for fact in range(len(task.facts))]
    never = bits(task.derived)
    groups = list(dict.fromkeys([_widened(group, rows, never) for group in task.variables]))
    larger = [group for group in groups if len(group) > 1]
    task = replace(task, mutexes=tuple(dict.fromkeys([*task.mutexes, *larger])))
    facts = [fact for group in task.variables for fact in group]
    other = replace(task, variables=tuple(cover(sorted(larger, key=lambda group: (-len(group), group)), facts)))
    return other if _bits(other) < _bits(task) else task


def _widened(group: Group, rows: Sequence[State], never: State) -> Group:
    """Return a group that has all of `group`, and to which nothing can be added."""
    members, left = [*group], ~never
    for fact in group:
        left &= rows[fact] & ~(1 << fact)
    left &= ~bits(group)
    while left > 0:
        best = max(_first(left), key=lambda fact: (left & rows[fact]).bit_count())
        members.append(best)
        left &= rows[best] & ~(1 << best)
    return tuple(sorted(members))


def _first(state: State) -> list[int]:
    """Return all facts of `state` if they are few, else the first one."""
    return facts_of(state if state.bit_count() <= FEW else state & -state)


def _bits(task: Task) -> int:
    """Return how many bits the variables of `task` take."""
    vague = may_lack_value(task, variables_of(task))
    return sum([(len(group) - (number not in vague)).bit_length() or 1 for number, group in enumerate(task.variables)])
