"""Patches: the cheapest way back into a plan that does not work as it stands."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from decimal import Decimal

from planner.answer import unsupported
from planner.budget import Budget, Finishing, LimitReached, check_limits
from planner.errors import InputError, PlanError
from planner.model import Atom, Number, Problem
from planner.model.numbers import exact_decimal
from planner.normalise import to_adl
from planner.plan import Status, Step, StoppedBy, exact, exact_sum
from planner.records import dataclass, replace
from planner.repair.bans import actions_of, barred
from planner.repair.chain import reentry
from planner.repair.search import Chooser, Found, Prices
from planner.validate import Simulation, validate


@dataclass(frozen=True, slots=True)
class Patch:
    """How a plan goes on: `new` steps, and then the last `kept` steps of the old plan, unchanged.

    `status` is OPTIMAL where the objective is proved to be the least, and UNSOLVABLE where nothing reaches the goal:
    then, as with UNKNOWN and UNSUPPORTED, `steps` is None. `objective` is `cost` and the weight of the `dropped`
    steps of the old plan; no patch has one below `lower_bound`. `reason` says in words what needs saying.
    """

    status: Status
    stopped_by: StoppedBy
    steps: tuple[Step, ...] | None = None
    new: int = 0
    kept: int = 0
    dropped: int = 0
    cost: Number | None = None
    objective: Number | None = None
    lower_bound: Number | None = None
    reason: str = ""

    @property
    def has_plan(self) -> bool:
        """Whether there are steps to be taken, perhaps none, that reach the goal."""
        return self.steps is not None

    def __bool__(self) -> bool:
        raise TypeError("a Patch is neither true nor false; ask patch.has_plan, or compare patch.status with `is`")


def patch(
    problem: Problem,
    remaining: Sequence[Step],
    *,
    weight: Number | float = 0,
    fixed: Sequence[Step] = (),
    forbidden: Iterable[Step] = (),
    not_first: Iterable[Step] = (),
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Patch:
    """Return the re-entry into a plan that minimises cost(new) + cost(kept) + `weight` · (steps dropped).

    `problem` has the observed state as its initial one, and in `ran` what has run; `remaining` are the steps of the
    plan that have not. New steps come first; after them, some suffix of `remaining` follows as it is, perhaps nothing
    of it. Of patches with the same objective, one that keeps most is returned. `fixed` steps are running or in doubt:
    their effects are applied first, and they are no part of the result. Steps like those of `forbidden` are neither
    taken nor kept, and ones like those of `not_first` do not come first. Steps of `remaining` that do not fit the
    problem (any more) are not kept.

    It is one search: the old steps are actions that follow each other, and entering them somewhere is another (so, for
    goals only, do Fox, Gerevini, Long and Serina, 2006, measure stability). All plans are validated. Limits are those
    of `planner.solve`; when one is reached, the best patch so far is returned, and `stopped_by` says which.

    Raises `InputError` for a weight or limits that are none, `PlanError` for fixed steps that do not fit the problem.
    """
    check_limits(time_limit, memory_limit)
    weight = _checked(weight)
    refused = unsupported(problem)
    if refused is not None:
        return Patch(refused.status, refused.stopped_by, reason=refused.reason)
    now = after(problem, fixed)
    budget = Budget(time_limit, memory_limit, cancel)
    return _Patching(now, remaining, weight, actions_of(forbidden), actions_of(not_first), budget).result()


def _checked(weight: Number | float) -> Number:
    try:
        number = exact(exact_decimal(weight))
    except ValueError as error:
        raise InputError(f"the weight of a dropped step: {error}") from None
    if number < 0:
        raise InputError(f"the weight of a dropped step is {number}, and it is never negative")
    return number


def after(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem` as it stands when `steps` have had their effects, whether they could begin now or not.

    Raises `PlanError` for steps that do not fit the problem.
    """
    simulation, ran = Simulation(problem), list(problem.ran)
    for step in steps:
        misfit = simulation.rules.misfit(step)
        if misfit:
            raise PlanError(f"{step} cannot be running: {misfit}")
        simulation.apply(step)
        ran.append(Atom(step.action, step.arguments))
    return replace(problem, initial=tuple(simulation.world.state), ran=tuple(ran))


@dataclass(slots=True)
class _Patching:
    """The search for one patch."""

    problem: Problem
    remaining: Sequence[Step]
    weight: Number
    forbidden: frozenset[Atom]
    not_first: frozenset[Atom]
    budget: Budget

    def result(self) -> Patch:
        """Return the best patch."""
        simulation = Simulation(self.problem)
        fitting = self._fitting(simulation)
        old = [Step(step.action, step.arguments, simulation.cost(step)) for step in fitting]
        try:
            place = self._direct(simulation, old)
        except LimitReached as limit:
            return Patch(Status.UNKNOWN, limit.stopped_by, reason="no patch was found in time")
        known = None if place is None else self._patched(tuple(old[place:]), 0)
        if known is not None and known.objective == self.weight * (len(self.remaining) - len(old)) and not place:
            return replace(known, status=Status.OPTIMAL, lower_bound=known.objective)
        return self._searched(known, old)

    def _fitting(self, simulation: Simulation) -> Sequence[Step]:
        """Return the longest suffix of the remaining steps all of which fit the problem and are allowed."""
        for place in range(len(self.remaining), 0, -1):
            step = self.remaining[place - 1]
            if simulation.rules.misfit(step) or Atom(step.action, step.arguments) in self.forbidden:
                return self.remaining[place:]
        return self.remaining

    def _direct(self, simulation: Simulation, old: Sequence[Step]) -> int | None:
        """Return the best place at which `old` can be entered without any new step; None where there is none."""
        costs = [exact_sum([step.cost for step in old])]
        for step in old:
            costs.append(costs[-1] - step.cost)
        for place in sorted(range(len(old) + 1), key=lambda place: (costs[place] + self.weight * place, place)):
            self.budget.check()
            if self._works(simulation, old[place:]):
                return place
        return None

    def _works(self, simulation: Simulation, steps: Sequence[Step]) -> bool:
        if steps and Atom(steps[0].action, steps[0].arguments) in self.not_first:
            return False
        if steps and simulation.objection(steps[0]) is not None:
            return False
        trial = simulation.copy()
        for step in steps:
            if trial.objection(step) is not None:
                return False
            trial.apply(step)
        return trial.holds(self.problem.goal.hard)

    def _searched(self, known: Patch | None, old: Sequence[Step]) -> Patch:
        """Return the best patch, which is at least as good as what is `known`."""
        plain = barred(to_adl(self.problem), self.forbidden, self.not_first)
        chooser = Chooser(reentry(plain, old, self.weight), self.budget)
        prices = Prices(cost=len(old) + 1)
        lost = len(self.remaining) - len(old)
        below = (
            None
            if known is None
            else (exact_sum([known.cost or 0, self.weight * (known.dropped - lost)]), known.dropped - lost)
        )
        found = chooser.best(prices, below)
        best = known
        if found.actions is not None:
            steps = chooser.steps(found.actions)
            best = self._patched(steps, sum(not chooser.is_special(each) for each in found.actions))
        if best is None:
            return self._nothing(found)
        status = Status.OPTIMAL if found.proved else Status.SOLVED
        bound = best.objective if found.proved else self._bound(found, prices, chooser, lost)
        return replace(best, status=status, stopped_by=found.stopped_by, lower_bound=bound)

    def _bound(self, found: Found, prices: Prices, chooser: Chooser, lost: int) -> Number:
        resolution = 1 if chooser.task is None else chooser.task.resolution
        least = Decimal(found.at_least // prices.cost) / resolution
        return exact(least + self.weight * lost)

    def _nothing(self, found: Found) -> Patch:
        if found.proved:
            return Patch(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason="no steps lead from this state to the goal")
        return Patch(Status.UNKNOWN, found.stopped_by, reason=f"no patch was found: {found.stopped_by.value}")

    def _patched(self, steps: tuple[Step, ...], new: int) -> Patch:
        """Return the patch with these `steps`, checked; the first `new` of them are new."""
        with Finishing():
            verdict = validate(self.problem, steps)
        if not verdict.valid:
            raise RuntimeError(f"internal error: a patch was found that does not work: {verdict.reason}")
        kept = len(steps) - new
        dropped = len(self.remaining) - kept
        objective = exact_sum([verdict.cost, self.weight * dropped])
        return Patch(Status.SOLVED, StoppedBy.INCOMPLETE, steps, new, kept, dropped, verdict.cost, objective)
