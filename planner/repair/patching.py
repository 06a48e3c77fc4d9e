"""Patches: the cheapest way back into a plan that does not work as it stands."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal

from planner.annotations import Any, Final
from planner.answer import unsupported
from planner.budget import Budget, Finishing, check_limits
from planner.errors import InputError, PlanError
from planner.model import Atom, Number, Problem
from planner.model.numbers import exact_decimal
from planner.model.problem import sealed
from planner.normalise import relevant_part, to_adl, without_constraints
from planner.plan import Status, Step, StoppedBy, Supposition, exact, exact_sum
from planner.records import dataclass, replace
from planner.repair.bans import actions_of, barred
from planner.repair.chain import entering, reentry
from planner.repair.created import claimed, untried, with_spare
from planner.repair.firsts import irrelevant_firsts
from planner.repair.limited import patch_within
from planner.repair.search import STOPS, Chooser, Prices, stopped_by
from planner.repair.stages import Choice
from planner.repair.ways import Ways
from planner.resolve import resolve_classical
from planner.validate import Simulation, validate

READY_IN_A_SECOND: Final = 2000
"""So many old steps at most are made ready in a second for the search of all re-entries."""


@dataclass(frozen=True, slots=True)
class Patch:
    """How a plan goes on: `new` steps, and then the last `kept` steps of the old plan, unchanged.

    `status` is OPTIMAL where the objective is proved to be the least, and UNSOLVABLE where nothing reaches the goal:
    then, as with UNKNOWN and UNSUPPORTED, `steps` is None. `objective` is `cost` and the weight of the `dropped`
    steps of the old plan; no patch has one below `lower_bound`. `reason` says in words what needs saying. Where facts
    are unknown, the steps, numbered from 1, rest on `suppositions` about them.
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
    suppositions: tuple[Supposition, ...] = ()

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
    proof_time: float | None = None,
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

    First, re-entries that need few new steps are tried: what is needed from some step on is found by regression, and
    reached by a search of its own. Then, unless a bound proves such a patch, it is one search, in which the old steps
    are actions that follow each other. (That repaired plans had better be close to the old ones: Fox, Gerevini, Long
    and Serina, 2006.) All plans are validated. Limits are those of `planner.solve`; when one is reached, the best patch
    so far is returned, and `stopped_by` says which. Once a patch is known, no more than `proof_time` seconds are spent
    on a better one, or on the proof that there is none, and none on one that is as good and keeps more.

    Budgets are for what is still to be spent, `fixed` steps included, and the deadline is for the steps that are
    returned. Where the best patch does not keep them, it is the cheapest plan that does.

    Raises `InputError` for a weight or limits that are none, `PlanError` for fixed steps that do not fit the problem.
    """
    check_limits(time_limit, memory_limit)
    check_limits(proof_time, None)
    weight = _checked(weight)
    problem = resolve_classical(problem, "patch", "solve(problem) finds a plan for it")
    if problem.unknown:
        from planner.unknown.patching import patch_supposing  # noqa: PLC0415 - few problems need it

        asked: dict[str, Any] = {"weight": weight, "fixed": fixed, "proof_time": proof_time}
        asked |= {"forbidden": tuple(forbidden), "not_first": tuple(not_first)}
        expanded, budget = with_spare(problem, (*fixed, *remaining)), Budget(time_limit, memory_limit, cancel)
        return patch_supposing(expanded, remaining, _patch_again, budget, **asked)
    refused = unsupported(problem, takes=("budgets", "deadlines"))
    if refused is not None:
        return Patch(refused.status, refused.stopped_by, reason=refused.reason)
    budget, banned = Budget(time_limit, memory_limit, cancel), actions_of(forbidden)
    if problem.is_limited:
        options: dict[str, Any] = {"forbidden": tuple(forbidden), "not_first": tuple(not_first)}
        options |= {"proof_time": proof_time, "memory_limit": memory_limit, "cancel": cancel}
        return patch_within(problem, remaining, _patch_again, after, budget, weight=weight, fixed=fixed, **options)
    now = after(without_constraints(with_spare(problem, (*fixed, *remaining))), fixed)
    old = _fitting(now, remaining, banned)
    patching = _Patching(now, remaining, old, weight, banned, actions_of(not_first), budget, proof_time)
    try:
        found = patching.result()
    except STOPS as stop:
        return _nothing(stopped_by(stop))
    status = claimed(problem, found.status)
    return found if status is found.status else _without_proof(found, status, untried(problem))


def _patch_again(problem: Problem, remaining: Sequence[Step], **options: Any) -> Patch:
    """Return a patch for a problem that was made of another one, whose names were looked up."""
    return patch(sealed(problem), remaining, **options)


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
    proof_time: float | None

    def result(self) -> Patch:
        """Return the best patch; raises `LimitReached` before there is any."""
        simulation = Simulation(self.problem)
        ways = Ways.of(simulation, self.old, self.weight, self.not_first)
        place = ways.direct(self.budget.check)
        known = None if place is None else self._patched(self.old[place:], place)
        if known is not None and known.cost == 0 and known.dropped == self._lost:
            return replace(known, status=Status.OPTIMAL, lower_bound=known.objective)
        try:
            return self._improved(known, ways, simulation)
        except STOPS as stop:
            if known is None:
                raise
            return replace(known, stopped_by=stopped_by(stop))

    def _improved(self, known: Patch | None, ways: Ways, simulation: Simulation) -> Patch:
        """Return the best patch, perhaps what is `known`."""
        plain, firsts = self._plain(simulation)
        whole = Chooser(Choice(barred(plain, self.forbidden, self.not_first), {}), self.budget)
        if whole.task.unreachable_goal is not None:
            return _nothing(StoppedBy.EXHAUSTED, proved=True)
        cost = exact(Decimal(whole.least_cost()) / whole.task.resolution)
        least = self._at_best(exact_sum([cost, self.weight * ways.first]), ways.first)
        try:
            for found in self._near(ways, barred(plain, self.forbidden, ())):
                known = found if known is None else min(known, found, key=_rank)
                if _rank(known) == least or (self.proof_time is not None and known.objective == least[0]):
                    return _proved(known)
            self.budget.check()
        except STOPS as stop:
            if known is None:
                raise
            return replace(known, stopped_by=stopped_by(stop), lower_bound=least[0])
        if known is not None and self.proof_time is not None and len(self.old) > READY_IN_A_SECOND * self.proof_time:
            return replace(known, stopped_by=StoppedBy.TIME, lower_bound=least[0])
        choice = reentry(barred(plain, self.forbidden, self.not_first), self.old, self.weight, firsts)
        return self._searched(choice, known, least[0])

    @property
    def _lost(self) -> int:
        return len(self.remaining) - len(self.old)

    def _at_best(self, charge: Number, dropped: int) -> tuple[Number, int]:
        """Return the rank of a patch with this `charge`, that drops so many of the steps that fit."""
        return exact_sum([charge, self.weight * self._lost]), self._lost + dropped

    def _near(self, ways: Ways, plain: Problem) -> Iterator[Patch]:
        """Yield patches that seem to need few new steps."""
        best: tuple[Number, int] | None = None
        for place in ways.promising():
            if best is not None and self._at_best(ways.charges[place], place) >= best:
                continue
            new = ways.reached(place, plain, self.budget)
            if new is None:
                continue
            for steps, kept_from in ways.begun(new, place):
                found = self._patched(steps, kept_from)
                best = _rank(found) if best is None else min(best, _rank(found))
                yield found

    def _searched(self, choice: Choice, known: Patch | None, bound: Number) -> Patch:
        """Return the best patch, which is at least as good as what is `known`; none is below `bound`."""
        budget = self.budget if known is None else self.budget.part(self.proof_time)
        try:
            chooser = Chooser(choice, budget)
            names = [] if known is None else self._names(known)
            prices, start = Prices(cost=len(self.old) + 1), chooser.named(names) if names else None
        except STOPS as stop:
            if known is None:
                return _nothing(stopped_by(stop))
            return replace(known, stopped_by=stopped_by(stop), lower_bound=bound)
        found = chooser.best(prices, start)
        if found.plan is None:
            if known is None:
                return _nothing(found.stopped_by, proved=found.proved)
            return replace(known, stopped_by=found.stopped_by, lower_bound=bound)
        best = self._patched(tuple([step for _, step in chooser.steps(found.plan)]), chooser.penalty(found.plan))
        if found.proved:
            return _proved(best)
        best = best if known is None else min(known, best, key=_rank)
        searched = exact(Decimal(found.at_least // prices.cost) / chooser.task.resolution + self.weight * self._lost)
        return replace(best, stopped_by=found.stopped_by, lower_bound=max(bound, searched))

    def _names(self, known: Patch) -> list[str | Step]:
        """Return the actions that make up what is `known`, in the choice of a re-entry."""
        assert known.steps is not None  # noqa: S101 - it is a patch
        return [*known.steps[: known.new], *entering(known.dropped - self._lost, len(self.old))]

    def _plain(self, simulation: Simulation) -> tuple[Problem, list[Step]]:
        """Return the problem in plain ADL, in which nothing irrelevant is left, and irrelevant steps to begin with."""
        relevant = relevant_part(self.problem, [step.action for step in self.old])
        firsts: list[Step] = []
        if self.not_first:
            firsts = irrelevant_firsts(simulation, relevant, self.forbidden | self.not_first, self.budget.check)
        domain = self.problem.domain
        names = {*relevant.domain.actions, *(step.action for step in firsts)}
        actions = {name: action for name, action in domain.actions.items() if name in names}
        return to_adl(replace(self.problem, domain=replace(domain, actions=actions))), firsts

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


def _proved(best: Patch) -> Patch:
    return replace(best, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED, lower_bound=best.objective)


def _rank(patch: Patch) -> tuple[Number, int]:
    assert patch.objective is not None  # noqa: S101 - it is a patch
    return patch.objective, patch.dropped


def _nothing(stopped_by: StoppedBy, *, proved: bool = False) -> Patch:
    if proved:
        return Patch(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason="no steps lead from this state to the goal")
    return Patch(Status.UNKNOWN, stopped_by, reason=f"no patch was found: {stopped_by.value}")
