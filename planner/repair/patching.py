"""Patching: the cheapest way back into a plan that does not work as it stands.

    stage 0 ── new steps ──┬─ enter at i ─→ stage i+1 ── step i+1 ─→ … ─→ stage n, and the goal
                           └─ drop all ───────────────────────────────→ stage n, and the goal

Each old step is an action of its own with its declared condition and effects, so that conditional effects, axioms and
staleness are what they are anywhere else. Before that search, patching tries shortcuts: points where the plan goes on
at once, or where few facts are missing.

Relevance makes a plan cheaper, except for a step that keeps another one from being the first: of such steps that change
the same facts that anything reads, the cheapest will do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from heapq import nsmallest

from planner.compilations.adl import compile_adl
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.soft_goals import add_stages, as_pointer_move
from planner.compilations.trajectory_constraints import compile_constraints
from planner.errors import InputError, PlanError
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import Finishing, LimitReached, Limits, check_limits
from planner.model import Action, Atom, Formula, Goal, Number, Problem
from planner.model.formulas import atoms_in, exact_decimal
from planner.model.problem import seal
from planner.plan import Status, Step, StoppedBy, Supposition, exact, exact_sum
from planner.portfolio.incumbent import refuse_constructs
from planner.problem_kinds import resolve_classical
from planner.repair.forbidden_steps import actions_of, barred
from planner.repair.regression import Unclear, needed, regressed
from planner.repair.repair_search import (
    STOPS,
    Choice,
    Chooser,
    Prices,
    claimed,
    instance,
    stopped_by,
    untried,
    with_spare,
)
from planner.repair.resource_limits import patch_within
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps


def reentry(plain: Problem, old: Sequence[Step], weight: Number, firsts: Sequence[Step] = ()) -> Choice:
    """Return the choice of a re-entry into the steps `old`, which have their costs, or behind the last of them.

    The action that enters costs `weight` for each step that is dropped, beside its own cost; a penalty is how many
    these are. Of the actions of `firsts`, only these steps are there.
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


def entering(place: int, number: int) -> list[str]:
    """Return the names of the special actions that enter at `place`, of so many steps, without anything new."""
    if place == number:
        return ["@drop"]
    return [f"@enter-{place}", *(f"@step-{later}" for later in range(place + 1, number))]


def _instance(plain: Problem, step: Step) -> Action:
    return instance(plain.domain.actions[step.action], step)


def irrelevant_firsts(
    simulation: Simulation, relevant: Problem, banned: Collection[Atom], check: Callable[[], None]
) -> list[Step]:
    """Return steps that can be taken now, of actions that `relevant` does not have, none of them `banned`.

    `check` is called now and then.
    """
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


MOST_TRIED: Final = 3
"""So many places are tried beside the nearest one, those that seem to be cheapest."""
SECONDS: Final = 2.0
"""So long each of them may take where there is no limit; else a quarter of what is left."""

MOST_MOVED: Final = 5
"""So many other steps are tried as the first one."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What each place in the steps `old` asks for.

    `missing` are the places from which the rest leads to the goal, ascending, each with the number of facts that are
    not as it needs; None where that is not clear. `charges` are, for each place, what the rest costs with the weight of
    what is dropped. A step of `not_first` may not come first.
    """

    now: Simulation
    old: tuple[Step, ...]
    missing: Mapping[int, int] | None
    charges: Sequence[Number]
    not_first: Collection[Atom]

    @classmethod
    def of(cls, now: Simulation, old: tuple[Step, ...], weight: Number, not_first: Collection[Atom]) -> Ways:
        """Return the ways from `now` into `old`."""
        left = [exact_sum([step.cost for step in old])]
        for step in old:
            left.append(left[-1] - step.cost)
        charges = [cost + weight * place for place, cost in enumerate(left)]
        try:
            found = [(place, len(needs.unmet)) for place, needs in regressed(now, old, now.problem.goal.hard)]
        except Unclear:
            return cls(now, old, None, charges, not_first)
        return cls(now, old, dict(reversed(found)), charges, not_first)

    @property
    def first(self) -> int:
        """The first place at which a plan can go on, if any state is to be reached for that."""
        return 0 if self.missing is None else min(self.missing, default=len(self.old))

    def _is_barred(self, steps: Sequence[Step]) -> bool:
        """Return whether a plan that begins with `steps` begins with one that may not come first."""
        return bool(steps) and Atom(steps[0].action, steps[0].arguments) in self.not_first

    def direct(self, check: Callable[[], None]) -> int | None:
        """Return the best place at which the old steps go on without any new one; None where there is none."""
        every = range(len(self.old) + 1)
        places = every if self.missing is None else [place for place in every if self.missing.get(place) == 0]
        for place in sorted(places, key=lambda place: (self.charges[place], place)):
            check()
            rest = self.old[place:]
            if not self._is_barred(rest[:1]) and (self.missing is not None or self._works(rest)):
                return place
        return None

    def _works(self, steps: Sequence[Step]) -> bool:
        """Return whether `steps` lead to the goal, by going through them."""
        if steps and self.now.objection(steps[0]) is not None:
            return False
        trial = self.now.copy()
        for step in steps:
            if trial.objection(step) is not None:
                return False
            trial.apply(step)
        return trial.holds(trial.problem.goal.hard)

    def promising(self) -> list[int]:
        """Return places that seem to need little: the first of those where least is missing, and then the cheapest.

        A missing fact is taken to cost a usual step.
        """
        found = self.missing
        if not found:
            return []
        usual = max(float(self.charges[0]) / max(len(self.old), 1), 1.0)
        nearest = min(found, key=lambda place: (found[place], place))
        cheapest = nsmallest(MOST_TRIED, found, key=lambda place: float(self.charges[place]) + usual * found[place])
        return list(dict.fromkeys([nearest, *cheapest]))

    def reached(self, place: int, plain: Problem, limits: Limits) -> list[Step] | None:
        """Return steps of `plain` after which the plan goes on at `place`; None where none are found soon."""
        goal = Goal(needed(self.now, self.old[place:], self.now.problem.goal.hard))
        left = limits.remaining
        try:
            chooser = Chooser(Choice(replace(plain, goal=goal), {}), limits.part(SECONDS if left is None else left / 4))
        except LimitReached:
            limits.check()
            return None
        found = chooser.best(Prices())
        return None if found.plan is None else [step for _, step in chooser.steps(found.plan)]

    def begun(self, new: Sequence[Step], place: int) -> Iterator[tuple[tuple[Step, ...], int]]:
        """Yield plans that take the steps `new` and go on at `place`, each with the place from which all is kept.

        If what would come first may not, a later step does.
        """
        steps = (*new, *self.old[place:])
        if not self._is_barred(steps):
            yield steps, place
            return
        for number in range(1, min(len(steps), MOST_MOVED)):
            moved = (steps[number], *steps[:number], *steps[number + 1 :])
            if not self._is_barred(moved) and self._works(moved):
                yield moved, max(place, place + number + 1 - len(new))


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
        from planner.repair.assumptions import patch_supposing

        asked: dict[str, Any] = {"weight": weight, "fixed": fixed, "proof_time": proof_time}
        asked |= {"forbidden": tuple(forbidden), "not_first": tuple(not_first)}
        expanded, limits = with_spare(problem, (*fixed, *remaining)), Limits(time_limit, memory_limit, cancel)
        return patch_supposing(expanded, remaining, _patch_again, limits, **asked)
    refused = refuse_constructs(problem, takes=("budgets", "deadlines"))
    if refused is not None:
        return Patch(refused.status, refused.stopped_by, reason=refused.reason)
    limits, banned = Limits(time_limit, memory_limit, cancel), actions_of(forbidden)
    if problem.is_limited:
        options: dict[str, Any] = {"forbidden": tuple(forbidden), "not_first": tuple(not_first)}
        options |= {"proof_time": proof_time, "memory_limit": memory_limit, "cancel": cancel}
        return patch_within(problem, remaining, _patch_again, after, limits, weight=weight, fixed=fixed, **options)
    now = after(compile_constraints(with_spare(problem, (*fixed, *remaining))).problem, fixed)
    old = _fitting(now, remaining, banned)
    patching = _Patching(now, remaining, old, weight, banned, actions_of(not_first), limits, proof_time)
    try:
        found = patching.result()
    except STOPS as stop:
        return _nothing(stopped_by(stop))
    status = claimed(problem, found.status)
    return found if status is found.status else _without_proof(found, status, untried(problem))


def _patch_again(problem: Problem, remaining: Sequence[Step], **options: Any) -> Patch:
    """Return a patch for a problem that was made of another one, whose names were looked up."""
    return patch(seal(problem), remaining, **options)


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
    limits: Limits
    proof_time: float | None

    def result(self) -> Patch:
        """Return the best patch; raises `LimitReached` before there is any."""
        simulation = Simulation(self.problem)
        ways = Ways.of(simulation, self.old, self.weight, self.not_first)
        place = ways.direct(self.limits.check)
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
        whole = Chooser(Choice(barred(plain, self.forbidden, self.not_first), {}), self.limits)
        if whole.task.unreachable_goal is not None:
            return _nothing(StoppedBy.EXHAUSTED, proved=True)
        cost = exact(Decimal(whole.least_cost()) / whole.task.resolution)
        least = self._at_best(exact_sum([cost, self.weight * ways.first]), ways.first)
        try:
            for found in self._near(ways, barred(plain, self.forbidden, ())):
                known = found if known is None else min(known, found, key=_rank)
                if _rank(known) == least or (self.proof_time is not None and known.objective == least[0]):
                    return _proved(known)
            self.limits.check()
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
            new = ways.reached(place, plain, self.limits)
            if new is None:
                continue
            for steps, kept_from in ways.begun(new, place):
                found = self._patched(steps, kept_from)
                best = _rank(found) if best is None else min(best, _rank(found))
                yield found

    def _searched(self, choice: Choice, known: Patch | None, bound: Number) -> Patch:
        """Return the best patch, which is at least as good as what is `known`; none is below `bound`."""
        limits = self.limits if known is None else self.limits.part(self.proof_time)
        try:
            chooser = Chooser(choice, limits)
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
        assert known.steps is not None
        return [*known.steps[: known.new], *entering(known.dropped - self._lost, len(self.old))]

    def _plain(self, simulation: Simulation) -> tuple[Problem, list[Step]]:
        """Return the problem in plain ADL, in which nothing irrelevant is left, and irrelevant steps to begin with."""
        relevant = remove_irrelevant_actions(self.problem, [step.action for step in self.old])
        firsts: list[Step] = []
        if self.not_first:
            firsts = irrelevant_firsts(simulation, relevant, self.forbidden | self.not_first, self.limits.check)
        domain = self.problem.domain
        names = {*relevant.domain.actions, *(step.action for step in firsts)}
        actions = {name: action for name, action in domain.actions.items() if name in names}
        return compile_adl(replace(self.problem, domain=replace(domain, actions=actions))).problem, firsts

    def _patched(self, steps: tuple[Step, ...], place: int) -> Patch:
        """Return the patch with these `steps`, checked, which keep the old ones from `place` on."""
        with Finishing():
            verdict = check_steps(self.problem, steps)
        if not verdict.valid:
            raise RuntimeError(f"internal error: a patch was found that does not work: {verdict.reason}")
        kept, dropped = len(self.old) - place, self._lost + place
        objective = exact_sum([verdict.cost, self.weight * dropped])
        new = len(steps) - kept
        return Patch(Status.SOLVED, StoppedBy.INCOMPLETE, steps, new, kept, dropped, verdict.cost, objective)


def _proved(best: Patch) -> Patch:
    return replace(best, status=Status.OPTIMAL, stopped_by=StoppedBy.EXHAUSTED, lower_bound=best.objective)


def _rank(patch: Patch) -> tuple[Number, int]:
    assert patch.objective is not None
    return patch.objective, patch.dropped


def _nothing(stopped_by: StoppedBy, *, proved: bool = False) -> Patch:
    if proved:
        return Patch(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason="no steps lead from this state to the goal")
    return Patch(Status.UNKNOWN, stopped_by, reason=f"no patch was found: {stopped_by.value}")
