"""The smallest change of the initial state that makes a problem solvable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
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
from planner.explain.items import Items
from planner.explain.shortfall import Shortfall
from planner.explain.values import cost_values, priced
from planner.model import Atom, Literal, Problem
from planner.plan import Plan, Result, Status, Step, StoppedBy
from planner.validate import Simulation, validate


@dataclass(frozen=True, slots=True)
class Change:
    """A set of assumptions under which `plan` solves the problem; `problem` is the problem so changed.

    No set of fewer than `at_least` assumptions does. Where `uses_goal` is False, parts of the goal were no candidates;
    where it is True, nothing else helps. `unpriced` are static values that the plan's cost asks for and that the source
    does not have, since they belong to what is assumed: they count as 0.
    """

    assumptions: tuple[Assumption, ...]
    at_least: int
    uses_goal: bool
    plan: Plan
    unpriced: tuple[Atom, ...]
    problem: Problem = field(repr=False, compare=False)

    @property
    def proved_smallest(self) -> bool:
        """Whether it is proved that no smaller set does."""
        return len(self.assumptions) <= self.at_least

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready data."""
        return {
            "assumptions": [assumption.to_dict() for assumption in self.assumptions],
            "at_least": self.at_least,
            "proved_smallest": self.proved_smallest,
            "uses_goal": self.uses_goal,
            "plan": self.plan.to_dict(),
            "unpriced": list(map(str, self.unpriced)),
        }


@dataclass(slots=True)
class Finding:
    """What the search for a change has found so far.

    `at_least` assumptions are needed: 0 while the problem itself may be solvable. `plan` solves it as it is.
    """

    at_least: int = 0
    change: Change | None = None
    plan: Plan | None = None
    stopped_by: StoppedBy | None = None

    @property
    def leaves_the_goal_alone(self) -> bool:
        """Whether assuming parts of the goal would be no better: other facts help, or were not tried to the end."""
        if self.change is None:
            return self.stopped_by is not None
        return not self.change.uses_goal

    @property
    def is_final(self) -> bool:
        """Whether nothing is left to find."""
        return self.plan is not None or (self.change is not None and self.change.proved_smallest)


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates for one search; `complete` if no other literal could matter."""

    literals: list[Literal]
    uses_goal: bool
    complete: bool = False


SHARE: Final = 0.4
"""The part of the time that is left which one search may use, when others may follow."""


def smallest_change(problem: Problem, shortfall: Shortfall, budget: Budget, *, reachable: bool) -> Finding:
    """Return the smallest change that the budget allows to find; `reachable` if the goal is so in the relaxed world.

    Small pools of candidates come first: they give an answer soon. The proof that nothing smaller will do needs either
    an answer of one assumption, or the complete pool. Raises `UnsupportedError` for what search does not take.
    """
    search = _Search(problem, shortfall, budget)
    finding = Finding(at_least=0 if reachable else 1)
    try:
        for pool in search.pools():
            if pool.uses_goal and finding.leaves_the_goal_alone:
                break
            search.look(pool, finding)
            if finding.is_final:
                break
    except LimitReached as limit:
        finding.stopped_by = limit.stopped_by
    return finding


class _Search:
    def __init__(self, problem: Problem, shortfall: Shortfall, budget: Budget) -> None:
        self._problem = problem
        self._shortfall = shortfall
        self._budget = budget
        self._plain = shortfall.relaxed.normal.problem
        self._items = Items(shortfall.relaxed.normal)
        self._candidates = Candidates(shortfall.relaxed, shortfall.providers, problem.domain.predicates)

    def pools(self) -> Iterator[Pool]:
        """Yield pools of candidates, small ones first; those with parts of the goal only after all others."""
        candidates = self._candidates
        lacking = [literal for literal in self._shortfall.needs if candidates.is_assumable(literal)]
        near = candidates.nearby()
        every = candidates.complete()
        for uses_goal in (False, True):
            for literals, complete in ((lacking, False), (near, False), (every, True)):
                if literals is not None:
                    chosen = [literal for literal in literals if uses_goal or not candidates.is_goal(literal)]
                    yield Pool(chosen, uses_goal, complete)

    def look(self, pool: Pool, finding: Finding) -> None:
        """Search with the candidates of `pool`, and write what is learnt into `finding`."""
        if not pool.literals and not pool.complete:
            return
        made = assumptions(pool.literals, self._prices(), self._items, self._problem.initial)
        compiled = with_assumptions(self._plain, made)
        result = self._solve(compiled, last=pool.complete)
        if pool.uses_goal:
            finding.at_least = min(finding.at_least, 1)
        finding.at_least = max(finding.at_least, self._bound(result, pool))
        if result.plan is not None:
            self._take(result.plan, made, pool, finding)
        proved = result.status is Status.OPTIMAL or result.status is Status.UNSOLVABLE
        finding.stopped_by = None if proved else result.stopped_by
        self._budget.check()

    def _prices(self) -> dict[Literal, int]:
        """Return the prices of what nothing can provide; what the explanation names is the cheapest."""
        roots = [literal for literal, need in self._shortfall.needs.items() if need.cause is not None]
        return dict.fromkeys(roots, PRICE + UNNAMED) | dict.fromkeys(self._shortfall.named, PRICE)

    def _solve(self, compiled: Problem, *, last: bool) -> Result:
        from planner.solve import solve  # noqa: PLC0415 - `solve` loads all of search, which a plan's story never needs

        left = self._budget.remaining
        result = solve(
            compiled,
            time_limit=left if last or left is None else left * SHARE,
            memory_limit=self._budget.memory_limit,
            cancel=self._budget.cancel,
        )
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

    def _take(self, plan: Plan, made: list[Assumption], pool: Pool, finding: Finding) -> None:
        chosen, steps = split(plan.steps, assume_prefix(self._plain), made)
        problem = priced(changed(self._problem, chosen))
        replayed = _replayed(problem, steps)
        if not chosen:
            finding.plan = replayed
            return
        unpriced = tuple([value for value in cost_values(problem, steps) if value not in self._problem.values])
        change = Change(tuple(chosen), finding.at_least, pool.uses_goal, replayed, unpriced, problem)
        best = finding.change
        if best is not None and len(best.assumptions) <= len(chosen):
            change = replace(best, at_least=finding.at_least)
        finding.change = change


def _replayed(problem: Problem, steps: list[Step]) -> Plan:
    """Return the plan with its true costs, checked against the changed problem as it was declared."""
    simulation = Simulation(problem)
    plan = Plan(tuple([Step(step.action, step.arguments, simulation.cost(step)) for step in steps]), problem)
    verdict = validate(problem, plan)
    assert verdict.valid, verdict.reason  # noqa: S101 - a change that does not help must never be reported
    return plan
