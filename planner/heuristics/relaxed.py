"""The delete relaxation that all our informed heuristics share: what could hold if nothing ever became false.

Every unconditional effect, every conditional effect and every axiom rule becomes a *relaxed operator*: when all its
preconditions hold, its effects hold, for good. Operators remember the action that they came from, because its cost is
paid once for all of them. Axiom rules are free. Facts that say that a derived fact does not hold are taken to hold
always: deriving less never makes a relaxed plan impossible, so no estimate becomes too high by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.task import State, Task

AXIOM: Final = -1
"""The "action" of relaxed operators that stand for axiom rules, and of the one that provides the goal."""


@dataclass(frozen=True, slots=True)
class RelaxedTask:
    """The relaxation of a task; operators are numbered from 0 and described by parallel lists.

    Two facts are added to the task's `size - 2`: `start`, which always holds and is the precondition of operators that
    have no other, and `goal`, which the last operator (free, an `AXIOM`) provides from all goal facts. `needed_by` and
    `added_by` lead from facts to operators. `facts_in` lists the facts of a state, and `start`.
    """

    size: int
    start: int
    goal: int
    preconditions: list[tuple[int, ...]]
    effects: list[tuple[int, ...]]
    costs: list[int]
    actions: list[int]
    needed_by: list[list[int]]
    added_by: list[list[int]]
    facts_in: Callable[[State], list[int]]

    def operators_of(self, actions: int) -> list[list[int]]:
        """Return the relaxed operators of each action, of which there are `actions`."""
        found: list[list[int]] = [[] for _ in range(actions)]
        for operator, action in enumerate(self.actions):
            if action != AXIOM:
                found[action].append(operator)
        return found


def relax(task: Task, costs: Sequence[int] | None = None) -> RelaxedTask:
    """Return the delete relaxation of `task`, with other `costs` of its actions if they are given."""
    size = len(task.facts) + 2
    start, goal = size - 2, size - 1
    preconditions: list[tuple[int, ...]] = []
    effects: list[tuple[int, ...]] = []
    actions: list[int] = []
    free = {fact for layer in task.axioms for fact, _ in layer.negated}
    for needed, added, action in _operators(task, goal):
        conditions = dict.fromkeys(needed)
        gained = tuple([fact for fact in dict.fromkeys(added) if fact not in conditions and fact not in free])
        if gained:
            preconditions.append(tuple([fact for fact in conditions if fact not in free]) or (start,))
            effects.append(gained)
            actions.append(action)
    price = [action.cost for action in task.actions] if costs is None else costs
    return RelaxedTask(
        size,
        start,
        goal,
        preconditions,
        effects,
        [0 if action == AXIOM else price[action] for action in actions],
        actions,
        _index(size, preconditions),
        _index(size, effects),
        fact_lister(len(task.facts), start),
    )


def _operators(task: Task, goal: int) -> Iterator[tuple[tuple[int, ...], Iterable[int], int]]:
    for number, action in enumerate(task.actions):
        gains: dict[tuple[int, ...], list[int]] = {(): list(action.adds)}
        for effect in action.conditional:
            gains.setdefault(effect.condition, []).extend(effect.adds)
        for condition, added in gains.items():
            yield action.precondition + condition, added, number
    for layer in task.axioms:
        for rule in layer.rules:
            yield rule.body, (rule.head,), AXIOM
    yield task.goal, (goal,), AXIOM


def _index(size: int, lists: list[tuple[int, ...]]) -> list[list[int]]:
    index: list[list[int]] = [[] for _ in range(size)]
    for operator, facts in enumerate(lists):
        for fact in facts:
            index[fact].append(operator)
    return index


def fact_lister(facts: int, start: int) -> Callable[[State], list[int]]:
    """Return a function that lists the facts of a state below number `facts`, and `start`: a byte at a time."""
    width = (facts + 7) // 8
    whole = (1 << facts) - 1
    table: dict[int, tuple[int, ...]] = {}

    def facts_in(state: State) -> list[int]:
        found = [start]
        base = 0
        for byte in (state & whole).to_bytes(width, "little"):
            if byte:
                key = base | byte
                if key not in table:
                    first = base >> 5
                    table[key] = tuple([first + bit for bit in range(8) if byte >> bit & 1])
                found += table[key]
            base += 256
        return found

    return facts_in
