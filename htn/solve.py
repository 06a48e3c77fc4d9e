"""Solve a hierarchical problem: reduce, ground, search, explain."""

from __future__ import annotations

from collections.abc import Callable

from htn.compilations.htn_in_time import plan_in_time
from htn.compilations.htn_reductions import compile_away, solve_with_creation, solve_with_wishes
from htn.compilations.htn_suppositions import suppose_unknown_facts
from htn.grounding.ground_htn import ground
from htn.htn_portfolio import HEURISTICS, ONE_PLAN_SEARCHES, SEARCHES, select_search
from htn.lifted.depth_first import EnoughPlans, LimitsWithDescent, search_depth_first
from htn.model import HtnProblem, has_numbers, seal_problem
from htn.problem_kind import resolve
from htn.search.htn_incumbent import HtnIncumbent
from planner.compilations.reductions import find_answer
from planner.errors import InputError, UnsupportedError
from planner.lightweight import Final, replace
from planner.limits import LimitReached, Limits
from planner.model.constructs import CONSTRAINED, Construct, Service, has, way_round
from planner.model.domain import may_find_out
from planner.model.formulas import TRUE
from planner.options import Solve, SolveOptions
from planner.plan import Result, Status, unsupported_result
from planner.portfolio.incumbent import refuse_constructs, refuse_plain, weaken_to_intended
from planner.portfolio.portfolio import MODES, check_name
from planner.portfolio.tiers import run_until_plan
from planner.search.search_run import Ending

STATE_PRICES: Final = "what a step adds to the metric depends on the state: any plan will do"
"""Why a plan is not proved optimal where steps have no price of their own."""
REASON_SECONDS: Final = 1.0
"""Seconds for explaining unsolvability."""


def solve(problem: HtnProblem, options: SolveOptions) -> Result:
    """Solve `problem` as `planner.solve` solves classical problems.

    `search` is one of `htn.htn_portfolio.SEARCHES`, and `heuristic` one of `HEURISTICS` there. A heuristic without a
    search selects A*. The verifier has checked each plan and its decomposition. An OPTIMAL plan is a cheapest plan that
    decomposes the tasks.
    """
    problem = resolve(problem)
    limits = options.limits()
    found = answer(problem, options)
    if may_find_out(problem.classical.domain):
        from planner.compilations.unlisted_objects import qualify_by_findings

        found = qualify_by_findings(problem.classical, found)
    return found if options.plain else _add_reason(problem, found, limits)


def answer(problem: HtnProblem, options: SolveOptions) -> Result:
    """Solve a resolved problem without explaining unsolvability.

    The first applicable reduction answers; else a search for decompositions.
    """
    options.check()
    reduced = find_answer(REDUCTIONS, problem, options, answer)
    return _search(problem, options) if reduced is None else reduced


def _search(problem: HtnProblem, options: SolveOptions) -> Result:
    """Search for decompositions."""
    try:
        bounded = [Construct.BUDGETS] if has_numbers(problem) else []
        compiled = compile_away(problem, *CONSTRAINED, *bounded)
    except UnsupportedError as error:
        return unsupported_result(error.construct, error.hint)
    limits = options.limits()
    incumbent = HtnIncumbent(problem, options)
    found = incumbent.run_within_limits(lambda: _ground_and_search(compiled, incumbent, options))
    if found.plan is not None and not incumbent.has_bounds and options.mode != "first":
        from htn.compilations.metric_rounds import improve_by_rounds

        found = improve_by_rounds(problem, replace(found, reason=STATE_PRICES), options.within(limits), answer)
    return weaken_to_intended(problem.classical.domain, found)


def _ground_and_search(problem: HtnProblem, incumbent: HtnIncumbent, options: SolveOptions) -> Result:
    """Ground the problem while a lifted search runs. Then search the ground hierarchy. Raises `LimitReached`."""
    if options.mode == "optimal" and options.search in ONE_PLAN_SEARCHES:
        stops = f"{options.search} search stops at the first plan"
        incumbent.caveat = f"{stops} and does not prove it optimal; astar does"
    if options.search == "depth-first":
        return search_depth_first(problem, incumbent, options.heuristic, plain=options.plain)
    numeric = has_numbers(problem)
    limits = LimitsWithDescent.start(problem, incumbent, options, lifted=not numeric)
    try:
        try:
            hierarchy = ground(problem, limits)
        except UnsupportedError as error:
            return unsupported_result(error.construct, error.hint)
        incumbent.take_hierarchy(hierarchy)
        if hierarchy.unreachable_goal is not None:
            return incumbent.unreachable_result()
        if hierarchy.root is None:
            return incumbent.result_of(Ending.EXHAUSTED)
        steps = select_search(hierarchy, problem, incumbent, options, limits)
        if hierarchy.numeric is not None and not hierarchy.numeric.is_priced:
            incumbent.has_bounds, incumbent.caveat = False, STATE_PRICES
            steps = run_until_plan(steps, incumbent.run)
        return incumbent.improve(steps, options.mode)
    except EnoughPlans:
        return incumbent.result_of(Ending.FIRST_PLAN)


def _add_reason(problem: HtnProblem, result: Result, limits: Limits) -> Result:
    """Add the reason to an UNSOLVABLE `result` if an explanation is found within `REASON_SECONDS`."""
    if result.status is not Status.UNSOLVABLE or result.statistics.ground_seconds > REASON_SECONDS:
        return result
    from htn.explain.task_explanations import explain_unsolvable
    from planner.explain.conflicts import name_conflict

    within = limits.part(REASON_SECONDS)
    result = name_conflict(problem, result, within, answer)
    if result.reason:
        return result
    try:
        return replace(result, reason=explain_unsolvable(problem, within).summary)
    except (LimitReached, MemoryError, UnsupportedError):
        return result


def plan_with_times(problem: HtnProblem, options: SolveOptions, answer: Solve) -> Result | None:
    """Solve `problem` by sequences and their schedules, then by any plan to the goal; return None without times."""
    limits = options.limits()
    found = plan_in_time(problem, options, answer)
    if found is None or found.status is not Status.UNKNOWN or problem.classical.goal.hard == TRUE:
        return found
    from htn.compilations.overlapping_tasks import plan_overlapping

    return plan_overlapping(problem, options, limits, found)


def ask_engine(problem: HtnProblem, options: SolveOptions, *_: object) -> Result | None:
    """Solve the problem by the foreign planner that the options name; return None if they name none."""
    if options.engine is None:
        return None
    from planner.unified_planning import solve_with

    return solve_with(seal_problem(problem), options)


def refuse_unsupported(problem: HtnProblem, options: SolveOptions, *_: object) -> Result | None:
    """Refuse constructs that no search supports.

    Raises `InputError` for unknown modes, searches and heuristics, and for options of classical problems.
    """
    check_name("mode", options.mode, MODES)
    check_name("search for hierarchical problems", options.search, SEARCHES)
    check_name("heuristic for hierarchical problems", options.heuristic, HEURISTICS)
    for name in ("pruning", "expansion_limit", "on_expansion"):
        if getattr(options, name):
            raise InputError(f"`{name}` is for classical problems", hint="leave it out")
    refused = refuse_constructs(problem.classical, Service.TASK_SEARCH)
    if refused is None and options.search is not None and has(problem.classical, Construct.BUDGETS):
        from planner.resources.resource_portfolio import refuse_without_labels

        return refuse_without_labels(options.search, "count what budgets limit")
    return refused


def refuse_beside_numbers(problem: HtnProblem, options: SolveOptions, *_: object) -> Result | None:
    """Refuse constructs that no search supports beside numbers."""
    if not has_numbers(problem):
        return None
    classical = problem.classical
    refused = {
        "depth-first search": options.search == "depth-first",
        Construct.CREATION.value: has(classical, Construct.CREATION),
    }
    found = next((what for what, there in refused.items() if there), None)
    if found is None:
        return None
    way = way_round(Service.TASK_TIME) if found == Construct.CREATION.value else None
    return unsupported_result(f"{found} in a hierarchical problem with numbers", way)


REDUCTIONS: Final[tuple[Callable[[HtnProblem, SolveOptions, Solve], Result | None], ...]] = (
    lambda problem, options, _: refuse_plain(problem.classical, options),
    suppose_unknown_facts,
    plan_with_times,
    refuse_beside_numbers,
    solve_with_creation,
    solve_with_wishes,
    ask_engine,
    refuse_unsupported,
)
"""The reductions in the order of trial. A reduction returns None to leave the problem to the next one, or to search."""
