"""Mends a plan for another state or from another planner: keeps as many of its steps as possible.

    stage 0 ── keep or skip step 0 ─→ stage 1 ── … ─→ stage n, and the goal

Special actions keep or skip each given step and lead to the next stage. New steps do not change the stage.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Mapping, Sequence

from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.compilations.soft_goals import add_stages, as_pointer_move
from planner.lightweight import Final, dataclass, replace
from planner.limits import STOPS, Finishing, Limits, check_limits, stop_reason
from planner.model import Action, Number, Problem
from planner.model.constructs import CONSTRAINED, Construct, Service
from planner.model.problem import is_numeric
from planner.plan import Plan, Status, Step, StoppedBy, exact_sum
from planner.portfolio.incumbent import refuse_constructs
from planner.problem_kinds import resolve_classical
from planner.repair.forbidden_steps import actions_of, forbid_actions
from planner.repair.numeric_mending import mend_numbers
from planner.repair.patching import ReentryPoints
from planner.repair.repair_search import Choice, Chooser, add_spare_objects, describe_untried, instantiate, weaken_claim
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps

FIRST_SHARE: Final = 0.7
"""Share of the time in which kept steps and costs are optimised together; the rest is for the kept steps alone."""
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
    none that keeps as many costs less `extra`. It is UNSOLVABLE if nothing reaches the goal; then, as with UNKNOWN and
    UNSUPPORTED, `steps` is None. `misfits` are places in the given plan whose step does not fit the problem, and why.
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
    problem: Problem,
    steps: Plan | Sequence[Step],
    *,
    forbidden: Iterable[Step] = (),
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Mended:
    """Return a plan for `problem` that keeps as many of `steps`, in their order, as any plan can.

    Of these plans, it is one whose new steps cost least. Steps like those of `forbidden` are neither kept nor inserted.
    A kept step has the same action and arguments; steps that do not fit the problem are skipped, with the reason. If
    the plan breaks a budget or the deadline, the status is UNKNOWN, as another plan might keep them. Limits are those
    of `planner.solve`. Raises `InputError` for invalid limits, and for undeclared names in the problem.
    """
    check_limits(time_limit, memory_limit)
    problem = resolve_classical(problem, "mend", "solve(problem) finds a plan for it")
    given = steps.steps if isinstance(steps, Plan) else tuple(steps)
    if problem.is_limited:
        free = replace(problem, budgets={}, deadline=None)
        found = mend(free, given, forbidden=forbidden, time_limit=time_limit, memory_limit=memory_limit, cancel=cancel)
        return _check_limits(problem, found)
    refused = refuse_constructs(problem, Service.MENDING)
    if refused is not None:
        return Mended(refused.status, refused.stopped_by, given, reason=refused.reason)
    whole = compile_away(add_spare_objects(problem, given), *CONSTRAINED)
    rules = Simulation(whole).rules
    wrong = {place: misfit for place, step in enumerate(given) if (misfit := rules.misfit(step))}
    fitting = {place: step for place, step in enumerate(given) if place not in wrong}
    banned, limits = actions_of(forbidden), Limits(time_limit, memory_limit, cancel)
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
    """Return `found` with what can be claimed where objects may be created without end."""
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
        reason = "no steps lead to the goal" if found.proved else _describe_no_plan(found.stopped_by)
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


def _check_limits(problem: Problem, found: Mended) -> Mended:
    """Return what was `found` without the limits of `problem` if it keeps them, else UNKNOWN."""
    if found.steps is None:
        return found
    verdict = check_steps(problem, found.steps)
    if verdict.valid:
        return found
    reason = f"of the plans that keep the most steps, one was tried: {verdict.reason}"
    return Mended(Status.UNKNOWN, StoppedBy.INCOMPLETE, found.given, misfits=found.misfits, reason=reason)
