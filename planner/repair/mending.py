"""Mends a plan for another state or from another planner: keeps as many of its steps as possible.

    stage 0 ── keep or skip step 0 ─→ stage 1 ── … ─→ stage n, and the goal

Special actions keep or skip each given step and lead to the next stage. New steps do not change the stage.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Mapping, Sequence

from planner.compilations.budgets import without_budgets
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.compilations.soft_goals import add_stages, as_pointer_move
from planner.lightweight import Final, dataclass, replace
from planner.limits import STOPS, Finishing, Limits, check_limits, stop_reason
from planner.model import Action, Atom, Number, Problem
from planner.model.constructs import CONSTRAINED, WISHES, Construct, has
from planner.model.problem import NumericMetric, is_numeric, is_temporal
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, Step, StoppedBy, exact_sum
from planner.problem_kinds import AnyProblem, classical_of, resolve_problem
from planner.repair.forbidden_steps import actions_of, forbid_actions
from planner.repair.numeric_mending import mend_numbers
from planner.repair.reentry_points import ReentryPoints
from planner.repair.repair_search import Choice, Chooser, add_spare_objects, describe_untried, instantiate, weaken_claim
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps

FIRST_SHARE: Final = 0.7
"""Share of the time in which kept steps and costs are optimised together; the rest is for the kept steps alone."""
UNLIMITED_SHARE: Final = 0.5
"""Share of the time for the plan without budgets and deadline."""
NO_WAY: Final = "no steps lead to the goal"
KEEP = "@keep-"
_SKIP = "@skip-"


def make_keep_choice(plain: Problem, fitting: Mapping[int, Step], number: int) -> Choice:
    """Return the choice to keep or skip each of `number` steps; only those in `fitting`, by place, can be kept.

    Kept steps cost nothing; a skipped step has a penalty of 1.
    """
    special: list[Action] = []
    steps: dict[str, tuple[Step, ...]] = {}
    for place in range(number):
        skip, keep = f"{_SKIP}{place}", f"{KEEP}{place}"
        special.append(as_pointer_move(Action(skip), skip, place, place + 1, 0))
        steps[skip] = ()
        if place in fitting:
            step = fitting[place]
            action = instantiate(plain.domain.actions[step.action], step)
            special.append(as_pointer_move(action, keep, place, place + 1, 0))
            steps[keep] = (step,)
    problem = add_stages(plain, special, plain.goal.hard, number, first_only=False)
    return Choice(problem, steps, {name: 1 for name, taken in steps.items() if not taken})


def name_keep_actions(fitting: Container[int], number: int) -> list[str]:
    """Return the names of the special actions that keep the steps at the places `fitting` and skip the others."""
    return [f"{KEEP if place in fitting else _SKIP}{place}" for place in range(number)]


@dataclass(frozen=True, slots=True)
class Mended:
    """The result of `mend`: a valid plan with as many steps of the given one as possible.

    `origins` has the place of each step in the given plan, from 0, None for a new step. `cost` is of all steps, `extra`
    of the new ones. `keeps_most` says that it is proved that no plan keeps more steps. `status` is OPTIMAL if, besides,
    none that keeps as many costs less `extra`; or is charged less, where `mend` says so. It is UNSOLVABLE if nothing
    reaches the goal; then, as with UNKNOWN and UNSUPPORTED, `steps` is None. `misfits` are places in the given plan
    whose step does not fit the problem, and why. `plan` has the steps with their times, their decomposition, and what
    they suppose and forgo.
    """

    status: Status
    stopped_by: StoppedBy
    given: tuple[Step, ...]
    steps: tuple[Step, ...] | None = None
    origins: tuple[int | None, ...] = ()
    cost: Number | None = None
    extra: Number | None = None
    misfits: tuple[tuple[int, str], ...] = ()
    reason: str = ""
    keeps_most: bool = False
    plan: Plan | None = None

    @property
    def kept(self) -> tuple[int, ...]:
        """The places of the kept steps in the given plan."""
        return tuple([place for place in self.origins if place is not None])

    @property
    def left_out(self) -> tuple[int, ...]:
        """The places of the skipped steps in the given plan."""
        kept = set(self.kept)
        return tuple([place for place in range(len(self.given)) if place not in kept])

    @property
    def inserted(self) -> tuple[int, ...]:
        """The places of the new steps in `steps`."""
        return tuple([place for place, origin in enumerate(self.origins) if origin is None])

    def __bool__(self) -> bool:
        raise TypeError("a Mended is neither true nor false; compare mended.status with `is`")


def mend(
    problem: AnyProblem,
    steps: Plan | Sequence[Step],
    *,
    forbidden: Iterable[Step] = (),
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Mended:
    """Return a plan for `problem` that keeps as many of `steps`, in their order, as any plan can.

    Of these plans, it is one whose new steps cost least. Steps like those of `forbidden` are neither kept nor inserted.
    A kept step has the same action and arguments; steps that do not fit the problem are skipped, with the reason.
    Limits are those of `planner.solve`.

    In time, under tasks, with unknown facts or with wishes, by a metric of numbers, and where the plan with the
    cheapest new steps breaks a budget or the deadline, it is the plan that is charged least of those that keep as many:
    for no steps at all, the best plan. In time, steps are in the order of their starts. What a kept step creates may
    have another name there.

    Raises `InputError` for invalid limits, and for undeclared names in the problem.
    """
    check_limits(time_limit, memory_limit)
    problem = resolve_problem(problem)
    given = steps.steps if isinstance(steps, Plan) else tuple(steps)
    banned, limits = actions_of(forbidden), Limits(time_limit, memory_limit, cancel)
    found = _mend(problem, given, banned, limits)
    return found if found.steps is not None else _ask_for_any_plan(problem, given, banned, limits, found)


def _mend(problem: AnyProblem, given: tuple[Step, ...], banned: frozenset[Atom], limits: Limits) -> Mended:
    """Mend by the search that suits the problem."""
    if not isinstance(problem, Problem) or is_temporal(problem) or has(problem, Construct.UNKNOWN, *WISHES):
        return _mend_marked(problem, given, banned, limits)
    if not problem.is_limited:
        is_priced = not isinstance(problem.metric, NumericMetric)
        found = _mend_in_stages(problem, given, banned, limits if is_priced else limits.share(FIRST_SHARE))
        return found if is_priced or found.steps is None else _lower_price(problem, found, banned, limits)
    free = replace(without_budgets(problem), deadline=None)
    found = _mend_in_stages(free, given, banned, limits.share(UNLIMITED_SHARE))
    if found.plan is not None and check_steps(problem, found.plan.steps).valid:
        return replace(found, plan=replace(found.plan, problem=problem))
    return found if found.status is Status.UNSOLVABLE else _mend_marked(problem, given, banned, limits)


def _lower_price(problem: Problem, known: Mended, banned: frozenset[Atom], limits: Limits) -> Mended:
    """Return the plan that is charged least of those that keep as many steps as `known` does.

    By a metric of numbers, new steps may gain as well as cost.
    """
    found = _mend_marked(problem, known.given, banned, limits)
    if known.plan is None or found.plan is None or len(found.kept) < len(known.kept):
        return known
    if len(found.kept) == len(known.kept) and known.plan.charge < found.plan.charge:
        found = replace(known, stopped_by=found.stopped_by, reason=found.reason)
    keeps_most = found.keeps_most or (known.keeps_most and len(found.kept) == len(known.kept))
    is_named = keeps_most and not found.keeps_most
    reason = f"another plan that keeps as many may cost less: {found.stopped_by.value}" if is_named else found.reason
    return replace(found, keeps_most=keeps_most, reason=reason)


def _ask_for_any_plan(
    problem: AnyProblem, given: tuple[Step, ...], banned: frozenset[Atom], limits: Limits, known: Mended
) -> Mended:
    """Return `known`, which has no plan, with the proof of `solve` that there is none; mend again if it finds one.

    So objects that actions create without end, other outcomes and what may be found out are looked at as in `solve`.
    """
    from planner.compilations.unlisted_objects import qualify_by_findings
    from planner.repair.keeping_steps import TRY_SECONDS, forbid_steps
    from planner.solve import answer

    classical, left = classical_of(problem), limits.part(TRY_SECONDS if limits.time_limit is None else None)
    is_over = known.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY) or left.remaining == 0
    if known.status is Status.UNSOLVABLE:
        found = Result(known.status, known.stopped_by, reason=known.reason)
    elif known.status is Status.UNKNOWN and not is_over:
        found = answer(forbid_steps(problem, banned), SolveOptions().within(left))
    else:
        return known
    found = qualify_by_findings(classical, found)
    if found.plan is not None and limits.remaining != 0:
        mended = _mend_marked(problem, given, banned, limits)
        return known if mended.steps is None else mended
    if found.status not in (Status.UNSOLVABLE, Status.UNKNOWN):
        return known
    reason = found.reason or (NO_WAY if found.status is Status.UNSOLVABLE else known.reason)
    return replace(known, status=found.status, stopped_by=found.stopped_by, reason=reason)


def _mend_marked(problem: AnyProblem, given: tuple[Step, ...], banned: frozenset[Atom], limits: Limits) -> Mended:
    """Mend a problem of any kind by plans of `solve` that mark the steps that they keep."""
    from planner.repair.keeping_steps import KeepingSearch, find_misfits, forbid_steps, make_patterns

    classical = classical_of(problem)
    wrong = find_misfits(classical, given)
    places = [place for place, step in enumerate(given) if place not in wrong and actions_of([step]).isdisjoint(banned)]
    patterns = make_patterns(classical, [given[place] for place in places])
    found = KeepingSearch(problem, forbid_steps(problem, banned), patterns, limits).run()
    misfits, plan = tuple(wrong.items()), found.plan
    if plan is None:
        return Mended(found.status, found.stopped_by, given, misfits=misfits, reason=found.reason)
    origins = tuple([None if each is None else places[each] for each in found.origins])
    extra = exact_sum([step.cost for step, origin in zip(plan.steps, origins, strict=True) if origin is None])
    said = (misfits, found.reason, found.keeps_most, plan)
    mended = Mended(found.status, found.stopped_by, given, plan.steps, origins, plan.cost, extra, *said)
    return _weaken(classical, mended)


def _mend_in_stages(problem: Problem, given: tuple[Step, ...], banned: frozenset[Atom], limits: Limits) -> Mended:
    """Mend a sequential problem without limits by one search over the stages of the given plan."""
    whole = compile_away(add_spare_objects(problem, given), *CONSTRAINED)
    rules = Simulation(whole).rules
    wrong = {place: misfit for place, step in enumerate(given) if (misfit := rules.misfit(step))}
    fitting = {place: step for place, step in enumerate(given) if place not in wrong}
    relevant = remove_irrelevant_actions(whole, [step.action for step in fitting.values()])
    plain = forbid_actions(compile_away(relevant, Construct.CHANGES), banned, frozenset())
    usable = {place: step for place, step in fitting.items() if actions_of([step]).isdisjoint(banned)}
    misfits = tuple(wrong.items())
    if is_numeric(whole):
        choice = make_keep_choice(plain, usable, len(given))
        known = Mended(Status.UNKNOWN, StoppedBy.EXHAUSTED, given, misfits=misfits)
        return _weaken(problem, mend_numbers(whole, choice, known, usable, limits))
    try:
        start = _find_start(whole, plain, usable, len(given), limits)
        chooser = Chooser(make_keep_choice(plain, usable, len(given)), limits)
    except STOPS as stop:
        return Mended(
            Status.UNKNOWN, stop_reason(stop), given, misfits=misfits, reason=_describe_no_plan(stop_reason(stop))
        )
    named = None if start is None else chooser.find_named_plan(start)
    return _weaken(problem, _search_mended(whole, given, chooser, named, misfits))


def _weaken(problem: Problem, found: Mended) -> Mended:
    """Return `found` with its plan, and with what can be claimed where objects may be created without end."""
    if found.steps is not None and found.plan is None:
        found = replace(found, plan=Plan(found.steps, problem))
    status = weaken_claim(problem, found.status)
    if status is found.status:
        return found
    return replace(found, status=status, reason=describe_untried(problem), keeps_most=False)


def _find_start(
    problem: Problem, plain: Problem, usable: Mapping[int, Step], number: int, limits: Limits
) -> list[str | Step] | None:
    """Return new steps and then the actions that keep all `usable` steps, by place; None if none are found soon."""
    points = ReentryPoints.of(Simulation(problem), tuple(usable.values()), 0, ())
    new = points.search_new_steps(0, plain, limits) if points.missing and not points.first else None
    return None if new is None else [*new, *name_keep_actions(usable, number)]


def _search_mended(
    problem: Problem,
    given: tuple[Step, ...],
    chooser: Chooser,
    start: list[int] | None,
    misfits: tuple[tuple[int, str], ...],
) -> Mended:
    found = chooser.search_fewest_penalties(start, FIRST_SHARE)
    if found.plan is None:
        status = Status.UNSOLVABLE if found.proved else Status.UNKNOWN
        reason = NO_WAY if found.proved else _describe_no_plan(found.stopped_by)
        return Mended(status, found.stopped_by, given, misfits=misfits, reason=reason)
    with Finishing():
        taken, simulation = chooser.steps(found.plan), Simulation(problem)
        steps = tuple([Step(step.action, step.arguments, simulation.cost(step)) for _, step in taken])
        verdict = check_steps(problem, steps)
    if not verdict.valid:
        raise RuntimeError(f"internal error: a plan was mended and does not work: {verdict.reason}")
    origins = tuple([origin_of(name) for name, _ in taken])
    extra = exact_sum([step.cost for step, origin in zip(steps, origins, strict=True) if origin is None])
    status, reason, keeps_most = Status.OPTIMAL, "", True
    if not found.proved:
        keeps_most = chooser.has_fewest_penalties(found.plan, lambda names: _count_lost(names, len(given)))
        what = "the new steps may cost less" if keeps_most else "another plan may keep more"
        status, reason = Status.SOLVED, f"{what}: {found.stopped_by.value}"
    return Mended(status, found.stopped_by, given, steps, origins, verdict.cost, extra, misfits, reason, keeps_most)


def _count_lost(names: Iterable[str], number: int) -> int:
    """Return how many of the `number` given steps no plan keeps, if these special actions are all that are left."""
    return number - len({name for name in names if name.startswith(KEEP)})


def origin_of(name: str) -> int | None:
    """Return the place of the given step that the special action `name` keeps; None for a new step."""
    return int(name.removeprefix(KEEP)) if name.startswith(KEEP) else None


def _describe_no_plan(stop: StoppedBy) -> str:
    return f"no plan was found: {stop.value}"
