"""h² over rows of bits as integers: the twin of the kernels of `planner.pruning.h2`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.lightweight import dataclass
from planner.pruning.h2 import Rows, Sharpened
from planner.search.search_run import Pauses
from planner.task.finite_domain import TRUE, Assignments, Operator
from planner.task.ground_task import State, bits, facts_of


@dataclass(frozen=True, slots=True)
class Gain:
    """`value` may be gained where `here` can hold, in the direction of travel, and `there` can, where it leads to."""

    value: int
    here: State
    there: State


@dataclass(slots=True)
class Arrow:
    """An operator in the direction of travel: from states with `here` to states with `there`.

    Values that are not `gone` may stay; `seen` is when it was last looked at.
    """

    here: State
    there: State
    gone: State
    gains: list[Gain]
    seen: int = -1


class Pairs:
    """What is known of pairs: `possible[w]` has the values that may hold together with w, and w itself if it may hold.

    `before` and `after` are what must hold where each action is applied, and then; None where it need not be applied.
    """

    def __init__(self, task: Assignments) -> None:
        self._task = task
        self._masks = [bits(values) for values in task.variables]
        everything = (1 << task.size) - 1
        self.possible = [everything & ~self._masks[task.variable_of[w]] | 1 << w for w in range(task.size)]
        for group in task.groups:
            for value in facts_of(group):
                self.possible[value] &= ~group | 1 << value
        self._initial, self._goal = bits((TRUE, *task.initial)), bits((TRUE, *task.goal))
        self.before = [None if each is None else bits(each.before) for each in task.operators]
        self.after = [None if each is None else bits(each.after) for each in task.operators]

    def sharpen(self) -> Sharpened:
        """Find what else must hold where each action is applied, and which actions cannot be.

        Returns whether the initial state and the goal may be parts of a plan.
        """
        for number, operator in enumerate(self._task.operators):
            if operator is not None and self.before[number] is not None:
                yield
                self.before[number], self.after[number] = self._find_around(operator, number)
        initial, goal = self.closed(self._initial), self.closed(self._goal)
        if initial is None or goal is None:
            return False
        self._initial, self._goal = initial, goal
        return True

    def _find_around(self, operator: Operator, number: int) -> tuple[State | None, State | None]:
        """Return what must hold before and after an action; None where it cannot be applied."""
        stays = ~0
        for change in operator.changes:
            stays &= ~self._masks[self._task.variable_of[change.after]]
        before, after = self.before[number], self.after[number]
        known = None
        while before is not None and after is not None and known != (before, after):
            known = before, after
            before = self.closed(before | after & stays)
            after = None if before is None else self.closed(after | before & stays)
        return (None, None) if after is None else (before, after)

    def closed(self, known: State) -> State | None:
        """Return all values that must hold where `known` ones do; None where these cannot hold together."""
        while True:
            fitting = self._fitting(self.possible, known)
            if known & ~fitting:
                return None
            more = known
            for mask in self._masks:
                if not known & mask:
                    left = fitting & mask
                    if not left:
                        return None
                    if not left & (left - 1):
                        more |= left
            if more == known:
                return known
            known = more

    def forwards(self) -> Pauses:
        """Rule out the pairs that are not reached from the initial state."""
        return self._travel(self._initial, self._forward_arrows())

    def backwards(self) -> Pauses:
        """Rule out the pairs from which the goal is not reached."""
        return self._travel(self._goal, self._backward_arrows())

    def _travel(self, start: State, arrows: list[Arrow]) -> Pauses:
        """Rule out the pairs that are not reached from states where `start` holds."""
        first = self._fitting(self.possible, start)
        reached = [self.possible[w] & first if first >> w & 1 else 0 for w in range(self._task.size)]
        yield from _Spread(self.possible, reached, arrows).run()
        self.possible[:] = reached

    @staticmethod
    def _fitting(rows: Sequence[State], values: State) -> State:
        """Return what may hold together with each of `values`."""
        fitting = ~0
        for value in facts_of(values):
            fitting &= rows[value]
        return fitting

    def copy(self) -> Rows:
        """Return the rows as they are now."""
        return self.possible[:].__getitem__

    def actions(self) -> list[int]:
        """Return the actions that a plan may need."""
        return [number for number, before in enumerate(self.before) if before is not None]

    def needed(self, action: int) -> tuple[int, ...]:
        """Return what must hold where an action is applied, if a plan may need it; else nothing."""
        return tuple(facts_of(self.before[action] or 0))

    def count(self) -> int:
        """Return a number that is another one whenever more is known."""
        known = [each.bit_count() for each in (*self.before, *self.after) if each is not None]
        return sum([row.bit_count() for row in self.possible]) + 4 * self._task.size * len(self.actions()) - sum(known)

    def _used(self) -> Iterator[tuple[Operator, State, State]]:
        for operator, before, after in zip(self._task.operators, self.before, self.after, strict=True):
            if operator is not None and before is not None and after is not None:
                yield operator, before, after

    def _forward_arrows(self) -> list[Arrow]:
        return [
            Arrow(
                before,
                after,
                bits(operator.gone),
                [Gain(change.after, bits(change.condition), 0) for change in operator.changes],
            )
            for operator, before, after in self._used()
        ]

    def _backward_arrows(self) -> list[Arrow]:
        return [
            Arrow(
                after,
                before,
                bits(operator.gone),
                [
                    Gain(value, 1 << change.after, bits(change.condition))
                    for change in operator.changes
                    for value in self._task.befores(change)
                ],
            )
            for operator, before, after in self._used()
        ]


class _Spread:
    """Adds to `reached` all pairs that `arrows` lead to, none of which is not `possible`."""

    def __init__(self, possible: list[State], reached: list[State], arrows: list[Arrow]) -> None:
        self._possible, self._reached, self._arrows = possible, reached, arrows
        self._clock = 0
        self._grown = [0] * len(reached)
        """When each row last grew."""

    def run(self) -> Pauses:
        """Go on until nothing is new."""
        before = -1
        while before < self._clock:
            before = self._clock
            for arrow in self._arrows:
                if self._is_due(arrow):
                    yield
                    arrow.seen = self._clock
                    self._follow(arrow)

    def _is_due(self, arrow: Arrow) -> bool:
        """Return whether anything has changed that the arrow may start from."""
        read = arrow.here
        for gain in arrow.gains:
            read |= gain.here
        return any(self._grown[value] > arrow.seen for value in facts_of(read))

    def _follow(self, arrow: Arrow) -> None:
        gains = [found for gain in arrow.gains if (found := self._gained(arrow, gain)) is not None]
        for gain, here, there in gains:
            together = here & there & ~arrow.gone | 1 << gain.value
            for other, _, _ in gains:
                if not ((arrow.here | other.here) & ~here or (arrow.there | other.there | 1 << other.value) & ~there):
                    together |= 1 << other.value
            self._reach(gain.value, together)

    def _gained(self, arrow: Arrow, gain: Gain) -> tuple[Gain, State, State] | None:
        """Return `gain` with what may hold in the states it comes from and in those it leads to; None if it may not."""
        needed, made = arrow.here | gain.here, arrow.there | gain.there | 1 << gain.value
        here, there = ~0, ~0
        for value in facts_of(needed):
            here &= self._reached[value]
        for value in facts_of(made):
            there &= self._possible[value]
        return None if needed & ~here or made & ~there else (gain, here, there)

    def _reach(self, value: int, together: State) -> None:
        new = together & ~self._reached[value]
        if not new:
            return
        self._clock += 1
        self._reached[value] |= new
        self._grown[value] = self._clock
        for other in facts_of(new):
            self._reached[other] |= 1 << value
            self._grown[other] = self._clock
