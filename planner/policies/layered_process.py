"""Decision processes over another one: each state is one of the `base`, and more that the base does not know.

A state is a number, in the order in which states were met, so that searches handle it as any other state.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from planner.model import Atom, Number
from planner.policies.decision import Hoping
from planner.policies.lao_star import Check
from planner.policies.markov_decision_process import Process
from planner.task.ground_task import State

More = TypeVar("More", bound=Hashable)


class LayeredProcess(Process, Generic[More]):
    """A process whose states are pairs of a state of `base` and `More`, from the initial ones on."""

    def __init__(self, base: Process, first: More) -> None:
        self.base = base
        super().__init__(base.task, [], base.wishes, base.purse)
        self.numeric, self.ends, self.is_metric = base.numeric, base.ends, base.is_metric
        self.unknown, self.aliases, self.ignored = base.unknown, base.aliases, base.ignored
        self.is_guided = False
        self._pairs: list[tuple[State, More]] = []
        self._places: dict[tuple[State, More], int] = {}
        self.initial = self.number(base.initial, first)

    @property
    def is_deterministic(self) -> bool:
        """Whether every choice has one outcome: not known of choices that are met later."""
        return False

    def number(self, state: State, more: More) -> State:
        """Return the number of a pair."""
        place = self._places.setdefault((state, more), len(self._pairs))
        if place == len(self._pairs):
            self._pairs.append((state, more))
        return place

    def inner(self, state: State) -> State:
        """Return the state of the base."""
        return self._pairs[state][0]

    def more(self, state: State) -> More:
        """Return what the base does not know."""
        return self._pairs[state][1]

    def facts(self, state: State) -> State:
        """Return the facts that hold in `state`, as bits, without derived ones."""
        return self.base.facts(self.inner(state))

    def values(self, state: State) -> dict[Atom, Number]:
        """Return the values of the numeric fluents in `state`."""
        return self.base.values(self.inner(state))

    def unknown_in(self, state: State) -> list[Atom]:
        """Return the facts that are unknown in `state`."""
        return self.base.unknown_in(self.inner(state))

    def outcomes(self, state: State, choice: int) -> list[tuple[float, State]]:
        """Return the distribution of the state after `choice`, as pairs of a probability and a state."""
        found: dict[State, float] = {}
        for share, after, _ in self.results(state, choice):
            found[after] = found.get(after, 0.0) + share
        return [(share, after) for after, share in found.items()]

    def is_goal(self, state: State) -> bool:
        """Return whether the hard goal holds in `state`."""
        return self.base.is_goal(self.inner(state))

    def utility(self, state: State) -> Number:
        """Return the sum of the utilities of the wishes that `state` fulfils."""
        return self.base.utility(self.inner(state))

    def end_price(self, state: State) -> float:
        """Return the price of ending in `state`."""
        return self.base.end_price(self.inner(state))

    def least_end_price(self, state: State) -> float:
        """Return a lower bound of the prices of all ends after `state`."""
        return self.base.least_end_price(self.inner(state))

    def make_hopes(self, _check: Check) -> Hoping | None:
        """Return lower bounds for states; None without any."""
        return None

    def time(self, state: State) -> Number | None:
        """Return when the next step can begin in a state; None where time does not matter."""
        return self.base.time(self.inner(state))
