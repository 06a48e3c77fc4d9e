"""Patches: the cheapest way back into a plan that does not work as it stands."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal

from planner.answer import unsupported
from planner.budget import Budget, Finishing, check_limits
from planner.errors import InputError, PlanError
from planner.model import Atom, Number, Problem
from planner.model.numbers import exact_decimal
from planner.normalise import relevant_part, to_adl
from planner.plan import Status, Step, StoppedBy, exact, exact_sum
from planner.records import dataclass, replace
from planner.repair.bans import actions_of, barred
from planner.repair.chain import entering, reentry
from planner.repair.created import claimed, untried, with_spare
from planner.repair.firsts import irrelevant_firsts
from planner.repair.search import STOPS, Chooser, Prices, stopped_by
from planner.repair.stages import Choice
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

    It is one search, in which the old steps are actions that follow each other. (That repaired plans had better be
    close to the old ones: Fox, Gerevini, Long and Serina, 2006.) All plans are validated. Limits are those of
    `planner.solve`; when one is reached, the best patch so far is returned, and `stopped_by` says which.

    Raises `InputError` for a weight or limits that are none, `PlanError` for fixed steps that do not fit the problem.
    """
    check_limits(time_limit, memory_limit)
    weight = _checked(weight)
    refused = unsupported(problem)
    if refused is not None:
        return Patch(refused.status, refused.stopped_by, reason=refused.reason)
    budget, banned = Budget(time_limit, memory_limit, cancel), actions_of(forbidden)
    now = after(with_spare(problem, (*fixed, *remaining)), fixed)
    old = _fitting(now, remaining, banned)
    patching = _Patching(now, remaining, old, weight, banned, actions_of(not_first), budget)
    try:
        found = patching.result()
    except STOPS as stop:
        return _nothing(stopped_by(stop))
    status = claimed(problem, found.status)
    return found if status is found.status else _without_proof(found, status, untried(problem))


def _checked(weight: Number | float) -> Number:
    try:
        number = exact(exact_decimal(weight))
    except ValueError as error:
        raise InputError(f"the weight of a dropped step: {error}") from None
    if number < 0:
        raise InputError(f"the weight of a dropped step is {number}, and it is never negative")
    return number


def _fitting(problem: Problem, remaining: Sequence[Step], banned: Collection[Atom]) -> tuple[Step, ...]:
    """Return the longest suffix of `remaining` all of which fits `problem` and is not banned, with costs."""
    simulation, found = Simulation(problem), list[Step]()
    for step in reversed(remaining):
        if simulation.rules.misfit(step) or Atom(step.action, step.arguments) in banned:
            break
        found.append(Step(step.action, step.arguments, simulation.cost(step)))
    return tuple(found[::-1])


def _without_proof(found: Patch, status: Status, reason: str) -> Patch:
    return replace(found, status=status, stopped_by=StoppedBy.INCOMPLETE, lower_bound=None, reason=reason)


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


@dataclass(frozen=True, slots=True)
class _Patching:
    """The search for one patch; of `remaining`, the steps in `old` may be kept."""

    problem: Problem
    remaining: Sequence[Step]
    old: tuple[Step, ...]
    weight: Number
    forbidden: frozenset[Atom]
    not_first: frozenset[Atom]
    budget: Budget

    def result(self) -> Patch:
        """Return the best patch; raises `LimitReached` before there is any."""
        simulation = Simulation(self.problem)
        place = self._direct(simulation)
        known = None if place is None else self._patched(self.old[place:], place)
        if known is not None and known.cost == 0 and known.dropped == self._lost:
            return replace(known, status=Status.OPTIMAL, lower_bound=known.objective)
        return self._searched(known, simulation)

    @property
    def _lost(self) -> int:
        return len(self.remaining) - len(self.old)

    def _direct(self, simulation: Simulation) -> int | None:
        """Return the best place at which the old steps go on without any new one; None where there is none."""
        old, costs = self.old, [exact_sum([step.cost for step in self.old])]
        for step in old:
            costs.append(costs[-1] - step.cost)
        for place in sorted(range(len(old) + 1), key=lambda place: (costs[place] + self.weight * place, place)):
            self.budget.check()
            if self._works(simulation, old[place:]):
                return place
        return None

    def _works(self, simulation: Simulation, steps: Sequence[Step]) -> bool:
        """Return whether `steps` lead from here to the goal."""
        if steps and (actions_of(steps[:1]) & self.not_first or simulation.objection(steps[0]) is not None):
            return False
        trial = simulation.copy()
        for step in steps:
            if trial.objection(step) is not None:
                return False
            trial.apply(step)
        return trial.holds(self.problem.goal.hard)

    def _searched(self, known: Patch | None, simulation: Simulation) -> Patch:
        """Return the best patch, which is at least as good as what is `known`."""
        try:
            chooser = Chooser(self._choice(simulation), self.budget)
        except STOPS as stop:
            return _nothing(stopped_by(stop)) if known is None else replace(known, stopped_by=stopped_by(stop))
        prices = Prices(cost=len(self.old) + 1)
        names = [] if known is None else entering(known.dropped - self._lost, len(self.old))
        found = chooser.best(prices, chooser.named(names) if names else None)
        if found.plan is None:
            return _nothing(found.stopped_by, proved=found.proved)
        best = self._patched(tuple([step for _, step in chooser.steps(found.plan)]), chooser.penalty(found.plan))
        if found.proved:
            return replace(best, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED, lower_bound=best.objective)
        bound = exact(Decimal(found.at_least // prices.cost) / chooser.task.resolution + self.weight * self._lost)
        return replace(best, stopped_by=found.stopped_by, lower_bound=bound)

    def _choice(self, simulation: Simulation) -> Choice:
        """Return the choice of a re-entry, in which nothing irrelevant is left."""
        relevant = relevant_part(self.problem, [step.action for step in self.old])
        firsts: list[Step] = []
        if self.not_first:
            firsts = irrelevant_firsts(simulation, relevant, self.forbidden | self.not_first, self.budget.check)
        domain = self.problem.domain
        names = {*relevant.domain.actions, *(step.action for step in firsts)}
        actions = {name: action for name, action in domain.actions.items() if name in names}
        plain = to_adl(replace(self.problem, domain=replace(domain, actions=actions)))
        return reentry(barred(plain, self.forbidden, self.not_first), self.old, self.weight, firsts)

    def _patched(self, steps: tuple[Step, ...], place: int) -> Patch:
        """Return the patch with these `steps`, checked, which keep the old ones from `place` on."""
        with Finishing():
            verdict = validate(self.problem, steps)
        if not verdict.valid:
            raise RuntimeError(f"internal error: a patch was found that does not work: {verdict.reason}")
        kept, dropped = len(self.old) - place, self._lost + place
        objective = exact_sum([verdict.cost, self.weight * dropped])
        new = len(steps) - kept
        return Patch(Status.SOLVED, StoppedBy.INCOMPLETE, steps, new, kept, dropped, verdict.cost, objective)


def _nothing(stopped_by: StoppedBy, *, proved: bool = False) -> Patch:
    if proved:
        return Patch(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason="no steps lead from this state to the goal")
    return Patch(Status.UNKNOWN, stopped_by, reason=f"no patch was found: {stopped_by.value}")
