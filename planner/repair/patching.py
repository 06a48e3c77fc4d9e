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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal

from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.compilations.soft_goals import add_stages, as_pointer_move
from planner.errors import InputError, PlanError, UnsupportedError
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import STOPS, Finishing, Limits, check_limits, stop_reason
from planner.model import Action, Atom, Formula, Number, Problem
from planner.model.constructs import CONSTRAINED, WISHES, Construct, has
from planner.model.formulas import atoms_in, exact_decimal
from planner.model.problem import NumericMetric, is_numeric, is_temporal, seal
from planner.plan import Plan, Status, Step, StoppedBy, Supposition, exact, exact_sum, unsupported_result
from planner.problem_kinds import AnyProblem, classical_of, resolve_problem
from planner.repair import repair_search
from planner.repair.forbidden_steps import actions_of, forbid_actions
from planner.repair.patch_reductions import (
    apply_to_known,
    patch_with_numbers,
    patch_with_suppositions,
    patch_within_limits,
    rank,
)
from planner.repair.reentry_points import ReentryPoints, charge_places
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


STEPS_PER_SECOND: Final = 2000
"""Number of old steps that are prepared in a second for the search of all re-entries."""


@dataclass(frozen=True, slots=True)
class Patch:
    """The result of `patch`: `new` steps, then the last `kept` steps of the old plan, unchanged.

    `status` is OPTIMAL if the objective is proved to be the least, and UNSOLVABLE if nothing reaches the goal; then, as
    with UNKNOWN and UNSUPPORTED, `steps` is None. `objective` is `cost` plus the weight of the `dropped` steps; no
    patch has one below `lower_bound`. With unknown facts, the steps, numbered from 1, rest on `suppositions`. `plan`
    has the steps with their times, their decomposition, and what they forgo.
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
    plan: Plan | None = None

    @property
    def has_plan(self) -> bool:
        """Whether there is a patch, perhaps without steps."""
        return self.steps is not None

    def __bool__(self) -> bool:
        raise TypeError("a Patch is neither true nor false; ask patch.has_plan, or compare patch.status with `is`")


def patch(
    problem: AnyProblem,
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

    In time, under tasks or with wishes, the patch is a plan of `solve`: what it is charged takes the place of the cost,
    steps are in the order of their starts, and of patches with the same objective, any may be returned. Of a problem
    with tasks, the network is what is still to be done (see `htn.repair.remaining_problem`), `fixed` steps included:
    they are the first steps of `plan`, whose decomposition needs them, and must be applicable.

    Raises `InputError` for an invalid weight or limit, `PlanError` for fixed steps that do not fit the problem.
    """
    check_limits(time_limit, memory_limit)
    check_limits(proof_time, None)
    weight = _read_weight(weight)
    problem = resolve_problem(problem)
    forbidden, not_first, limits = tuple(forbidden), tuple(not_first), Limits(time_limit, memory_limit, cancel)
    options: dict[str, Any] = {"weight": weight, "fixed": fixed, "proof_time": proof_time}
    options |= {"forbidden": forbidden, "not_first": not_first}
    try:
        if not isinstance(problem, Problem) or is_temporal(problem) or has(problem, *WISHES):
            return _patch_by_solving(problem, remaining, limits, options)
        found = _patch_kind(problem, remaining, limits, options)
    except STOPS as stop:
        return _no_patch(stop_reason(stop))
    if found.steps is None:
        return found
    return replace(found, plan=Plan(found.steps, problem, suppositions=found.suppositions))


def _patch_by_solving(problem: AnyProblem, remaining: Sequence[Step], limits: Limits, options: dict[str, Any]) -> Patch:
    """Patch a problem of any kind by plans of `solve`."""
    from planner.repair.solved_patches import patch_by_solving, patch_running_tasks, start_after

    bans = {name: actions_of(options[name]) for name in ("forbidden", "not_first")}
    try:
        if options["fixed"] and not isinstance(problem, Problem):
            found = patch_running_tasks(problem, options["fixed"], remaining, limits, weight=options["weight"], **bans)
            return _weaken(problem.classical, found)
        now = start_after(problem, options["fixed"], remaining, _apply_known)
    except UnsupportedError as error:
        refused = unsupported_result(error.construct, error.hint)
        return Patch(refused.status, refused.stopped_by, reason=refused.reason)
    found = patch_by_solving(now, remaining, limits, weight=options["weight"], **bans)
    return _weaken(classical_of(problem), found)


def _apply_known(problem: Problem, steps: Sequence[Step]) -> Problem:
    """Return `problem`, whose facts may be unknown, after the effects of `steps`; raises as `apply_steps` does."""
    return apply_to_known(problem, steps) if has(problem, Construct.UNKNOWN) else apply_steps(problem, steps)


def _patch_kind(problem: Problem, remaining: Sequence[Step], limits: Limits, options: dict[str, Any]) -> Patch:
    """Patch as the kind of `problem` asks for; raises `LimitReached` if there is no patch yet."""
    fixed, weight = options["fixed"], options["weight"]
    if has(problem, Construct.UNKNOWN):
        expanded = repair_search.add_spare_objects(problem, (*fixed, *remaining))
        return patch_with_suppositions(expanded, remaining, _patch_again, limits, **options)
    if problem.is_limited:
        options |= {"memory_limit": limits.memory_limit, "cancel": limits.cancel}
        found = patch_within_limits(problem, remaining, _patch_again, apply_steps, limits, **options)
        return _weaken(problem, found)
    banned, not_first = actions_of(options["forbidden"]), actions_of(options["not_first"])
    now = apply_steps(compile_away(repair_search.add_spare_objects(problem, (*fixed, *remaining)), *CONSTRAINED), fixed)
    old = _find_fitting_suffix(now, remaining, banned)
    patching = _Patching(now, remaining, old, weight, banned, not_first, limits, options["proof_time"])
    found = patching.search_with_numbers() if is_numeric(now) else patching.search()
    return _weaken(problem, found)


def _weaken(problem: Problem, found: Patch) -> Patch:
    """Return `found` with what can be claimed where objects may be created without end."""
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
                known = found if known is None else min(known, found, key=rank)
                if rank(known) == least or (self.proof_time is not None and known.objective == least[0]):
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
                best = rank(found) if best is None else min(best, rank(found))
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
        best = best if known is None else min(known, best, key=rank)
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


def _no_patch(stopped_by: StoppedBy, *, proved: bool = False) -> Patch:
    if proved:
        return Patch(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason="no steps lead from this state to the goal")
    return Patch(Status.UNKNOWN, stopped_by, reason=f"no patch was found: {stopped_by.value}")
