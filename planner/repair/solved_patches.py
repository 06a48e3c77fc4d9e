"""Patches for problems of all kinds: the plans of `solve` that end with as much of the old plan as pays.

Where dropped steps count nothing, the cheapest plan is the best patch. Else each place of the old plan is a question of
its own, in which the plan must end with the steps from there on; a place whose steps alone are charged more than the
best patch is none. In time, plans cannot be told to end so: one that keeps the old steps in their order is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from planner.compilations.kept_steps import begin_with_steps, end_with_steps, keep_steps
from planner.compilations.passes import compile_away
from planner.compilations.unlisted_objects import qualify_by_findings
from planner.errors import PlanError, UnsupportedError
from planner.lightweight import Any, Final, replace
from planner.limits import Finishing, Limits
from planner.model import Atom, Number, Problem
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.model.domain import creates_objects
from planner.model.problem import is_temporal
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, Step, StoppedBy, exact_sum
from planner.problem_kinds import AnyProblem, classical_of, with_sealed_classical
from planner.repair.keeping_steps import find_misfits, forbid_steps, make_patterns, order_starts
from planner.repair.patch_reductions import count_common_suffix, rank, subtract_costs
from planner.repair.repair_search import add_spare_objects
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate

if TYPE_CHECKING:
    from planner.repair.patching import Patch

FIRST_SHARE: Final = 0.5
"""Share of the time for the plan that may drop all old steps, where dropped steps count."""
PLACE_SHARE: Final = 0.5
"""Share of the remaining time for each place of the old plan."""
MOST_PLACES: Final = 20
"""Most places of the old plan that are tried."""


def start_after(
    problem: AnyProblem,
    fixed: Sequence[Step],
    remaining: Sequence[Step],
    apply: Callable[[Problem, Sequence[Step]], Problem],
) -> Any:
    """Return the problem of any kind after the steps `fixed`, whose effects `apply` applies to a classical problem.

    Raises `UnsupportedError` where these are more than facts: of a problem in time with unknown facts, budgets,
    constraints or created objects. Raises `PlanError` for steps that do not fit the problem.
    """
    classical = classical_of(problem)
    if not fixed:
        return problem
    _check_running(classical, fixed)
    if creates_objects(classical.domain):
        if is_temporal(classical):
            raise UnsupportedError("steps that are running, where actions create objects in time", _AFTER)
        classical = problem = add_spare_objects(classical, (*fixed, *remaining))
    if not is_temporal(classical):
        now = apply(compile_away(classical, *CONSTRAINED), fixed)
        return with_sealed_classical(problem, subtract_costs(now, fixed))
    if has(classical, Construct.UNKNOWN, Construct.BUDGETS, *CONSTRAINED):
        raise UnsupportedError("steps that are running, beside unknown facts, budgets or constraints in time", _AFTER)
    return with_sealed_classical(problem, _apply_in_time(classical, fixed))


_AFTER: Final = "state the facts after them as the initial state"
"""The way round refusals of steps that are running."""


def _check_running(problem: Problem, fixed: Sequence[Step]) -> None:
    """Raise `PlanError` if one of the steps `fixed` does not fit `problem`."""
    for place, why in find_misfits(problem, fixed).items():
        raise PlanError(f"{fixed[place]} cannot be running: {why}")


def _apply_in_time(problem: Problem, fixed: Sequence[Step]) -> Problem:
    """Return `problem`, which is in time, after the starts and the ends of the steps `fixed`, one after the other."""
    from planner.semantics.snap_actions import make_snap_problem

    snap = make_snap_problem(problem)
    simulation = Simulation(snap.problem)
    for step in fixed:
        moments = snap.actions[step.action]
        for name in filter(None, (moments.start, moments.end)):
            simulation.apply(replace(step, action=name))
    now, known = simulation.problem_now, problem.domain
    return replace(
        problem,
        initial=tuple([fact for fact in now.initial if fact.predicate in known.predicates]),
        values={term: value for term, value in now.values.items() if term.predicate in known.functions},
        ran=(*problem.ran, *[Atom(step.action, step.arguments) for step in fixed]),
    )


def patch_by_solving(
    problem: AnyProblem,
    remaining: Sequence[Step],
    limits: Limits,
    *,
    weight: Number,
    forbidden: Collection[Atom],
    not_first: Collection[Atom],
) -> Patch:
    """Return the patch for `problem`, of any kind, that is charged least beside `weight` for each dropped step."""
    return _Search(problem, forbid_steps(problem, forbidden, not_first), remaining, weight, limits).run()


def patch_running_tasks(
    problem: AnyProblem,
    fixed: Sequence[Step],
    remaining: Sequence[Step],
    limits: Limits,
    *,
    weight: Number,
    forbidden: Collection[Atom],
    not_first: Collection[Atom],
) -> Patch:
    """Return the patch for `problem`, of tasks, whose plan begins with the steps `fixed`, which are running.

    They are no part of the patch, but of its `plan`, as they decompose tasks of the network. Raises `PlanError` for
    steps that do not fit the problem, and `UnsupportedError` beside `not_first` and where steps create objects.
    """
    classical = classical_of(problem)
    _check_running(classical, fixed)
    if creates_objects(classical.domain) or not_first:
        what = "actions create objects" if creates_objects(classical.domain) else "others are not to come first"
        raise UnsupportedError(f"steps that are running under tasks, where {what}", _AFTER)
    asked = forbid_steps(problem, forbidden)
    begun = begin_with_steps(classical_of(asked), make_patterns(classical, fixed))
    found: Patch = _Search(
        problem, with_sealed_classical(asked, begun), remaining, weight, limits, begun=len(fixed)
    ).run()
    if found.steps is None or found.cost is None or found.objective is None:
        reason = "no plan begins with the steps that are running" if found.status is Status.UNSOLVABLE else found.reason
        return replace(found, reason=reason)
    spent = exact_sum([step.cost for step in found.steps[: len(fixed)]])
    return replace(
        found,
        steps=found.steps[len(fixed) :],
        new=found.new - len(fixed),
        cost=exact_sum([found.cost, -spent]),
        objective=exact_sum([found.objective, -spent]),
        lower_bound=None if found.lower_bound is None else exact_sum([found.lower_bound, -spent]),
    )


class _Search:
    """The search for the best patch of `problem`; plans are those of `asked`, where some steps may be forbidden."""

    def __init__(
        self,
        problem: Any,
        asked: AnyProblem,
        remaining: Sequence[Step],
        weight: Number,
        limits: Limits,
        *,
        begun: int = 0,
    ) -> None:
        self._problem, self._asked, self._weight, self._limits = problem, asked, weight, limits
        self._remaining = remaining
        self._begun = begun
        """How many steps of each plan are running, and are neither kept nor new."""
        classical = classical_of(problem)
        wrong = find_misfits(classical, remaining)
        self._first = max(wrong, default=-1) + 1
        """The first place from which all old steps fit the problem."""
        self._patterns = make_patterns(classical, remaining[self._first :])
        self._classical = classical_of(asked)
        self._best: Patch | None = None
        self._is_exact = not (is_temporal(classical) or has(classical, Construct.DEADLINE))

    def run(self) -> Patch:
        """Return the best patch that is found, with its proof."""
        from planner.repair.patching import Patch

        found = self._ask(self._classical, self._limits.share(FIRST_SHARE if self._weight else 1))
        if found.plan is None and found.status is not Status.UNKNOWN:
            return Patch(found.status, found.stopped_by, reason=found.reason)
        least = self._keep_ends(found.lower_bound) if self._weight else found.lower_bound
        best, stopped_by = self._best, found.stopped_by
        if best is None:
            reason = found.reason or f"no patch was found: {stopped_by.value}"
            return Patch(Status.UNKNOWN, stopped_by, reason=reason)
        if self._is_best(least) if self._weight else found.status is Status.OPTIMAL:
            return replace(best, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED, lower_bound=best.objective)
        stopped_by = StoppedBy.INCOMPLETE if stopped_by is StoppedBy.EXHAUSTED else stopped_by
        return replace(best, stopped_by=stopped_by, lower_bound=least, reason=found.reason)

    def _ask(self, classical: Problem, limits: Limits) -> Result:
        """Solve the problem with `classical` as its classical part, and keep the plan if it is the best patch."""
        from planner.solve import answer

        asked = with_sealed_classical(self._asked, classical)
        found = qualify_by_findings(classical_of(self._problem), answer(asked, SolveOptions().within(limits)))
        if found.plan is not None:
            with Finishing():
                self._take(order_starts(self._patterns, replace(found.plan, problem=self._problem)))
        return found

    def _take(self, plan: Plan) -> None:
        """Keep the patch of `plan` if it is the best one."""
        from planner.repair.patching import Patch

        verdict = validate(self._problem, plan)
        if not verdict.valid:
            raise RuntimeError(f"internal error: a patch was found that does not work: {verdict.reason}")
        kept = count_common_suffix(plan.steps[self._begun :], self._remaining)
        dropped, new = len(self._remaining) - kept, len(plan.steps) - kept
        objective = exact_sum([plan.charge, self._weight * dropped])
        counts = (plan.steps, new, kept, dropped, plan.cost, objective)
        found = Patch(Status.SOLVED, StoppedBy.INCOMPLETE, *counts, suppositions=plan.suppositions, plan=plan)
        if self._best is None or rank(found) < rank(self._best):
            self._best = found

    def _is_best(self, bound: Number | None) -> bool:
        """Return whether the best patch has an objective of at most `bound`."""
        objective = None if self._best is None else self._best.objective
        return objective is not None and bound is not None and objective <= bound

    def _keep_ends(self, least: Number | None) -> Number | None:
        """Look for plans that end with old steps, the most first; return a lower bound of all objectives.

        No plan is charged less than `least`.
        """
        bounds: list[Number | None] = []
        end = len(self._remaining)
        for place in range(self._first, end):
            rest = self._bound_from(place, least)
            is_over = place - self._first >= MOST_PLACES or self._limits.remaining == 0
            if is_over or self._is_best(rest):
                end = place
                break
            if not self._is_exact:
                self._ask(keep_steps(self._classical, self._patterns, 0), self._limits.share(1))
                end = place
                break
            found = self._ask(self._end_from(place), self._limits.share(PLACE_SHARE))
            if found.status is not Status.UNSOLVABLE:
                bounds.append(self._bound_from(place, least if found.lower_bound is None else found.lower_bound))
        bounds.append(self._bound_from(end, least))
        known = [each for each in bounds if each is not None]
        return min(known) if len(known) == len(bounds) else None

    def _end_from(self, place: int) -> Problem:
        return end_with_steps(self._classical, self._patterns[place - self._first :])

    def _bound_from(self, place: int, least: Number | None) -> Number | None:
        """Return a bound of the objectives of plans charged `least` or more that drop the old steps before `place`."""
        return None if least is None else exact_sum([least, self._weight * place])
