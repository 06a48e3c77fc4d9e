"""Which demands of a problem cannot be met together: smallest sets of goals, constraints, budgets and the deadline.

A set of demands is in conflict where it has no plan, and no smaller part of it has none. One is found by dividing
(QuickXplain: Junker, 2004); then each of its members is left out in turn, and what is left may hold another. Whether a
set has a plan is for search to say; where it cannot, the set counts as one that has, and a conflict that was found may
be larger than need be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model import COST, Constraint, Formula, Goal, Number, Problem
from planner.model.formulas import conjunction, conjuncts
from planner.options import ANY_PLAN, Solve
from planner.plan import Result, Status
from planner.problem_kinds import AnyProblem, classical_of, with_classical

MOST: Final = 5
"""Conflicts that are looked for."""
SHARE: Final = 5
"""One question may take this part of the time that is left."""


VAGUE: Final = "no plan keeps the budget"
"""A reason that begins so can be said better."""
REASON_SECONDS: Final = 1.0
"""So long `with_reason` looks for demands that cannot be met together."""
POINTING: Final = "explain_unsolvable says whether constraints and goal cannot be met together"
"""The reason where that was not found in time."""
"""Takes a problem, `mode`, and limits, as `planner.solve` does."""


class Kind(Enum):
    """What is demanded."""

    GOAL = "goal"
    CONSTRAINT = "constraint"
    BUDGET = "budget"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True)
class Demand:
    """One thing that a plan must do: `what` is a part of the goal, a constraint, `(resource, budget)` or a deadline."""

    kind: Kind
    what: Any

    def __str__(self) -> str:
        match self.kind:
            case Kind.BUDGET:
                name, most = self.what
                return f"{'cost' if name == COST else name} at most {most}"
            case Kind.DEADLINE:
                return f"at most {self.what} seconds"
        return f"{self.kind.value} {self.what}"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Demands that no plan meets together; `smallest` says whether any of them could be given up for the others."""

    demands: tuple[Demand, ...]
    smallest: bool = True

    def __str__(self) -> str:
        more = "" if self.smallest else " (fewer may do)"
        together = " together" if len(self.demands) > 1 else ""
        return f"cannot hold{together}{more}: {'; '.join(map(str, self.demands))}"

    def to_dict(self) -> dict[str, Any]:
        """Return the conflict as JSON-ready data."""
        demands = [{"kind": each.kind.value, "demand": str(each)} for each in self.demands]
        return {"demands": demands, "smallest": self.smallest}


def demands_of(problem: Problem) -> list[Demand]:
    """Return what `problem` demands of plans, the goal's parts first."""
    found = [Demand(Kind.GOAL, part) for part in conjuncts(problem.goal.hard)]
    found += [Demand(Kind.CONSTRAINT, each) for each in problem.constraints if each.utility is None]
    found += [Demand(Kind.BUDGET, each) for each in problem.budgets.items()]
    return found + ([Demand(Kind.DEADLINE, problem.deadline)] if problem.deadline is not None else [])


def conflicts(problem: AnyProblem, limits: Limits, solve: Solve | None = None) -> tuple[Conflict, ...]:
    """Return sets of demands that cannot be met together; none where it was not proved within `limits` that any is.

    `solve` says of a problem with some of the demands whether it has a plan; None for `planner.solve.answer`. Raises
    `InputError` as that does.
    """
    return tuple(_Search(problem, limits, solve).conflicts())


def with_reason(problem: Problem, result: Result, limits: Limits, solve: Solve) -> Result:
    """Return `result`, that there is no plan, with a reason where demands clash or may clash."""
    found = naming(problem, result, limits.part(REASON_SECONDS), solve)
    hard = any(each.utility is None for each in problem.constraints)
    return replace(found, reason=POINTING) if hard and not found.reason else found


def naming(problem: AnyProblem, result: Result, limits: Limits, solve: Solve) -> Result:
    """Return `result`, that there is no plan, with the demands that cannot be met together, if that may be the reason.

    It may be where there are constraints, or where limits are all that is known. `limits` is for finding out.
    """
    classical, said = classical_of(problem), result.reason
    hard = any(each.utility is None for each in classical.constraints)
    limited = classical.is_limited and (not said or said.startswith(VAGUE))
    if result.status is not Status.UNSOLVABLE or classical.unknown or not (hard or limited):
        return result
    try:
        found = next(_Search(problem, limits, solve).conflicts(), None)
    except LimitReached:
        found = None
    kinds = set() if found is None else {each.kind for each in found.demands}
    if not said or said.startswith(VAGUE):
        return replace(result, reason=str(found)) if kinds - {Kind.GOAL} else result
    several = found is not None and len(found.demands) > 1
    return replace(result, reason=f"{said}; {found}") if several and Kind.CONSTRAINT in kinds else result


class _Search:
    def __init__(self, problem: AnyProblem, limits: Limits, solve: Solve | None) -> None:
        self._problem = problem
        self._limits = limits
        self._solve = solve
        self._asked: dict[frozenset[int], bool | None] = {}
        self._demands = demands_of(classical_of(problem))

    def conflicts(self) -> Iterator[Conflict]:
        """Yield conflicts, each once, as long as there is time."""
        found: list[frozenset[int]] = []
        open_ = [frozenset(range(len(self._demands)))]
        if not isinstance(self._problem, Problem) and self._has_none(frozenset()) is not False:
            return  # the tasks alone cannot be done, or nobody knows
        while open_ and len(found) < MOST:
            among = open_.pop(0)
            if any(known <= among for known in found):
                open_ += [among - {each} for known in found if known <= among for each in sorted(known)][:MOST]
                open_ = list(dict.fromkeys(open_))
                if len(self._asked) > MOST * len(self._demands) + MOST:
                    return
                continue
            if self._has_none(among) is not True:
                continue
            core = frozenset(self._smallest((), sorted(among), changed=False))
            found.append(core)
            smallest = all(self._has_none(core - {each}) is False for each in core)
            yield Conflict(tuple([self._demands[each] for each in sorted(core)]), smallest)
            open_ += [among - {each} for each in sorted(core)]

    def _smallest(self, given: Sequence[int], among: Sequence[int], *, changed: bool) -> list[int]:
        """Return which of `among` are in conflict with what is `given`; none where that is in conflict itself."""
        if changed and self._has_none(frozenset(given)) is True:
            return []
        if len(among) <= 1:
            return list(among)
        half = len(among) // 2
        second = self._smallest([*given, *among[:half]], among[half:], changed=True)
        first = self._smallest([*given, *second], among[:half], changed=bool(second))
        return [*first, *second]

    def _has_none(self, chosen: frozenset[int]) -> bool | None:
        """Return whether no plan meets the `chosen` demands; None where that was not found out."""
        if chosen not in self._asked:
            smaller = any(known <= chosen and answer for known, answer in self._asked.items())
            larger = any(chosen <= known and answer is False for known, answer in self._asked.items())
            self._asked[chosen] = True if smaller else False if larger else self._search(chosen)
        return self._asked[chosen]

    def _search(self, chosen: frozenset[int]) -> bool | None:
        from planner.solve import answer

        if self._limits.remaining == 0:
            return None
        demands = [self._demands[each] for each in sorted(chosen)]
        part = with_classical(self._problem, demanding(classical_of(self._problem), demands))
        result = (self._solve or answer)(part, ANY_PLAN.within(self._limits, 1 / SHARE))
        if result.has_plan:
            return False
        return True if result.status is Status.UNSOLVABLE else None


def demanding(problem: Problem, demands: Sequence[Demand]) -> Problem:
    """Return `problem` with these demands, and no others; nor any wishes."""
    goals: list[Formula] = [each.what for each in demands if each.kind is Kind.GOAL]
    kept: list[Constraint] = [each.what for each in demands if each.kind is Kind.CONSTRAINT]
    budgets: dict[str, Number] = dict(each.what for each in demands if each.kind is Kind.BUDGET)
    deadlines: list[Number] = [each.what for each in demands if each.kind is Kind.DEADLINE]
    goal = Goal(conjunction(goals))
    return replace(problem, goal=goal, constraints=tuple(kept), budgets=budgets, deadline=next(iter(deadlines), None))
