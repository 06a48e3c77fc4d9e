"""Conflicts: minimal sets of goals, constraints, budgets, deadlines and foils that no plan meets together.

QuickXplain (Junker, 2004) finds one conflict by dividing the demands. Leaving out each of its members in turn leads to
further conflicts. Search decides whether a set of demands has a plan. A set for which it gives no answer counts as
solvable, so that a conflict may be larger than necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum

from planner.compilations.foils import Foil, apply_foils
from planner.explain.never_possible import describe_never_possible
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model import COST, Constraint, Formula, Goal, Number, Problem
from planner.model.constructs import Construct, has
from planner.model.formulas import conjunction, conjuncts
from planner.options import ANY_PLAN, Solve
from planner.plan import Result, Status
from planner.problem_kinds import AnyProblem, classical_of, with_classical

MOST: Final = 5
"""Most conflicts that are searched for."""
SHARE: Final = 5
"""One search may take 1/SHARE of the remaining time."""


VAGUE: Final = "no plan keeps the budget"
"""Prefix of reasons that a conflict explains better."""
REASON_SECONDS: Final = 1.0
"""Time in which `add_reason` searches for a conflict, in seconds."""
POINTING: Final = "explain_unsolvable says whether constraints and goal cannot be met together"
"""The reason of unsolvability if no conflict was found in time."""


class Kind(Enum):
    """The kinds of demands."""

    GOAL = "goal"
    CONSTRAINT = "constraint"
    BUDGET = "budget"
    DEADLINE = "deadline"
    DUE = "due"
    TASK = "task"
    FOIL = "foil"


@dataclass(frozen=True, slots=True)
class Demand:
    """One thing that a plan must do.

    `what` is a part of the goal, a constraint, `(resource, budget)`, a deadline of the plan or of a goal, a foil, or a
    task of the initial network, `(place, task)`.
    """

    kind: Kind
    what: Any

    def __str__(self) -> str:
        match self.kind:
            case Kind.BUDGET:
                name, most = self.what
                return f"{'cost' if name == COST else name} at most {most}"
            case Kind.DEADLINE:
                return f"at most {self.what} seconds"
            case Kind.DUE:
                return f"goal {self.what}"
            case Kind.TASK:
                return f"task {self.what[1]}"
            case Kind.FOIL:
                return f"asked for: {self.what}"
        return f"{self.kind.value} {self.what}"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Demands that no plan meets together; `smallest` says that no smaller set of them is a conflict."""

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
    """Return the demands of `problem`, the parts of the goal first."""
    found = [Demand(Kind.GOAL, part) for part in conjuncts(problem.goal.hard)]
    found += [Demand(Kind.CONSTRAINT, each) for each in problem.constraints if each.utility is None]
    found += [Demand(Kind.BUDGET, each) for each in problem.budgets.items()]
    found += [Demand(Kind.DUE, each) for each in problem.due if each.weight is None]
    return found + ([Demand(Kind.DEADLINE, problem.deadline)] if problem.deadline is not None else [])


Keep = Callable[[Any, Sequence[Demand]], Any]
"""A function that returns a problem with some of its demands only."""


def find_conflicts(
    problem: AnyProblem,
    limits: Limits,
    solve: Solve | None = None,
    *,
    foils: Sequence[Foil] = (),
    tasks: Sequence[Demand] = (),
    keep: Keep | None = None,
) -> tuple[Conflict, ...]:
    """Return the conflicts among the demands of `problem` that are proved within `limits`.

    With `foils`, with which `problem` is proved to have no plan, these are demands as well, and `tasks`, if a plan may
    leave them undone. `solve` is called for problems that `keep` some of the demands; None is `planner.solve.answer`.
    Raises `InputError` as that does.
    """
    return tuple(_ConflictSearch(problem, limits, solve, (*tasks, *foils_of(foils)), keep or keep_any).find_conflicts())


def foils_of(foils: Iterable[Foil]) -> list[Demand]:
    """Return `foils` as demands."""
    return [Demand(Kind.FOIL, each) for each in foils]


def keep_any(problem: Any, demands: Sequence[Demand]) -> Any:
    """Return `problem`, of any kind, with these demands only, and with all its tasks."""
    kept = with_classical(problem, keep_demands(classical_of(problem), demands))
    return apply_foils(kept, [each.what for each in demands if each.kind is Kind.FOIL])


def add_reason(problem: Problem, result: Result, limits: Limits, solve: Solve) -> Result:
    """Return `result`, which is UNSOLVABLE, with a conflict as its reason, or a hint where none was found in time.

    Windows that are over and capacities that no step fits in are part of the reason.
    """
    found = name_conflict(problem, result, limits.part(REASON_SECONDS), solve)
    hard = has(problem, Construct.CONSTRAINTS)
    found = replace(found, reason=POINTING) if hard and not found.reason else found
    never = [*describe_never_possible(problem)]
    return replace(found, reason="; ".join([found.reason, *never] if found.reason else never)) if never else found


def name_conflict(problem: AnyProblem, result: Result, limits: Limits, solve: Solve) -> Result:
    """Return `result`, which is UNSOLVABLE, with a conflict as its reason where one is found within `limits`.

    A conflict may be the reason where there are hard constraints, or where only a budget or deadline is known to be.
    """
    classical, said = classical_of(problem), result.reason
    hard = has(classical, Construct.CONSTRAINTS)
    limited = classical.is_limited and (not said or said.startswith(VAGUE))
    if result.status is not Status.UNSOLVABLE or has(classical, Construct.UNKNOWN) or not (hard or limited):
        return result
    try:
        found = next(_ConflictSearch(problem, limits, solve).find_conflicts(), None)
    except LimitReached:
        found = None
    kinds = set() if found is None else {each.kind for each in found.demands}
    if not said or said.startswith(VAGUE):
        return replace(result, reason=str(found)) if kinds - {Kind.GOAL} else result
    several = found is not None and len(found.demands) > 1
    return replace(result, reason=f"{said}; {found}") if several and Kind.CONSTRAINT in kinds else result


class _ConflictSearch:
    def __init__(
        self,
        problem: AnyProblem,
        limits: Limits,
        solve: Solve | None,
        more: Sequence[Demand] = (),
        keep: Keep = keep_any,
    ) -> None:
        self._problem = problem
        self._limits = limits
        self._solve = solve
        self._keep = keep
        self._asked: dict[frozenset[int], bool | None] = {}
        self._demands = [*demands_of(classical_of(problem)), *more]
        self._may_skip_tasks = any(each.kind is Kind.TASK for each in more)
        if any(each.kind is Kind.FOIL for each in more):
            self._asked[frozenset(range(len(self._demands)))] = True

    def find_conflicts(self) -> Iterator[Conflict]:
        """Yield conflicts, each once."""
        found: list[frozenset[int]] = []
        open_ = [frozenset(range(len(self._demands)))]
        tasks_are_given = not isinstance(self._problem, Problem) and not self._may_skip_tasks
        if tasks_are_given and self._has_none(frozenset()) is not False:
            return  # the tasks alone have no plan, or that is unknown
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
        """Return a minimal part of `among` that conflicts with `given`; empty if `given` is a conflict itself."""
        if changed and self._has_none(frozenset(given)) is True:
            return []
        if len(among) <= 1:
            return list(among)
        half = len(among) // 2
        second = self._smallest([*given, *among[:half]], among[half:], changed=True)
        first = self._smallest([*given, *second], among[:half], changed=bool(second))
        return [*first, *second]

    def _has_none(self, chosen: frozenset[int]) -> bool | None:
        """Return whether no plan meets the `chosen` demands; None if unknown."""
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
        part = self._keep(self._problem, demands)
        result = (self._solve or answer)(part, ANY_PLAN.within(self._limits, 1 / SHARE))
        if result.has_plan:
            return False
        return True if result.status is Status.UNSOLVABLE else None


def keep_demands(problem: Problem, demands: Sequence[Demand]) -> Problem:
    """Return `problem` with these demands only, foils apart, and without wishes."""
    goals: list[Formula] = [each.what for each in demands if each.kind is Kind.GOAL]
    kept: list[Constraint] = [each.what for each in demands if each.kind is Kind.CONSTRAINT]
    budgets: dict[str, Number] = dict(each.what for each in demands if each.kind is Kind.BUDGET)
    deadlines: list[Number] = [each.what for each in demands if each.kind is Kind.DEADLINE]
    due = [each for each in problem.due if each.weight is not None]
    due += [each.what for each in demands if each.kind is Kind.DUE]
    return replace(
        problem,
        goal=Goal(conjunction(goals)),
        constraints=tuple(kept),
        budgets=budgets,
        deadline=next(iter(deadlines), None),
        due=tuple(due),
    )
