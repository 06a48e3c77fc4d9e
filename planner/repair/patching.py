"""Patching: the cheapest re-entry from the present state into a plan that no longer works.

    stage 0 ── new steps ──┬─ enter at i ─→ stage i+1 ── step i+1 ─→ … ─→ stage n, and the goal
                           └─ drop all ───────────────────────────────→ stage n, and the goal

Each old step is a special action with its declared condition and effects. Before this search, patching tries shortcuts:
places where the plan goes on without new steps, or where few facts are missing.

Irrelevant actions are removed, but for one use: as a first step, where the steps that should come first may not. Of
irrelevant steps with the same changes of relevant facts, the cheapest will do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from heapq import nsmallest

from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.compilations.soft_goals import add_stages, as_pointer_move
from planner.errors import InputError, PlanError
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import STOPS, Finishing, LimitReached, Limits, check_limits, stop_reason
from planner.model import Action, Atom, Formula, Goal, Number, Problem
from planner.model.constructs import CONSTRAINED, Construct, Service, has
from planner.model.formulas import atoms_in, exact_decimal
from planner.model.problem import NumericMetric, is_numeric, seal
from planner.plan import Status, Step, StoppedBy, Supposition, exact, exact_sum
from planner.portfolio.incumbent import refuse_constructs
from planner.problem_kinds import resolve_classical
from planner.repair import repair_search
from planner.repair.forbidden_steps import actions_of, forbid_actions
from planner.repair.patch_reductions import patch_with_numbers, patch_with_suppositions, patch_within_limits
from planner.repair.regression import Unclear, regress_goal, regress_suffixes
from planner.repair.repair_search import Choice, Chooser, Prices
from planner.semantics.simulation import Simulation, price_steps
from planner.validation.validate import check_steps


def make_reentry_choice(plain: Problem, old: Sequence[Step], weight: Number, firsts: Sequence[Step] = ()) -> Choice:
    """Return the choice of a re-entry into the steps `old`, or behind the last of them.

    The special action that enters costs `weight` for each dropped step, beside the cost of its step; its penalty is the
    number of dropped steps. The actions of `firsts` are available only as these steps.
    """
    last, others = len(old), {step.action for step in firsts}
    special: list[Action] = [as_pointer_move(Action("@drop"), "@drop", 0, last, exact_sum([weight * last]))]
    steps: dict[str, tuple[Step, ...]] = {"@drop": ()}
    penalties = {"@drop": last}
    for number, step in enumerate(firsts):
        special.append(as_pointer_move(_instance(plain, step), f"@first-{number}", 0, 0, step.cost))
        steps[f"@first-{number}"] = (step,)
    for place, step in enumerate(old):
        action = _instance(plain, step)
        enter, follow = f"@enter-{place}", f"@step-{place}"
        special.append(as_pointer_move(action, enter, 0, place + 1, exact_sum([step.cost, weight * place])))
        if place:
            special.append(as_pointer_move(action, follow, place, place + 1, step.cost))
        steps |= {enter: (step,), follow: (step,)}
        penalties[enter] = place
    problem = add_stages(plain, special, plain.goal.hard, last, first_only=True, without=others)
    return Choice(problem, steps, penalties)


def name_reentry_actions(place: int, number: int) -> list[str]:
    """Return the names of the special actions that enter at `place` of `number` steps without new steps."""
    if place == number:
        return ["@drop"]
    return [f"@enter-{place}", *(f"@step-{later}" for later in range(place + 1, number))]


def _instance(plain: Problem, step: Step) -> Action:
    return repair_search.instantiate(plain.domain.actions[step.action], step)


def find_irrelevant_firsts(
    simulation: Simulation, relevant: Problem, banned: Collection[Atom], check: Callable[[], None]
) -> list[Step]:
    """Return applicable steps of irrelevant actions that are not `banned`, the cheapest for each set of changes."""
    read = {atom.predicate for formula in _conditions(relevant) for atom in atoms_in(formula)}
    cheapest: dict[frozenset[Atom], Step] = {}
    for step in simulation.applicable():
        check()
        if step.action in relevant.domain.actions or Atom(step.action, step.arguments) in banned:
            continue
        changes = simulation.changes(step)
        key = frozenset([fact for fact in (*changes.added, *changes.removed) if fact.predicate in read])
        if key not in cheapest or step.cost < cheapest[key].cost:
            cheapest[key] = step
    return list(cheapest.values())


def _conditions(problem: Problem) -> Iterator[Formula]:
    yield problem.goal.hard
    yield from (axiom.condition for axiom in problem.domain.axioms)
    for action in problem.domain.actions.values():
        yield action.requires
        yield from (when.requires for when in action.when)


MAX_PLACES: Final = 3
"""Number of places with the least estimated cost that are tried beside the nearest one."""
REENTRY_SECONDS: Final = 2.0
"""Time limit for one place, in seconds, if there is no limit; otherwise a quarter of the remaining time."""
MAX_MOVED: Final = 5
"""Number of steps that are tried as the first one."""


@dataclass(frozen=True, slots=True)
class ReentryPoints:
    """The places at which the plan may be entered again, by regression.

    `missing` has for each place whose suffix of `old` can lead to the goal the number of missing facts; None if
    regression cannot tell. `charges` are, for each place, the cost of the suffix and the weight of the dropped steps. A
    plan may not begin with a step of `not_first`.
    """

    now: Simulation
    old: tuple[Step, ...]
    missing: Mapping[int, int] | None
    charges: Sequence[Number]
    not_first: Collection[Atom]

    @classmethod
    def of(cls, now: Simulation, old: tuple[Step, ...], weight: Number, not_first: Collection[Atom]) -> ReentryPoints:
        """Return the re-entry points from `now` into `old`."""
        charges = charge_places(old, weight)
        try:
            found = [(place, len(needs.unmet)) for place, needs in regress_suffixes(now, old, now.problem.goal.hard)]
        except Unclear:
            return cls(now, old, None, charges, not_first)
        return cls(now, old, dict(reversed(found)), charges, not_first)

    @property
    def first(self) -> int:
        """The first place at which a plan can go on, if any state is to be reached for that."""
        return 0 if self.missing is None else min(self.missing, default=len(self.old))

    def _is_barred(self, steps: Sequence[Step]) -> bool:
        """Return whether the first of `steps` may not come first."""
        return bool(steps) and Atom(steps[0].action, steps[0].arguments) in self.not_first

    def find_direct_place(self, check: Callable[[], None]) -> int | None:
        """Return the cheapest place at which the old steps work without new ones; None if there is none."""
        every = range(len(self.old) + 1)
        places = every if self.missing is None else [place for place in every if self.missing.get(place) == 0]
        for place in sorted(places, key=lambda place: (self.charges[place], place)):
            check()
            rest = self.old[place:]
            if not self._is_barred(rest[:1]) and (self.missing is not None or self._works(rest)):
                return place
        return None

    def _works(self, steps: Sequence[Step]) -> bool:
        """Return whether `steps` lead to the goal, by simulation."""
        if steps and self.now.find_objection(steps[0]) is not None:
            return False
        trial = self.now.copy()
        for step in steps:
            if trial.find_objection(step) is not None:
                return False
            trial.apply(step)
        return trial.holds(trial.problem.goal.hard)

    def list_promising(self) -> list[int]:
        """Return the place with the fewest missing facts, then the cheapest by estimate.

        The estimate of a missing fact is the average cost of an old step.
        """
        found = self.missing
        if not found:
            return []
        average = max(float(self.charges[0]) / max(len(self.old), 1), 1.0)
        nearest = min(found, key=lambda place: (found[place], place))
        cheapest = nsmallest(MAX_PLACES, found, key=lambda place: float(self.charges[place]) + average * found[place])
        return list(dict.fromkeys([nearest, *cheapest]))

    def search_new_steps(self, place: int, plain: Problem, limits: Limits) -> list[Step] | None:
        """Return steps of `plain` after which the plan goes on at `place`; None if none are found soon."""
        goal = Goal(regress_goal(self.now, self.old[place:], self.now.problem.goal.hard))
        left = limits.remaining
        try:
            chooser = Chooser(
                Choice(replace(plain, goal=goal), {}), limits.part(REENTRY_SECONDS if left is None else left / 4)
            )
        except LimitReached:
            limits.check()
            return None
        found = chooser.search_best(Prices())
        return None if found.plan is None else [step for _, step in chooser.steps(found.plan)]

    def vary_first_step(self, new: Sequence[Step], place: int) -> Iterator[tuple[tuple[Step, ...], int]]:
        """Yield plans of the steps `new` and the old ones from `place`, each with the place from which all are kept.

        If the first step may not come first, later steps are tried as the first.
        """
        steps = (*new, *self.old[place:])
        if not self._is_barred(steps):
            yield steps, place
            return
        for number in range(1, min(len(steps), MAX_MOVED)):
            moved = (steps[number], *steps[:number], *steps[number + 1 :])
            if not self._is_barred(moved) and self._works(moved):
                yield moved, max(place, place + number + 1 - len(new))


def charge_places(old: Sequence[Step], weight: Number) -> list[Number]:
    """Return for each place in `old` the cost of the steps from there on, and the weight of those before."""
    left = [exact_sum([step.cost for step in old])]
    for step in old:
        left.append(left[-1] - step.cost)
    return [cost + weight * place for place, cost in enumerate(left)]


STEPS_PER_SECOND: Final = 2000
"""Number of old steps that are prepared in a second for the search of all re-entries."""


@dataclass(frozen=True, slots=True)
class Patch:
    """The result of `patch`: `new` steps, then the last `kept` steps of the old plan, unchanged.

    `status` is OPTIMAL if the objective is proved to be the least, and UNSOLVABLE if nothing reaches the goal; then, as
    with UNKNOWN and UNSUPPORTED, `steps` is None. `objective` is `cost` plus the weight of the `dropped` steps; no
    patch has one below `lower_bound`. With unknown facts, the steps, numbered from 1, rest on `suppositions`.
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
        """Whether there is a patch, perhaps without steps."""
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
    """Return the re-entry into a plan that minimises cost(new) + cost(kept) + `weight` · (dropped steps).

    The initial state of `problem` is the observed state, and `ran` has what has run; `remaining` are the other steps of
    the plan. New steps come first; then a suffix of `remaining` follows, which may be empty. Of patches with the same
    objective, one that keeps most steps is returned. `fixed` steps are running or in doubt: their effects are applied
    first, and they are no part of the result. Steps like those of `forbidden` are neither taken nor kept, and steps
    like those of `not_first` do not come first. Steps of `remaining` that do not fit the problem are not kept.

    First, re-entries with few missing facts are tried: regression finds the needs of a suffix, and a search reaches
    them. Unless a bound proves such a patch optimal, one search over all re-entries follows. (Plan stability: Fox,
    Gerevini, Long and Serina, 2006.) All plans are validated. Limits are those of `planner.solve`; when one is reached,
    the best patch so far is returned, and `stopped_by` says which. Once a patch is known, at most `proof_time` seconds
    are spent on a better one or on the proof, and none on one that is as good and keeps more.

    Budgets are for all steps to come, `fixed` ones included; the deadline is for the returned steps. If the best patch
    does not keep them, the result is the cheapest plan that does.

    Raises `InputError` for an invalid weight or limit, `PlanError` for fixed steps that do not fit the problem.
    """
    check_limits(time_limit, memory_limit)
    check_limits(proof_time, None)
    weight = _read_weight(weight)
    problem = resolve_classical(problem, "patch", "solve(problem) finds a plan for it")
    forbidden, not_first, limits = tuple(forbidden), tuple(not_first), Limits(time_limit, memory_limit, cancel)
    options: dict[str, Any] = {"weight": weight, "fixed": fixed, "proof_time": proof_time}
    options |= {"forbidden": forbidden, "not_first": not_first}
    try:
        return _patch_kind(problem, remaining, limits, options)
    except STOPS as stop:
        return _no_patch(stop_reason(stop))


def _patch_kind(problem: Problem, remaining: Sequence[Step], limits: Limits, options: dict[str, Any]) -> Patch:
    """Patch as the kind of `problem` asks for; raises `LimitReached` if there is no patch yet."""
    fixed, weight = options["fixed"], options["weight"]
    if has(problem, Construct.UNKNOWN):
        expanded = repair_search.add_spare_objects(problem, (*fixed, *remaining))
        return patch_with_suppositions(expanded, remaining, _patch_again, limits, **options)
    refused = refuse_constructs(problem, Service.PATCHES)
    if refused is not None:
        return Patch(refused.status, refused.stopped_by, reason=refused.reason)
    if problem.is_limited:
        options |= {"memory_limit": limits.memory_limit, "cancel": limits.cancel}
        return patch_within_limits(problem, remaining, _patch_again, apply_steps, limits, **options)
    banned, not_first = actions_of(options["forbidden"]), actions_of(options["not_first"])
    now = apply_steps(compile_away(repair_search.add_spare_objects(problem, (*fixed, *remaining)), *CONSTRAINED), fixed)
    old = _find_fitting_suffix(now, remaining, banned)
    patching = _Patching(now, remaining, old, weight, banned, not_first, limits, options["proof_time"])
    found = patching.search_with_numbers() if is_numeric(now) else patching.search()
    status = repair_search.weaken_claim(problem, found.status)
    return found if status is found.status else _without_proof(found, status, repair_search.describe_untried(problem))


def _patch_again(problem: Problem, remaining: Sequence[Step], **options: Any) -> Patch:
    """Return a patch for a problem that was made of a resolved one."""
    return patch(seal(problem), remaining, **options)


def _read_weight(weight: Number | float) -> Number:
    try:
        number = exact(exact_decimal(weight))
    except ValueError as error:
        raise InputError(f"the weight of a dropped step: {error}") from None
    if number < 0:
        raise InputError(f"the weight of a dropped step is {number}, and it is never negative")
    return number


def _find_fitting_suffix(problem: Problem, remaining: Sequence[Step], banned: Collection[Atom]) -> tuple[Step, ...]:
    """Return the longest suffix of `remaining` whose steps fit `problem` and are not banned.

    The steps have costs, unless a metric of numbers makes these depend on the states between them.
    """
    simulation, found = Simulation(problem), list[Step]()
    is_priced_later = isinstance(problem.metric, NumericMetric)
    for step in reversed(remaining):
        if simulation.rules.misfit(step) or Atom(step.action, step.arguments) in banned:
            break
        found.append(Step(step.action, step.arguments, 0 if is_priced_later else simulation.cost(step)))
    return tuple(found[::-1])


def _without_proof(found: Patch, status: Status, reason: str) -> Patch:
    return replace(found, status=status, stopped_by=StoppedBy.INCOMPLETE, lower_bound=None, reason=reason)


def apply_steps(problem: Problem, steps: Iterable[Step]) -> Problem:
    """Return `problem` after the effects of `steps`, whether they are applicable or not.

    Raises `PlanError` for steps that do not fit the problem.
    """
    simulation, ran = Simulation(problem), list(problem.ran)
    for step in steps:
        misfit = simulation.rules.misfit(step)
        if misfit:
            raise PlanError(f"{step} cannot be running: {misfit}")
        simulation.apply(step)
        ran.append(Atom(step.action, step.arguments))
    return replace(simulation.problem_now, ran=tuple(ran))


@dataclass(frozen=True, slots=True)
class _Patching:
    """The search for one patch; of `remaining`, only the steps in `old` may be kept."""

    problem: Problem
    remaining: Sequence[Step]
    old: tuple[Step, ...]
    weight: Number
    forbidden: frozenset[Atom]
    not_first: frozenset[Atom]
    limits: Limits
    proof_time: float | None

    def search(self) -> Patch:
        """Return the best patch; raises `LimitReached` if there is none yet."""
        simulation = Simulation(self.problem)
        points = ReentryPoints.of(simulation, self.old, self.weight, self.not_first)
        place = points.find_direct_place(self.limits.check)
        known = None if place is None else self._make_patch(self.old[place:], place)
        if known is not None and known.cost == 0 and known.dropped == self._lost:
            return replace(known, status=Status.OPTIMAL, lower_bound=known.objective)
        try:
            return self._improve(known, points, simulation)
        except STOPS as stop:
            if known is None:
                raise
            return replace(known, stopped_by=stop_reason(stop))

    def search_with_numbers(self) -> Patch:
        """Return the end of the plan that still works, or a plan made anew."""
        points = ReentryPoints(
            Simulation(self.problem), self.old, None, charge_places(self.old, self.weight), self.not_first
        )
        place = points.find_direct_place(self.limits.check)
        known = None if place is None else self._make_patch(self._price(self.old[place:]), place)
        bans: dict[str, Any] = {"forbidden": self.forbidden, "not_first": self.not_first}
        options: dict[str, Any] = {"weight": self.weight, "proof_time": self.proof_time, **bans}
        return patch_with_numbers(self.problem, self.remaining, known, self.limits, **options)

    def _price(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return price_steps(self.problem, steps) if isinstance(self.problem.metric, NumericMetric) else steps

    def _improve(self, known: Patch | None, points: ReentryPoints, simulation: Simulation) -> Patch:
        """Return the best patch, which may be the one that is `known`."""
        plain, firsts = self._compile(simulation)
        whole = Chooser(Choice(forbid_actions(plain, self.forbidden, self.not_first), {}), self.limits)
        if whole.task.unreachable_goal is not None:
            return _no_patch(StoppedBy.EXHAUSTED, proved=True)
        cost = exact(Decimal(whole.bound_cost()) / whole.task.resolution)
        least = self._rank_without_new(exact_sum([cost, self.weight * points.first]), points.first)
        try:
            for found in self._try_shortcuts(points, forbid_actions(plain, self.forbidden, ())):
                known = found if known is None else min(known, found, key=_rank)
                if _rank(known) == least or (self.proof_time is not None and known.objective == least[0]):
                    return _mark_proved(known)
            self.limits.check()
        except STOPS as stop:
            if known is None:
                raise
            return replace(known, stopped_by=stop_reason(stop), lower_bound=least[0])
        if known is not None and self.proof_time is not None and len(self.old) > STEPS_PER_SECOND * self.proof_time:
            return replace(known, stopped_by=StoppedBy.TIME, lower_bound=least[0])
        choice = make_reentry_choice(
            forbid_actions(plain, self.forbidden, self.not_first), self.old, self.weight, firsts
        )
        return self._search_all(choice, known, least[0])

    @property
    def _lost(self) -> int:
        return len(self.remaining) - len(self.old)

    def _rank_without_new(self, charge: Number, dropped: int) -> tuple[Number, int]:
        """Return the rank of a patch with this `charge` that drops so many of the fitting steps."""
        return exact_sum([charge, self.weight * self._lost]), self._lost + dropped

    def _try_shortcuts(self, points: ReentryPoints, plain: Problem) -> Iterator[Patch]:
        """Yield patches at the promising re-entry points."""
        best: tuple[Number, int] | None = None
        for place in points.list_promising():
            if best is not None and self._rank_without_new(points.charges[place], place) >= best:
                continue
            new = points.search_new_steps(place, plain, self.limits)
            if new is None:
                continue
            for steps, kept_from in points.vary_first_step(new, place):
                found = self._make_patch(steps, kept_from)
                best = _rank(found) if best is None else min(best, _rank(found))
                yield found

    def _search_all(self, choice: Choice, known: Patch | None, bound: Number) -> Patch:
        """Search all re-entries for a patch at least as good as the `known` one; `bound` is a lower bound."""
        limits = self.limits if known is None else self.limits.part(self.proof_time)
        try:
            chooser = Chooser(choice, limits)
            names = [] if known is None else self._name_actions(known)
            prices, start = Prices(cost=len(self.old) + 1), chooser.find_named_plan(names) if names else None
        except STOPS as stop:
            if known is None:
                return _no_patch(stop_reason(stop))
            return replace(known, stopped_by=stop_reason(stop), lower_bound=bound)
        found = chooser.search_best(prices, start)
        if found.plan is None:
            if known is None:
                return _no_patch(found.stopped_by, proved=found.proved)
            return replace(known, stopped_by=found.stopped_by, lower_bound=bound)
        best = self._make_patch(tuple([step for _, step in chooser.steps(found.plan)]), chooser.penalty(found.plan))
        if found.proved:
            return _mark_proved(best)
        best = best if known is None else min(known, best, key=_rank)
        searched = exact(Decimal(found.at_least // prices.cost) / chooser.task.resolution + self.weight * self._lost)
        return replace(best, stopped_by=found.stopped_by, lower_bound=max(bound, searched))

    def _name_actions(self, known: Patch) -> list[str | Step]:
        """Return the actions of the `known` patch in the choice of a re-entry."""
        assert known.steps is not None
        return [*known.steps[: known.new], *name_reentry_actions(known.dropped - self._lost, len(self.old))]

    def _compile(self, simulation: Simulation) -> tuple[Problem, list[Step]]:
        """Return the relevant problem in plain ADL, with irrelevant steps that may come first, and these steps."""
        relevant = remove_irrelevant_actions(self.problem, [step.action for step in self.old])
        firsts: list[Step] = []
        if self.not_first:
            firsts = find_irrelevant_firsts(simulation, relevant, self.forbidden | self.not_first, self.limits.check)
        domain = self.problem.domain
        names = {*relevant.domain.actions, *(step.action for step in firsts)}
        actions = {name: action for name, action in domain.actions.items() if name in names}
        return compile_away(replace(self.problem, domain=replace(domain, actions=actions)), Construct.CHANGES), firsts

    def _make_patch(self, steps: tuple[Step, ...], place: int) -> Patch:
        """Return the patch of these `steps`, validated, which keep the old steps from `place` on."""
        with Finishing():
            verdict = check_steps(self.problem, steps)
        if not verdict.valid:
            raise RuntimeError(f"internal error: a patch was found that does not work: {verdict.reason}")
        kept, dropped = len(self.old) - place, self._lost + place
        objective = exact_sum([verdict.cost, self.weight * dropped])
        new = len(steps) - kept
        return Patch(Status.SOLVED, StoppedBy.INCOMPLETE, steps, new, kept, dropped, verdict.cost, objective)


def _mark_proved(best: Patch) -> Patch:
    return replace(best, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED, lower_bound=best.objective)


def _rank(patch: Patch) -> tuple[Number, int]:
    assert patch.objective is not None
    return patch.objective, patch.dropped


def _no_patch(stopped_by: StoppedBy, *, proved: bool = False) -> Patch:
    if proved:
        return Patch(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason="no steps lead from this state to the goal")
    return Patch(Status.UNKNOWN, stopped_by, reason=f"no patch was found: {stopped_by.value}")
