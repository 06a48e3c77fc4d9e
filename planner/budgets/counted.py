"""What is left of budgets, as part of the state: so any search keeps them.

A state is a number whose lower bits are the facts. Above them is a field for each budget with what is left of it, and a
guard bit: a step that takes too much borrows from the guard.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.annotations import Any
from planner.budgets.allowance import Allowance
from planner.search.run import DEAD_END, Advising, Estimate
from planner.search.space import Space
from planner.task import State


class Counting(Space):
    """The state space of `space` within `allowances`; `cut` says whether these ever kept an action from being taken."""

    def __init__(self, space: Space, allowances: Sequence[Allowance]) -> None:
        super().__init__(space.task)
        offset, full, amounts = len(self.task.facts), 0, [0] * len(self.costs)
        self.cut = False
        self._facts, self._guards = (1 << offset) - 1, 0
        self._fields = list[tuple[int, int]]()
        for each in allowances:
            self._fields.append((offset, (1 << each.most.bit_length()) - 1))
            width = each.most.bit_length()
            guard = 1 << offset + width
            full |= each.most << offset | guard
            self._guards |= guard
            for action, amount in enumerate(each.uses):
                amounts[action] += min(amount, each.most + 1) << offset
            offset += width + 1
        self._amounts = amounts
        self.initial |= full

    def closed(self, state: State) -> State:
        """Return `state` with its derived facts."""
        return state if self.close is None else self.close(state & self._facts) | state & ~self._facts

    def actions_in(self, state: State) -> list[int]:
        """Return the numbers of the actions that can be applied in `state` and paid for."""
        left, guards, amounts = state & ~self._facts, self._guards, self._amounts
        found = self.applicable(self.closed(state) & self._facts)
        paid = [action for action in found if left - amounts[action] & guards == guards]
        self.cut = self.cut or len(paid) < len(found)
        return paid

    def successors(self, state: State) -> list[tuple[int, State]]:
        """Return `(action, next state)` for every action that can be applied in `state`."""
        return [(action, self.apply(action, state)) for action in self.actions_in(state)]

    def apply(self, action: int, state: State) -> State:
        """Return the state after `action`, which can be paid for."""
        facts = state & self._facts
        return super().apply(action, facts) | (state ^ facts) - self._amounts[action]

    def estimate(self, of_facts: Any, uses: Sequence[Estimate]) -> Any:
        """Return an estimate for these states: what it is for their facts.

        Admissible estimates of the `uses` of each budget tell where too little is left.
        """
        return (_Advising if isinstance(of_facts, Advising) else _Masked)(of_facts, self, uses)

    def split(self, state: State) -> tuple[State, State]:
        """Return the facts of `state`, and what is left."""
        facts = state & self._facts
        return facts, state ^ facts

    def suffices(self, left: State, needs: Sequence[int]) -> bool:
        """Return whether so much is `left` of each budget; notes it if not."""
        found = all((left >> offset & mask) >= need for (offset, mask), need in zip(self._fields, needs, strict=True))
        self.cut = self.cut or not found
        return found


class _Masked:
    """An estimate that looks at the facts of a state, and for dead ends at what is left."""

    def __init__(self, estimate: Any, space: Counting, uses: Sequence[Estimate]) -> None:
        self._estimate, self._space, self._uses = estimate, space, uses
        self._needs: dict[State, list[int]] = {}

    def __call__(self, state: State) -> int:
        facts, left = self._space.split(state)
        found: int = self._estimate(facts) if self._lives(facts, left) else DEAD_END
        return found

    def _lives(self, facts: State, left: State) -> bool:
        if not self._uses:
            return True
        if facts not in self._needs:
            self._needs[facts] = [estimate(facts) for estimate in self._uses]
        return self._space.suffices(left, self._needs[facts])


class _Advising(_Masked):
    def advise(self, state: State) -> tuple[int, set[int]]:
        facts, left = self._space.split(state)
        dead: tuple[int, set[int]] = DEAD_END, set()
        found: tuple[int, set[int]] = self._estimate.advise(facts) if self._lives(facts, left) else dead
        return found
