"""Prepare a run: check a given plan or search for one, and add its alternatives."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Final

from executor.background_searches import describe_tries
from executor.learning.experience import Pricing
from executor.plans.action_plan import ActionPlan, statement_of, texts_of
from executor.plans.execution_models import is_candidate_set, is_decision, is_policy
from executor.plans.steps_in_turn import take_in_turn
from executor.recovery.hierarchy import check_tasks
from executor.tools.world import World
from planner.compilations.object_creation import for_steps
from planner.compilations.unlisted_objects import aims_at_finding, plan_to_find
from planner.errors import InputError, NoPlan, PlanError, did_you_mean, kind_of
from planner.lightweight import dataclass, replace
from planner.limits import LimitReached
from planner.model import Atom, Problem, SoftGoal
from planner.model.problem import seal, seal_like
from planner.plan import Plan, Result, Status, Step, StoppedBy
from planner.problem_kinds import classical_of, is_other_problem, resolve_problem
from planner.repair.forbidden_steps import disable_actions, forbid_actions
from planner.semantics.simulation import Rules


def alternatives_of(given: Any, problem: Problem) -> tuple[tuple[str, ...], ...]:
    """Convert other plans for `problem`, a `CandidateSet` or an iterable, to texts.

    Raises `InputError` for values that are no plans, and `PlanError` for steps that do not fit the problem.
    """
    plans = given.plans if is_candidate_set(given) else given
    if isinstance(plans, str | Plan | Result | ActionPlan) or not isinstance(plans, Iterable):
        raise InputError(f"alternatives are several plans, not {given!r:.80}", hint="such as k_best(problem, 5)")
    rules = Rules(take_in_turn(replace(problem, unknown=())))
    return tuple([_step_texts(each, number, rules) for number, each in enumerate(plans, 1)])


def _step_texts(given: Any, number: int, rules: Rules) -> tuple[str, ...]:
    plan = given.expect_plan() if isinstance(given, Result) else given
    if isinstance(plan, ActionPlan):
        steps: Iterable[Step] = [each.step(rules.problem.domain) for each in plan.steps]
    elif isinstance(plan, Plan):
        steps = plan.steps
    else:
        raise InputError(f"alternative {number} is no plan: {given!r:.80}", hint="solve(…) and k_best(…) give plans")
    for step in steps:
        misfit = rules.misfit(step)
        if misfit:
            raise PlanError(f"alternative {number}: {step} does not fit the problem: {misfit}")
    return texts_of([steps])[0]


FOLLOWED: Final = "policy"
"""The execution model of plans that follow a policy."""
SECONDS: Final = 10.0
"""Default time limit of the search for a plan, in seconds: that of `solve` and `decide`."""
MORE_SECONDS: Final = 40.0
"""Time limit of the second search, where the first one found no plan in its default time limit, in seconds."""


@dataclass(frozen=True, slots=True)
class PreparedPlan:
    """A plan to carry out, its problem, and the soft goals that it gives up."""

    plan: ActionPlan
    problem: Problem
    dropped: tuple[SoftGoal, ...] = ()


def prepare_given(
    world: World,
    what: Any,
    planning: Mapping[str, Any],
    memory: Collection[str] = (),
    entities: Mapping[str, object] | None = None,
    *,
    model: str | None = None,
    fills: bool = False,
) -> PreparedPlan | None:
    """Prepare `what` to be carried out; return None for a problem, for which the caller has to search a plan.

    `planning` are options of `solve`, or those of `decide` where `model` is "policy"; `memory` names the data
    parameters that working memory has, and `fills` says whether open parameters are filled during the run. `entities`
    are the Python values of the objects of an `ActionPlan`; problems have their own. Raises `NoPlan` for a result
    without a plan, `PlanError` with all mistakes in a plan, and `InputError` for other values and for unknown options.
    """
    if entities is not None and not isinstance(what, ActionPlan):
        raise InputError("entities go with plans as data: all else has its objects", hint="leave them out")
    if isinstance(what, PreparedPlan):
        _check_means(world, what, memory, fills=fills)
        return what
    if isinstance(what, Problem) or is_other_problem(what):
        _check_options(planning, model)
        _check_versions(world, resolve_problem(what))
        return None
    if isinstance(what, Result):
        what = what.expect_plan()
    if not (isinstance(what, Plan | ActionPlan) or is_candidate_set(what) or is_policy(what) or is_decision(what)):
        hint = "load(…) and domain.problem(…) give a problem, solve(…) and read_plan(…) a plan"
        raise InputError(f"{kind_of(what)} is nothing to carry out", hint=hint)
    if planning:
        hint = "they say how a plan is found, and go with problems"
        raise InputError(f"there is a plan already, so that {', '.join(planning)} would say nothing", hint=hint)
    if isinstance(what, ActionPlan):
        _check_action_plan(world, what, memory, fills=fills)
        problem = what.problem(world.model, entities)
        check_tasks(what, problem, world.hierarchy)
        return _forgo(PreparedPlan(what, problem))
    what, source = _resolve(what)
    planned = PreparedPlan(ActionPlan.of(what), classical_of(source))
    _check_versions(world, planned.problem)
    _check_means(world, planned, memory, fills=fills)
    return _forgo(planned)


def _forgo(made: PreparedPlan) -> PreparedPlan:
    """Return `made` without the soft goals that its steps, at their times, do not reach: nothing is planned anew."""
    if not made.problem.goal.soft:
        return made
    from executor.dispatching.build_network import find_forgone

    return replace(made, dropped=find_forgone(made.problem, made.plan))


def _resolve(what: Any) -> tuple[Any, Any]:
    """Resolve all names in a plan, policy, decision or set of candidates; return it and its problem.

    Raises `InputError` for an invalid problem, and `PlanError` for a step that does not fit the problem.
    """
    if is_decision(what):
        policy, source = _resolve(what.expect_policy())
        return replace(what, policy=policy), source
    if is_candidate_set(what):
        plans = [_resolve(each)[0] for each in what.plans]
        return replace(what, plans=tuple(plans)), plans[0].problem
    source = resolve_problem(what.problem)
    what = what if source is what.problem else replace(what, problem=source)
    if isinstance(what, Plan):
        rules = Rules(take_in_turn(for_steps(replace(classical_of(source), unknown=()), what.steps)))
        for number, step in enumerate(what.steps, 1):
            misfit = rules.misfit(step)
            if misfit:
                raise PlanError(f"step {number} {step}: {misfit}")
    return what, source


def add_alternatives(made: PreparedPlan, alternatives: Any) -> PreparedPlan:
    """Add `alternatives`, other plans for the same problem, and the plan itself to the alternatives of the plan.

    Raises `InputError` for values that are no plans, and `PlanError` for plans that do not fit the problem.
    """
    others = alternatives_of(alternatives, made.problem) or made.plan.alternatives
    if not others:
        return made
    own = texts_of([[each.step(made.problem.domain) for each in made.plan.steps]])
    plan = made.plan.model_copy(update={"alternatives": tuple(dict.fromkeys([*own, *others]))})
    return replace(made, plan=plan)


def search_plan(
    world: World,
    problem: Any,
    planning: Mapping[str, Any],
    called_off: threading.Event,
    *,
    memory: Collection[str] = (),
    pricing: Pricing | None = None,
    model: str | None = None,
    fills: bool = False,
) -> PreparedPlan:
    """Search for a plan for `problem` until the search is `called_off`; raises `NoPlan`.

    The search leaves out actions without a handler, unless no action has one; and steps that must be observed what
    nobody can observe, if there is a plan without them. Unless `planning` has a time limit, a search that runs out of
    time is tried once more with more. A limit that ends a search without a result is a `NoPlan`, too. Raises
    `PlanError` where `world` lacks something else for the plan; `memory` and `fills` are as for `prepare_given`. A
    search that is called off before it has a plan returns one without steps. `pricing` gives the expected costs. Where
    `model` is "policy", the plan follows a policy.
    """
    options = {**planning, "cancel": called_off}
    problem = resolve_problem(problem)
    able, lacking = _without_unhandled(problem, world)
    search: Callable[..., PreparedPlan] = partial(_search_observable, world)
    if model == FOLLOWED:
        search, able = _plan_by_policy, able if pricing is None else pricing.apply_experience(able)
    elif pricing is not None:
        able = pricing.apply_expected_costs(able)
    try:
        made = _search_within_limits(search, able, options, lacking)
    except NoPlan as error:
        if error.result.stopped_by is not StoppedBy.TIME or "time_limit" in planning:
            raise
        made = _search_once_more(search, able, options, lacking)
    declared = problem.classical.domain if is_other_problem(problem) else problem.domain
    made = replace(made, problem=replace(made.problem, domain=declared))
    _check_means(world, made, memory, fills=fills)
    return made


def _search_within_limits(
    search: Callable[..., PreparedPlan], problem: Any, options: Mapping[str, Any], lacking: str
) -> PreparedPlan:
    """Call `search`; raises `NoPlan` where a limit ends it without a result, unless it was called off."""
    try:
        return search(problem, options, lacking)
    except LimitReached as limit:
        if options["cancel"].is_set():
            return _state_without_steps(problem)
        raise NoPlan(Result(Status.UNKNOWN, limit.stopped_by, reason=lacking)) from None


def _search_once_more(
    search: Callable[..., PreparedPlan], problem: Any, options: Mapping[str, Any], lacking: str
) -> PreparedPlan:
    """Call `search` with more time; a `NoPlan` says so if it runs out of that, too."""
    try:
        return _search_within_limits(search, problem, {**options, "time_limit": MORE_SECONDS}, lacking)
    except NoPlan as error:
        found = error.result
        if found.stopped_by is not StoppedBy.TIME:
            raise
        reason = "; ".join(filter(None, [found.reason, describe_tries(SECONDS, MORE_SECONDS)]))
        raise NoPlan(replace(found, reason=reason)) from None


def _state_without_steps(problem: Any) -> PreparedPlan:
    """Return a plan without steps, as of a search that was called off."""
    classical = problem.classical if is_other_problem(problem) else problem
    return PreparedPlan(ActionPlan(**statement_of(classical)), classical)


def _check_options(planning: Mapping[str, Any], model: str | None) -> None:
    """Raise `InputError` for an option that `solve`, or `decide`, does not have."""
    from planner.solve import solve

    search: Callable[..., Any] = solve
    if model == FOLLOWED:
        from planner.policies.decide import decide

        search = decide
    known = inspect.signature(search).parameters.keys() - {"problem", "cancel"}
    for name in planning:
        if name == "cancel":
            raise InputError("a search for a run is called off with the run", hint="run = start(…), then run.cancel()")
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(sorted(known))}"
            raise InputError(f"there is no option {name!r}", hint=hint)


def _check_versions(world: World, problem: Any) -> None:
    """Raise `InputError` where `world` lacks action versions for preferences that `problem` counts.

    A journal has plans and no problems: such a run could not be resumed.
    """
    versions = {} if is_other_problem(problem) else problem.domain.versions
    for version, name in versions.items():
        if name in world.model.actions and version not in world.model.actions:
            found = f"the world was made of a domain without the preferences of {name!r} that the problem counts"
            raise InputError(found, hint="make it of the domain of the problem: World(problem.domain)")


def _check_action_plan(world: World, plan: ActionPlan, memory: Collection[str], *, fills: bool) -> None:
    """Raise `PlanError` with all mistakes in `plan`, if there are any."""
    from executor.plan_check.check_plan import check_plan, errors_in

    errors = errors_in(check_plan(plan, world, memory=memory, model=fills))
    if errors:
        raise PlanError("this plan cannot be run:\n" + "\n".join(map(str, errors)))


def _check_means(world: World, made: PreparedPlan, memory: Collection[str], *, fills: bool) -> None:
    """Raise `PlanError` with all that `world` lacks for a plan, if it lacks anything."""
    from executor.plan_check.check_means import check_means
    from executor.plan_check.check_plan import errors_in

    errors = errors_in(check_means(made.plan, made.problem, world, memory, fills=fills))
    if errors:
        raise PlanError("this plan cannot be run:\n" + "\n".join(map(str, errors)))


def _without_unhandled(problem: Any, world: World) -> tuple[Any, str]:
    """Disable the actions without a handler; return the problem, and why nobody carries these actions out.

    Nothing is disabled in a hierarchical problem, nor where no action has a handler.
    """
    lacking = world.without_handler() if any(world.skills.values()) else []
    if is_other_problem(problem) or not lacking:
        return problem, ""
    return disable_actions(problem, lacking), world.explain_missing_handlers(lacking)


def _expect_plan(found: Any, lacking: str) -> Any:
    """Return the result `found`; raises `NoPlan`, which says what handlers are `lacking`, if it has no plan."""
    if lacking and not (found.has_policy if is_decision(found) else found.has_plan):
        raise NoPlan(replace(found, reason="; ".join(filter(None, [found.reason, lacking]))))
    return found


def _plan_by_policy(problem: Any, options: Mapping[str, Any], lacking: str) -> PreparedPlan:
    """Search for the best policy, and make a plan that follows it."""
    from planner.policies.decide import decide

    found = decide(problem, **options)
    if not found.has_policy and (aim := next(aims_at_finding(problem), None)) is not None:
        listing = decide(seal_like(aim, problem), **options)
        found = listing if listing.has_policy else found
    if options["cancel"].is_set() and not found.has_policy:
        return _state_without_steps(problem)
    return PreparedPlan(ActionPlan.of(_expect_plan(found, lacking), **statement_of(problem)), problem)


def _search_observable(world: World, problem: Any, planning: Mapping[str, Any], lacking: str) -> PreparedPlan:
    """Search for the best plan, and once more without its steps that can never begin, if there are any.

    Return the first plan where there is no other one: who carries it out says what it lacks.
    """
    from executor.plan_check.unobservable_conditions import find_unobservable

    made = _search_best(problem, planning, lacking)
    if is_other_problem(problem):
        return made
    actions = problem.domain.actions
    stuck = [each.step for each in find_unobservable(made.plan.steps, made.problem, world)]
    barred = [Atom(each.action, actions[each.action].declared_arguments(each.arguments)) for each in stuck]
    if not barred:
        return made
    try:
        other = _search_best(seal(forbid_actions(problem, barred, ())), planning, lacking)
    except NoPlan:
        return made
    plan = other.plan.model_copy(update=statement_of(problem))
    return made if find_unobservable(plan.steps, problem, world) else replace(other, plan=plan, problem=problem)


def _search_best(problem: Any, planning: Mapping[str, Any], lacking: str) -> PreparedPlan:
    """Search for the best plan, and note which soft goals it forgoes."""
    from planner.solve import solve

    found = solve(problem, **planning)
    if not found.has_plan and not is_other_problem(problem):
        listing = plan_to_find(problem, lambda aim: solve(aim, **planning))
        found = found if listing is None else listing
    if planning["cancel"].is_set() and not found.has_plan:
        return _state_without_steps(problem)
    classical = problem.classical if is_other_problem(problem) else problem
    made = PreparedPlan(ActionPlan.of(_expect_plan(found, lacking)), classical)
    return replace(made, dropped=tuple([each for each in found.forgone if isinstance(each, SoftGoal)]))
