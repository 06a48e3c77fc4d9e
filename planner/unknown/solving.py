"""Plans for problems of which facts are unknown (assumption-based planning, Davis-Mendelow, Baier and McIlraith, 2013).

Three searches. The first takes whatever may hold to hold: no plan costs less than what it finds. The second plans on
nothing but what is known: how much dearer that is, is what it costs to be wrong where one hoped for the other. At that
price, the third has steps that suppose the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.annotations import Any, Final
from planner.budget import Budget
from planner.model import Atom, Number, Problem
from planner.plan import Plan, Progress, Result, Status, Step, StoppedBy, Supposition
from planner.records import replace
from planner.unknown.knowledge import Translation
from planner.unknown.relevance import translation
from planner.unknown.suppositions import supposing, surprise
from planner.validate import validate
from planner.wishes import valued

SHARE: Final = 0.35
"""How much of what is left of the time a search may take, but for the last."""
IN_NO_CASE: Final = "no plan reaches the goal, however the unknown facts turn out"
CARELESS: Final = "no plan is known in which no irreversible step rests on what could be looked at before"

Solve = Callable[..., Result]


def solve_with_unknown(problem: Problem, solve: Solve, budget: Budget, **options: Any) -> Result:
    """Return the answer to `problem`, of which facts are unknown; `solve` answers for problems without such.

    Nothing is proved optimal that rests on unknown facts. The problem is unsolvable where there is not even a plan that
    takes each condition to hold that some way of the unknown facts would make true.
    """
    asked = translation(problem)
    if asked is None:
        limits = {"time_limit": budget.remaining, "memory_limit": budget.memory_limit, "cancel": budget.cancel}
        found = solve(replace(problem, unknown=(), likely={}), **options, **limits)
        return found if found.plan is None else replace(found, plan=replace(found.plan, problem=problem))
    return _Searches(problem, asked, solve, budget, options).result()


def _charge(found: Result) -> Number | None:
    return None if found.plan is None else found.plan.charge


class _Searches:
    """The searches, and what is known between them."""

    def __init__(
        self, problem: Problem, asked: Translation, solve: Solve, budget: Budget, options: dict[str, Any]
    ) -> None:
        self._problem = problem
        self._asked = asked
        self._solve = solve
        self._budget = budget
        self._on_progress: Callable[[Progress], None] | None = options.pop("on_progress", None)
        self._options = options
        self._plan: Plan | None = None
        self._bound: Number | None = None

    def result(self) -> Result:
        """Search three times, and return the answer."""
        lucky = self._search(self._asked.optimistic(), SHARE, self._note_lucky)
        self._bound = lucky.plan.charge if lucky.plan and lucky.status is Status.OPTIMAL else lucky.lower_bound
        if lucky.status is Status.UNSUPPORTED:
            return lucky
        if lucky.status is Status.UNSOLVABLE:
            return replace(lucky, reason=IN_NO_CASE)
        if self._is_optimal or lucky.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return self._answer(lucky)
        return self._planned(_charge(lucky))

    def _planned(self, lucky: Number | None) -> Result:
        """Plan on what is known, and on what is supposed too, where a plan costs so much if it is `lucky`."""
        knowing, fallback, self._plan = self._asked.knowing(), self._plan, None
        safe = self._search(knowing, SHARE, lambda plan: self._note(plan.steps, {}))
        if self._is_optimal or safe.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return self._answer(safe)
        made = supposing(self._asked, knowing, surprise(lucky, _charge(safe)))
        found = self._search(made.problem, 1, lambda plan: self._note(*made.without(plan.steps)))
        self._plan = self._plan or fallback
        return self._answer(found)

    def _search(self, problem: Problem, share: float, note: Callable[[Plan], None]) -> Result:
        def report(progress: Progress) -> None:
            if progress.plan is not None:
                note(progress.plan)
            if self._on_progress is not None:
                self._on_progress(replace(progress, plan=self._plan, lower_bound=self._bound))

        left = self._budget.remaining
        seconds = None if left is None else share * left
        limits = {"time_limit": seconds, "memory_limit": self._budget.memory_limit, "cancel": self._budget.cancel}
        found = self._solve(problem, **self._options, **limits, on_progress=report)
        if found.plan is not None:
            note(found.plan)
        return found

    def _note_lucky(self, plan: Plan) -> None:
        """Keep `plan`, which takes to hold what may, if it works on suppositions that do not contradict each other."""
        if self._plan is not None and self._plan.steps == plan.steps:
            return
        verdict = validate(self._problem, plan.steps)
        if verdict.valid:
            self._plan = valued(Plan(plan.steps, self._problem, suppositions=verdict.suppositions), verdict)

    def _note(self, steps: tuple[Step, ...], supposed: Mapping[Atom, bool]) -> None:
        """Keep the plan of `steps`, which rest on what is known or `supposed`."""
        if self._plan is not None and self._plan.steps == steps:
            return
        expected = tuple([Supposition(fact, holds) for fact, holds in supposed.items()])
        verdict = validate(self._problem, Plan(steps, self._problem, suppositions=expected))
        if not verdict.valid:
            raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        self._plan = valued(Plan(steps, self._problem, suppositions=verdict.suppositions), verdict)

    @property
    def _is_optimal(self) -> bool:
        plan = self._plan
        return plan is not None and not plan.suppositions and self._bound is not None and plan.charge <= self._bound

    def _answer(self, found: Result) -> Result:
        """Return what is known where the last search ended as `found`."""
        status = Status.UNKNOWN if self._plan is None else Status.OPTIMAL if self._is_optimal else Status.SOLVED
        said = [found.reason, self._why_not() if found.status is Status.UNSOLVABLE and self._plan is None else ""]
        if self._plan is not None and self._plan.suppositions:
            said.append(f"it supposes {'; '.join(map(str, self._plan.suppositions))}")
        reason = "; ".join(filter(None, said))
        return replace(found, status=status, plan=self._plan, lower_bound=self._bound, reason=reason)

    def _why_not(self) -> str:
        """Return why there is no plan, where there is proved to be none: with all supposed, all would be known."""
        return CARELESS if self._asked.words.guessed else IN_NO_CASE
