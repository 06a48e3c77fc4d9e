"""The state space of a task: the initial state, the goal, and which action leads where.

A search sees nothing but this. States hold base facts only, so that equal states are equal numbers; derived facts are
computed where a condition may read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from planner.closure import Closure
from planner.search.successors import Applicable, applicable_finder
from planner.task import State, Task, bits, facts_of

Conditional = tuple[State, State, State]
"""An effect as bits: its condition, what it adds, what it keeps (all but what it deletes)."""
Effects = tuple[State, State, State]
"""What is kept, what is added, and the conditions of that."""


class Space:
    """The state space of `task`; `costs` are those of its actions, by number."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.initial = bits(task.initial)
        self.costs = [action.cost for action in task.actions]
        self.goal = bits(task.goal)
        self.close: Callable[[State], State] | None = Closure(task) if task.has_axioms else None
        """Adds the derived facts to a state; None where nothing is derived."""
        self._conflicts = _rows(task.conflicts)
        self._conflicting = bits(self._conflicts)
        self._added = [bits(action.adds) for action in task.actions]
        self._kept = [~bits(action.deletes) for action in task.actions]
        self._conditional: dict[int, list[Conditional]] = {
            number: [
                (bits(effect.condition), bits(effect.adds), ~bits(effect.deletes)) for effect in action.conditional
            ]
            for number, action in enumerate(task.actions)
            if action.conditional
        }

    @cached_property
    def applicable(self) -> Applicable:
        """The function that returns the numbers of the actions whose preconditions hold in a (closed) state."""
        return applicable_finder(self.task)

    @cached_property
    def preconditions(self) -> list[State]:
        """The preconditions of the actions as bits, by number."""
        return [bits(action.precondition) for action in self.task.actions]

    def closed(self, state: State) -> State:
        """Return `state` with its derived facts."""
        return state if self.close is None else self.close(state)

    def cost_of(self, plan: Iterable[int]) -> int:
        """Return what the steps of `plan` cost together."""
        return sum([self.costs[action] for action in plan])

    def is_goal(self, state: State) -> bool:
        """Return whether the goal holds in `state`."""
        return not self.goal & ~self.closed(state)

    def actions_in(self, state: State) -> list[int]:
        """Return the numbers of the actions that can be applied in `state`."""
        return self.applicable(self.closed(state))

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Return `(action, next state)` for every action that can be applied in `state`, but for conflicts."""
        full = self.closed(state)
        if self._conditional:
            found = [(action, self._apply(action, state, full)) for action in self.applicable(full)]
        else:
            added, kept = self._added, self._kept
            found = [(action, state & kept[action] | added[action]) for action in self.applicable(full)]
        return [each for each in found if not self._is_useless(each[1])] if self._conflicts else found

    def _is_useless(self, state: State) -> bool:
        """Return whether no plan goes through `state`, as two of its facts say."""
        return any(state & self._conflicts[fact] for fact in facts_of(state & self._conflicting))

    def apply(self, action: int, state: State) -> State:
        """Return the state after `action`, whether or not it can be applied in `state`."""
        if action not in self._conditional:
            return state & self._kept[action] | self._added[action]
        return self._apply(action, state, self.closed(state))

    def _apply(self, action: int, state: State, full: State) -> State:
        kept, added, _ = self.effects(action, full)
        return state & kept | added

    def effects(self, action: int, full: State) -> Effects:
        """Return what `action` keeps and adds in the closed state `full`, and the conditions of that beside its own.

        All triggered deletes come first, then all triggered adds: adding wins.
        """
        kept, added, conditions = self._kept[action], self._added[action], 0
        for condition, adds, keeps in self._conditional.get(action, ()):
            if not condition & ~full:
                kept &= keeps
                added |= adds
                conditions |= condition
        return kept, added, conditions


def _rows(pairs: Iterable[tuple[int, int]]) -> dict[int, State]:
    """Return the second facts of `pairs` by the first."""
    rows: dict[int, State] = {}
    for one, other in pairs:
        rows[one] = rows.get(one, 0) | 1 << other
    return rows
