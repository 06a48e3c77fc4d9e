"""What a search shares with its caller: the run that it reports to, how it ends, and how it pauses.

Every search is a generator: it yields wherever it may be paused or given up, and returns how it ended. So one loop
outside watches the limits for all searches, and several searches take turns on one task and share the incumbent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from enum import Enum
from typing import Protocol, runtime_checkable

from planner.lightweight import Any, Final, dataclass
from planner.task.ground_task import INFINITY, State
from planner.task.state_space import Space

DEAD_END: Final = INFINITY
"""An estimate: the goal cannot be reached."""


class Ending(Enum):
    """Why a search stopped by itself."""

    EXHAUSTED = "no plan costs less than the best one found; without one, there is none"
    FIRST_PLAN = "a plan was found, and no more was asked for"
    INCOMPLETE = "states were given up without proof, and no others are left"


Pauses = Generator[None, None, None]
"""Work that lets others go on wherever it yields."""
Steps = Generator[None, None, Ending]
Estimate = Callable[[State], int]
"""A heuristic as searches see it: state → estimated cost to the goal, or `DEAD_END`."""


@runtime_checkable
class Knowing(Protocol):
    """An admissible heuristic that lets successors inherit part of what it found out about a state."""

    def evaluate(self, state: State, inherited: Any, limit: int) -> tuple[int, Any]:
        """Return an estimate, and what is known now; from `limit` on the estimate may be less than it could be."""

    def inherit(self, known: Any, action: int) -> tuple[int, Any]:
        """Return a lower bound for the successor by `action`, at once, and what it inherits."""


@runtime_checkable
class Advising(Protocol):
    """A heuristic that prefers some actions."""

    def advise(self, state: State) -> tuple[int, set[int]]:
        """Return an estimate, and the actions that look helpful, applicable or not."""


Advice = Callable[[State], tuple[int, Collection[int]]]


def advice(estimate: Any) -> Advice:
    """Return `estimate` as advice: one that advises already, or else one that prefers nothing."""
    if isinstance(estimate, Advising):
        return estimate.advise
    return lambda state: (estimate(state), ())


@dataclass(slots=True)
class Run:
    """The best plan so far, what was proved, and what it took; costs in the task's units.

    Searches look for plans that cost less than `limit`, report them to `found`, and report to `proved` that no plan
    costs less than a bound. `on_change` is told of either. Bounds count only if `trusted`. `by` names the search and
    the heuristic at work. `stored` packed states took `stored_bytes` with all that was noted of them. Random choices
    begin with `seed`; of `simulations`, `most_simulations` are made (None: no limit). `excluded` says in words why
    there is no plan, where a search knows more of it than that none is left; `failed`, what has kept a search from its
    end that should not have.
    """

    limit: int = INFINITY
    plan: list[int] | None = None
    lower_bound: int = 0
    expanded: int = 0
    evaluated: int = 0
    generated: int = 0
    stored: int = 0
    stored_bytes: int = 0
    on_change: Callable[[], None] | None = None
    trusted: bool = True
    by: tuple[str, str] = ("", "")
    seed: int = 0
    simulations: int = 0
    most_simulations: int | None = None
    excluded: str = ""
    failed: str = ""

    @property
    def simulated(self) -> bool:
        """Whether all simulations were made that may be."""
        return self.most_simulations is not None and self.simulations >= self.most_simulations

    def found(self, plan: list[int], cost: int) -> None:
        """Take the action numbers of a plan of `cost`, if it is cheaper than what was known."""
        if cost < self.limit:
            self.plan, self.limit = plan, cost
            self._changed()

    def proved(self, bound: int) -> None:
        """Take a proof that no plan costs less than `bound`; more than the best plan costs is no news."""
        bound = min(bound, self.limit)
        if self.lower_bound < bound and self.trusted:
            self.lower_bound = bound
            self._changed()

    def add(self, more: Run, before: Run) -> None:
        """Add what `more` has counted since `before`, which follows it."""
        self.by = more.by
        for name in ("expanded", "evaluated", "generated"):
            setattr(self, name, getattr(self, name) + getattr(more, name) - getattr(before, name))
            setattr(before, name, getattr(more, name))
        self.stored, self.stored_bytes = max(self.stored, more.stored), max(self.stored_bytes, more.stored_bytes)

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


Search = Callable[[Space, Any, Run], Steps]
"""An algorithm: where to search, the estimate to follow (a function of states, at least), what is shared → steps."""


def path(parents: dict[State, tuple[State, int] | None], state: State) -> list[int]:
    """Return the actions that lead from the state without a parent to `state`."""
    actions = []
    while (edge := parents[state]) is not None:
        state, action = edge
        actions.append(action)
    return actions[::-1]


def elsewhere(search: Callable[[Run], Steps], run: Run, number: Sequence[int]) -> Steps:
    """Go through `search`, which shares with `run` what it finds: its action a is here called `number[a]`.

    What is a plan there is one here for the same cost, and no plan here costs less than the cheapest ones there.
    """
    own, before = Run(limit=run.limit, trusted=run.trusted), Run()
    steps, plan = search(own), own.plan
    while True:
        own.limit = min(own.limit, run.limit)
        try:
            next(steps)
            ending = None
        except StopIteration as stop:
            ending = stop.value
        run.add(own, before)
        if own.plan is not None and own.plan is not plan:
            plan = own.plan
            run.found([number[action] for action in plan], own.limit)
        run.proved(own.lower_bound)
        if ending is not None:
            return ending  # type: ignore[no-any-return]
        yield
