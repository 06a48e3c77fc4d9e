"""From a problem to an answer: the pipeline, stage by stage."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable

from planner.errors import InputError, kind_of
from planner.lightweight import Any, Final, replace
from planner.limits import Budget, check_limits
from planner.model import Problem
from planner.model.domain import creates_objects, uncertain_actions
from planner.model.problem import constraint_on_unknown
from planner.plan import Plan, Progress, Result, Status, StoppedBy
from planner.portfolio.incumbent import Answer, intended, unsupported
from planner.portfolio.portfolio import automatic, check_simulations, checked_names, chosen
from planner.portfolio.symbolic_beside import alone, beside
from planner.portfolio.workplace import Workplace
from planner.problem_kinds import AnyProblem, is_other_problem, resolve_problem, service_of
from planner.search import Space

REASON_SECONDS: Final = 1.0
"""So long it is looked for what cannot be met together, where it is proved that there is no plan."""

POINTING: Final = "explain_unsolvable says whether constraints and goal cannot be met together"
"""The reason where that was not found in time."""


def solve(
    problem: AnyProblem,
    *,
    mode: str = "anytime",
    search: str | None = None,
    heuristic: str | None = None,
    engine: str | None = None,
    simulations: int | None = None,
    seed: int = 0,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> Result:
    """Return the answer to `problem`: a validated plan with its proof or gap, or why there is none.

    `mode` says when to stop: `anytime` with a proof, `first` with any plan, `optimal` with a proof and without looking
    for other plans on the way. `search` and `heuristic` override the automatic choice; `engine` names a foreign planner
    instead. Search `mcts` stops after so many `simulations`, and draws its random numbers from `seed`: the same one
    leads to the same plan. `time_limit` is in seconds, `memory_limit` in GiB of the process; None is no limit.
    `on_progress` is told of every better plan and bound, and setting `cancel` from any thread ends the work, as Ctrl-C
    does. A problem of another kind, such as a hierarchical one, answers for itself. Of several outcomes of an action,
    `provides`, the intended one, is planned on; `reason` says so. Where something is wished for, the optimum is the
    most net benefit: the utilities of what comes true, less the cost.

    Raises `InputError` for names that do not exist, for limits that are none, and for mistakes in the problem that only
    grounding shows.
    """
    began = time.monotonic()
    problem = resolve_problem(problem)
    options: dict[str, Any] = {"mode": mode, "search": search, "heuristic": heuristic, "engine": engine}
    options |= {"simulations": simulations, "seed": seed, "on_progress": on_progress}
    limits: dict[str, Any] = {"memory_limit": memory_limit, "cancel": cancel}
    found = solve_plainly(problem, **options, time_limit=time_limit, **limits)
    if found.status is not Status.UNSOLVABLE or not isinstance(problem, Problem):
        return found
    from planner.explain.conflicts import naming

    left = REASON_SECONDS if time_limit is None else min(REASON_SECONDS, time_limit - (time.monotonic() - began))
    found = naming(problem, found, Budget(max(left, 0.0), **limits), solve_plainly)
    hard = any(each.utility is None for each in problem.constraints)
    return replace(found, reason=POINTING) if hard and not found.reason else found


def solve_plainly(
    problem: AnyProblem,
    *,
    mode: str = "anytime",
    search: str | None = None,
    heuristic: str | None = None,
    engine: str | None = None,
    simulations: int | None = None,
    seed: int = 0,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> Result:
    """Return the answer as `solve` does, but for which demands cannot be met together where there is no plan."""
    check_simulations(search, simulations, seed)
    within: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit}
    within |= {"on_progress": on_progress, "cancel": cancel}
    if not isinstance(problem, Problem):
        if is_other_problem(problem):
            return service_of(problem).solve(
                problem, mode=mode, search=search, heuristic=heuristic, engine=engine, **within
            )
        raise InputError(f"{kind_of(problem)} is no problem", hint="load(…) and domain.problem(…) give one")
    check_limits(time_limit, memory_limit)
    options: dict[str, Any] = {"mode": mode, "search": search, "heuristic": heuristic, "engine": engine}
    found = _unclear(problem)
    if found is None:
        found = _otherwise(problem, options | {"simulations": simulations, "seed": seed}, within)
    if found is not None:
        return found
    search = checked_names(mode, search, heuristic)
    refused = unsupported(problem, takes=("budgets", "deadlines"))
    if refused is None and search is not None and problem.deadline is not None:
        from planner.resources.resource_portfolio import unlabelled

        refused = unlabelled(search, "look at deadlines")
    if refused is not None:
        return refused
    answer = Answer(problem, Budget(time_limit, memory_limit, cancel), on_progress)
    answer.run.seed, answer.run.most_simulations = seed, simulations
    found = answer.within_limits(lambda: _solve(answer, mode, search, heuristic))
    return _as_intended(answer, found)


def _unclear(problem: Problem) -> Result | None:
    """Return the refusal of constraints of which nobody knows whether they hold at the start."""
    found = constraint_on_unknown(problem)
    reason = f"search does not take constraints on facts declared unknown, such as '{found}'"
    return None if found is None else Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, reason=reason)


def _otherwise(problem: Problem, options: dict[str, Any], within: dict[str, Any]) -> Result | None:
    """Return the answer of what is there for problems of this kind; None where that is ordinary search."""
    limits = within["time_limit"], within["memory_limit"], within["cancel"]
    if creates_objects(problem.domain):
        from planner.compilations.object_creation.rounds import solve_with_creation

        return solve_with_creation(
            problem, solve_plainly, Budget(*limits), **options, on_progress=within["on_progress"]
        )
    if problem.deadline is not None:
        from planner.scheduling.deadlines import solve_otherwise

        found = solve_otherwise(problem, solve_plainly, **options, **within)
        if found is not None:
            return found
    if problem.wishes and not problem.unknown:
        from planner.compilations.soft_goals import solve_with_wishes

        return solve_with_wishes(problem, solve_plainly, **options, **within)
    engine = options["engine"]
    if engine is not None:
        from planner.unified_planning.foreign_engines import solve_with

        return solve_with(problem, engine, **within)
    if problem.unknown:
        from planner.compilations.contingent.assumptions import solve_with_unknown

        checked_names(options["mode"], options["search"], options["heuristic"])
        return solve_with_unknown(problem, solve_plainly, Budget(*limits), **options, on_progress=within["on_progress"])
    return None


def _as_intended(answer: Answer, found: Result) -> Result:
    """Return what `found`, on intended outcomes, says where actions may come out otherwise."""
    domain = answer.problem.domain
    if found.status is Status.UNSOLVABLE and uncertain_actions(domain):
        from planner.compilations.determinization import is_hopeless

        if is_hopeless(answer.problem, answer.budget, solve_plainly):
            return found
    return intended(domain, found)


def _solve(answer: Answer, mode: str, search: str | None, heuristic: str | None) -> Result:
    """Ground, search, answer; raises `LimitReached`."""
    from planner.grounding.ground import ground

    task = ground(answer.problem, answer.budget)
    answer.grounded(task)
    if task.unreachable_goal is not None:
        return answer.unreachable()
    workplace = Workplace(task, Space(task), answer.run, answer.budget.check)
    if answer.problem.deadline is not None:
        from planner.scheduling.deadlines import NOT_ALL, meeting_deadline

        answer.caveat = NOT_ALL
        return answer.of(meeting_deadline(workplace, answer.problem, mode, search, heuristic), mode)
    if answer.problem.budgets:
        from planner.resources.resource_portfolio import within_budgets

        return answer.of(within_budgets(workplace, answer.problem, mode, search, heuristic), mode)
    if search == "symbolic":
        return answer.of(alone(workplace, answer.budget), mode)
    if search:
        steps, answer.caveat = chosen(workplace, search, heuristic)
        return answer.of(steps, mode)
    steps = automatic(workplace, mode)
    return answer.of(steps if mode == "first" else beside(steps, workplace, answer.budget), mode)


async def improve(problem: AnyProblem, **options: Any) -> AsyncIterator[Result]:
    """Yield a `Result` for each better plan, and at last the one that `solve` returns, as a worker thread finds them.

    Takes the options of `solve`. When the iteration is given up, the search is cancelled.
    """
    import asyncio

    loop, found = asyncio.get_running_loop(), asyncio.Queue[Result | BaseException | None]()
    cancel = options["cancel"] = options.get("cancel") or threading.Event()

    def report(item: Result | BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now: nobody listens
            loop.call_soon_threadsafe(found.put_nowait, item)

    def work() -> None:
        try:
            report(solve(problem, **options, on_progress=lambda progress: report(_so_far(progress))))
        except BaseException as error:  # noqa: BLE001 - raised where the iteration is
            report(error)
        report(None)

    thread = threading.Thread(target=work, daemon=True, name="forethought-improve")
    thread.start()
    best: Plan | None = None
    try:
        while (item := await found.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            if item.plan is not best or item.status is not Status.SOLVED:
                best = item.plan
                yield item
    finally:
        cancel.set()


def _so_far(progress: Progress) -> Result:
    status = Status.UNKNOWN if progress.plan is None else Status.SOLVED
    return Result(status, StoppedBy.INCOMPLETE, progress.plan, progress.lower_bound, progress.statistics)


__all__ = ["improve", "solve"]
