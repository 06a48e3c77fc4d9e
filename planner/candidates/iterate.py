"""`candidates`: one plan after the other, the cheapest first."""

from __future__ import annotations

from planner.annotations import TYPE_CHECKING
from planner.answer import unsupported
from planner.budget import Budget, check_limits
from planner.candidates.iterator import Candidates, Making, Which, checked_factor, no_limit
from planner.errors import UnsupportedError
from planner.kinds import AnyProblem
from planner.model import Number, Problem
from planner.model.domain import creates_objects
from planner.resolve import resolve_problem

if TYPE_CHECKING:
    import threading

    from planner.candidates.commuting import Commuting
    from planner.candidates.listing import Listing
    from planner.task import Task


def candidates(
    problem: AnyProblem,
    *,
    within: Number | float | None = None,
    orders: bool = False,
    wasteful: bool = False,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Candidates:
    """Return the plans for `problem`, in the order of their costs, as an iterator; each is searched for when asked for.

    `within` leaves out what costs more than so many times the optimum. Plans that differ only in the order of
    independent steps come once, unless `orders`: two steps are independent if neither changes what the other reads, nor
    undoes what the other does. A plan is wasteful, and left out unless `wasteful`, if some of its steps can be left out
    and the others, in their order, are a plan as well: so is all that goes through one state twice. Steps that cannot
    change anything are in no plan. Wasteful plans may be infinitely many: where steps cost nothing, they come by cost
    and then by length.

    Where something is wished for, plans come by their `charge`, and what is fulfilled counts as needed. With a
    deadline, a step may be needed for the sake of time alone, which is not seen: nothing is proved, unless `wasteful`.

    Plans of a hierarchical problem have a decomposition; the same steps, whatever tasks they come of, are one plan. One
    is wasteful where the rest decomposes the tasks as well.

    `time_limit` is in seconds that the iterator is at work, `memory_limit` in GiB of the process; None is no limit. The
    iterator ends where a limit is reached, and says so.

    Raises `InputError` for limits that are none and for mistakes in the problem that only grounding shows, and
    `UnsupportedError` for problems that it does not take.
    """
    check_limits(time_limit, memory_limit)
    which = Which(checked_factor(within), orders, wasteful)
    budget = Budget(time_limit, memory_limit, cancel)
    problem = resolve_problem(problem)
    if not isinstance(problem, Problem):
        return problem.candidates(budget, which)
    if problem.unknown:
        raise UnsupportedError("candidates where facts are unknown", "solve(…) gives one plan, and decide(…) a policy")
    takes = ("budgets", "deadlines", "soft goals", "soft constraints")
    refused = unsupported(problem, takes)
    if refused is not None:
        raise UnsupportedError(refused.reason)
    if creates_objects(problem.domain):
        raise UnsupportedError("candidates where actions create objects")
    return ClassicalCandidates(problem, budget, which)


class ClassicalCandidates(Candidates):
    """The plans of a classical problem."""

    @property
    def misses_none(self) -> bool:
        """Whether what was asked for is all given in order: not so where a deadline may need what looks wasteful."""
        return self.problem.deadline is None or self._which.wasteful

    def _prepared(self) -> tuple[Task, Listing, Making] | None:
        from planner.candidates.handing import Handing  # noqa: PLC0415 - what is asked for may be refused

        task = self._ground()
        if task.unreachable_goal is not None:
            return None
        return task, self._listed(task), Handing(self.problem, task).plan

    def _ground(self) -> Task:
        from planner.grounding import ground  # noqa: PLC0415 - as above

        problem, whole = self.problem, self._which.wasteful
        if problem.wishes:
            from planner.normalise.wishes import without_wishes  # noqa: PLC0415 - few problems need it

            problem = without_wishes(problem, whole=whole)
        return ground(problem, self._budget, whole=whole)

    def _listed(self, task: Task) -> Listing:
        from planner.candidates.exploring import exploration  # noqa: PLC0415 - as above
        from planner.candidates.listing import Listing  # noqa: PLC0415 - as above
        from planner.search import Run, Space  # noqa: PLC0415 - as above
        from planner.workplace import Workplace  # noqa: PLC0415 - as above

        check, space, wasteful = self._budget.check, Space(task), self._which.wasteful
        explored = exploration(Workplace(task, space, Run(), check), past_goals=wasteful)
        limit = no_limit if self.problem.is_limited else self._which.limit
        return Listing(space, explored, self._commuting(task), limit, check, frugal=not wasteful)

    def _commuting(self, task: Task) -> Commuting | None:
        from planner.candidates.commuting import Commuting  # noqa: PLC0415 - as above
        from planner.candidates.items import Items  # noqa: PLC0415 - as above

        if self._which.orders:
            return None
        return Commuting(task, self._budget.check, Items(self.problem), strict=self.problem.deadline is not None)
