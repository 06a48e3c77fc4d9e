"""The search for the smallest change of the initial state that makes a problem solvable."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from planner.budget import Budget, LimitReached
from planner.errors import UnsupportedError
from planner.explain.assumptions import (
    PRICE,
    UNNAMED,
    Assumption,
    assume_prefix,
    assumptions,
    changed,
    fewest,
    split,
    with_assumptions,
)
from planner.explain.candidates import Candidates
from planner.explain.change import Change, change_of
from planner.explain.items import Items
from planner.explain.shortfall import Shortfall
from planner.explain.values import priced
from planner.model import Literal, Problem
from planner.plan import Plan, Progress, Result, Status, StoppedBy

SHARE: Final = 0.3
"""The part of the time that is left which one search may use, when others may follow."""


GRACE: Final = 0.5
"""Seconds that are left to a search for a better answer of the same size."""


@dataclass(slots=True)
class Finding:
    """What the search for a change has found so far.

    `at_least` assumptions are needed: 0 while the problem itself may be solvable. `plan` solves it as it is.
    `stopped_by` is the limit that kept some search from its end.
    """

    at_least: int = 0
    change: Change | None = None
    plan: Plan | None = None
    stopped_by: StoppedBy | None = None

    @property
    def leaves_the_goal_alone(self) -> bool:
        """Whether parts of the goal need not be assumed: other facts help, or were not tried to the end."""
        return self.stopped_by is not None if self.change is None else not self.change.uses_goal

    @property
    def is_final(self) -> bool:
        """Whether nothing is left to find."""
        return self.plan is not None or (self.change is not None and self.change.proved_smallest)

    def offer(self, change: Change | None) -> None:
        """Keep `change`, if any, where there is none that assumes as little."""
        if change is None:
            return
        if self.change is None or _size(change) < _size(self.change):
            self.change = change

    def raise_bound(self, at_least: int) -> None:
        """Note that `at_least` assumptions are needed."""
        self.at_least = max(self.at_least, at_least)
        if self.change is not None:
            self.change = replace(self.change, at_least=self.at_least)


def _size(change: Change) -> tuple[int, int]:
    return len(change.assumptions), sum(each.price for each in change.assumptions)


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates for one search; `complete` if no other literal could matter."""

    literals: list[Literal]
    uses_goal: bool
    complete: bool = False


def smallest_change(
    problem: Problem, source: Problem, shortfall: Shortfall, budget: Budget, *, reachable: bool
) -> Finding:
    """Return the smallest change that the budget allows to find; `reachable` if the goal is so in the relaxed world.

    Only facts of what `source` declares are assumed: `problem` itself, or what it was compiled from.
    What explanations name is tried at once. Then pools of candidates are searched, small ones first; the proof that
    nothing smaller will do needs an answer of one assumption, or the complete pool. Raises `UnsupportedError` for what
    search does not take.
    """
    search = _Search(problem, source, shortfall, budget)
    finding = Finding(at_least=0 if reachable else 1)
    try:
        search.try_what_is_named(finding)
        pools = search.pools()
        while not finding.is_final and (pool := next(pools, None)) is not None:
            if pool.uses_goal and finding.leaves_the_goal_alone:
                break
            search.look(pool, finding)
    except LimitReached as limit:
        finding.stopped_by = limit.stopped_by
    if finding.is_final:
        finding.stopped_by = None
    return finding


class _Search:
    def __init__(self, problem: Problem, source: Problem, shortfall: Shortfall, budget: Budget) -> None:
        self._problem = problem
        self._shortfall = shortfall
        self._budget = budget
        self._plain = shortfall.relaxed.normal.problem
        self._items = Items(shortfall.relaxed.normal)
        self._candidates = Candidates(shortfall.relaxed, shortfall.providers, source)

    def try_what_is_named(self, finding: Finding) -> None:
        """Assume all that the explanations lead to, and see whether the problem then has a plan."""
        literals = [literal for literal in self._shortfall.needs if literal in self._shortfall.named]
        made = self._assumptions(
            [each for each in literals if self._candidates.is_assumable(each) and not self._candidates.is_goal(each)]
        )
        if made:
            result = self._solve(priced(changed(self._problem, made)), SHARE, mode="first")
            if result.plan is not None:
                finding.offer(change_of(self._problem, made, result.plan.steps, uses_goal=False))
                finding.raise_bound(finding.at_least)

    def pools(self) -> Iterator[Pool]:
        """Yield pools of candidates, small ones first; those with parts of the goal only after all others."""
        candidates = self._candidates
        sources = ((self._lacking, False), (cache(candidates.nearby), False), (cache(candidates.complete), True))
        for uses_goal in (False, True):
            for source, complete in sources:
                literals = source()
                if literals is not None and (literals or complete):
                    chosen = [literal for literal in literals if uses_goal or not candidates.is_goal(literal)]
                    yield Pool(chosen, uses_goal, complete)

    def _lacking(self) -> list[Literal]:
        return [literal for literal in self._shortfall.needs if self._candidates.is_assumable(literal)]

    def look(self, pool: Pool, finding: Finding) -> None:
        """Search with the candidates of `pool`, and write what is learnt into `finding`."""
        made = self._assumptions(pool.literals)
        prefix = assume_prefix(self._plain)
        enough = _Enough(self._budget.cancel, lambda plan: len(split(plan.steps, prefix, made)[0]))
        result = self._solve(
            with_assumptions(self._plain, made), 1 if pool.complete else SHARE, cancel=enough, on_progress=enough.see
        )
        if pool.uses_goal:
            finding.at_least = min(finding.at_least, 1)
        if result.plan is not None:
            chosen, steps = split(result.plan.steps, prefix, made)
            change = change_of(self._problem, chosen, steps, uses_goal=pool.uses_goal)
            if change is None or change.assumptions:
                finding.offer(change)
            else:
                finding.plan = replace(change.plan, problem=self._problem)
            if change is None:
                finding.stopped_by = StoppedBy.INCOMPLETE
        bound = self._bound(result, pool)
        finding.raise_bound(min(bound, 1) if self._problem.constraints else bound)
        if result.status in _OPEN and not enough.is_known:
            finding.stopped_by = result.stopped_by
        self._budget.check()

    def _assumptions(self, literals: list[Literal]) -> list[Assumption]:
        """Return the candidates; of what nothing can provide, that which an explanation names is the cheapest."""
        roots = [literal for literal in literals if not self._shortfall.providers.of(literal)]
        prices = dict.fromkeys(roots, PRICE + UNNAMED) | dict.fromkeys(self._shortfall.named, PRICE)
        return assumptions(literals, prices, self._items, self._problem.initial)

    def _solve(self, problem: Problem, share: float, **options: Any) -> Result:
        from planner.solve import solve_plainly  # noqa: PLC0415 - loads search, which a plan's story never needs

        left = self._budget.remaining
        limits = {"time_limit": None if left is None else left * share, "memory_limit": self._budget.memory_limit}
        result = solve_plainly(problem, **{"cancel": self._budget.cancel, **limits, **options})
        if result.status is Status.UNSUPPORTED:
            raise UnsupportedError(result.reason)
        return result

    @staticmethod
    def _bound(result: Result, pool: Pool) -> int:
        """Return how many assumptions are needed at least, whatever they are."""
        if result.status is Status.UNSOLVABLE:
            return 1
        needed = fewest(result.lower_bound or 0)
        return needed if pool.complete else min(needed, 1)


_OPEN: Final = (Status.SOLVED, Status.UNKNOWN)


class _Enough(threading.Event):
    """Ends a search soon after its plan is known to make the fewest assumptions, or when `outer` says so.

    `count` tells how many assumptions a plan makes. The `GRACE` is for finding as few that are nearer to the root.
    """

    def __init__(self, outer: threading.Event | None, count: Callable[[Plan], int]) -> None:
        super().__init__()
        self._outer = outer
        self._count = count
        self._known_at: float | None = None

    def see(self, progress: Progress) -> None:
        """Look at the progress of the search."""
        if progress.plan is not None and self._count(progress.plan) <= fewest(progress.lower_bound or 0):
            self._known_at = self._known_at or time.monotonic()

    @property
    def is_known(self) -> bool:
        """Whether the fewest assumptions of this search are known."""
        return self._known_at is not None

    def is_set(self) -> bool:
        """Return whether the search is to end."""
        if self._known_at is not None and time.monotonic() > self._known_at + GRACE:
            return True
        return self._outer is not None and self._outer.is_set()
