"""What h² finds in a ground problem: mutex pairs, facts that never hold, and actions that no plan needs.

(Haslum and Geffner, 2000; Alcázar and Torralba, 2015; see `planner.pruning.h2`.)
"""

from __future__ import annotations

import time
from collections.abc import Callable

from planner.lab.state_space import ActionInstance, AnyFact, Fact, StateSpace
from planner.lightweight import dataclass, field
from planner.pruning.h2 import Mutexes, Pruning
from planner.task.ground_task import bits, facts_of

Pair = tuple[Fact, Fact]


@dataclass(frozen=True, slots=True)
class PairMutexes:
    """The mutexes of `space` by h².

    Unless it is `solvable`, h² has proved that there is no plan; `solvable` proves nothing. Unless it is `complete`,
    the time limit ended the work: what was found holds, and there may be more.
    """

    space: StateSpace = field(repr=False)
    solvable: bool
    complete: bool
    _unreachable: Mutexes = field(repr=False, compare=False)
    _excluded: Mutexes = field(repr=False, compare=False)
    _kept: frozenset[int] = field(repr=False)

    @property
    def unreachable_facts(self) -> tuple[Fact, ...]:
        """The facts that hold in no reachable state."""
        return self.space.name_facts(self._find_unreachable())

    def _find_unreachable(self) -> list[int]:
        rows = self._unreachable
        return [fact for fact in self._list_base() if rows[fact] >> fact & 1]

    def _list_base(self) -> list[int]:
        return [fact for fact in range(len(self.space.task.facts)) if fact not in self.space.task.derived]

    @property
    def mutex_pairs(self) -> tuple[Pair, ...]:
        """The pairs of facts that no reachable state has, without pairs of an unreachable fact."""
        never_held = bits(self._find_unreachable())
        return self._name_pairs(lambda fact: 0 if never_held >> fact & 1 else self._unreachable[fact] & ~never_held)

    @property
    def dead_end_pairs(self) -> tuple[Pair, ...]:
        """The pairs of facts that a reachable state may have, but none from which a plan leads on."""
        never_held = bits([fact for fact in self._list_base() if self._excluded[fact] >> fact & 1])
        return self._name_pairs(
            lambda fact: 0 if never_held >> fact & 1 else self._excluded[fact] & ~self._unreachable[fact] & ~never_held
        )

    def _name_pairs(self, row: Callable[[int], int]) -> tuple[Pair, ...]:
        facts, base = self.space.task.facts, self._list_base()
        allowed = bits(base)
        return tuple(
            [
                (facts[fact], facts[other])
                for fact in base
                for other in facts_of((row(fact) & allowed) >> (fact + 1) << (fact + 1))
            ]
        )

    @property
    def useless_actions(self) -> tuple[ActionInstance, ...]:
        """The actions that are in no plan: never applicable, or leading only to states from which there is none."""
        return tuple([action for action in self.space.actions if action.number not in self._kept])

    def are_mutex(self, one: AnyFact, other: AnyFact) -> bool:
        """Return whether no reachable state has both facts, by h²; of one fact twice, whether it never holds."""
        first, second = self.space.find_fact(one), self.space.find_fact(other)
        return bool(self._unreachable[first] >> second & 1)


def find_pair_mutexes(space: StateSpace, time_limit: float | None) -> PairMutexes:
    """Find the mutexes of `space` by h², within `time_limit` seconds."""
    until = None if time_limit is None else time.monotonic() + time_limit
    pruning, complete = Pruning(space.task), True
    for _ in pruning.steps():
        if until is not None and time.monotonic() > until:
            complete = False
            break
    result = pruning.result()
    return PairMutexes(
        space,
        result.solvable,
        complete,
        *pruning.find_mutexes(range(len(space.task.facts))),
        frozenset(result.actions),
    )
