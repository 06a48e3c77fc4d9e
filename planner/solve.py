"""Solving: from a problem to a result, stage by stage."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Callable

from planner.compilations.reductions import REDUCTIONS, find_answer
from planner.errors import InputError, kind_of
from planner.lightweight import TYPE_CHECKING, Any, replace
from planner.limits import CallbackError
from planner.model import Problem
from planner.model.domain import may_find_out
from planner.model.problem import is_numeric
from planner.model.unknown_numbers import find_unread
from planner.options import SolveOptions
from planner.plan import Plan, Progress, Result, Status, StoppedBy
from planner.portfolio.incumbent import Incumbent, qualify_intended, weaken_to_intended
from planner.portfolio.select_search import select_search
from planner.portfolio.workplace import Workplace
from planner.problem_kinds import AnyProblem, is_other_problem, resolve_problem, service_of
from planner.search import Space

if TYPE_CHECKING:
    from planner.search.expansion import Expansion


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
    plain: bool = False,
    pruning: tuple[str, ...] = (),
    expansion_limit: int | None = None,
    on_expansion: Callable[[Expansion], None] | None = None,
    jobs: int = 1,
) -> Result:
    """Solve `problem`: return a validated plan with its proof or gap, or why there is no plan.

    `mode` says when to stop: `anytime` stops with a proof, and `first` with any plan; `optimal` stops with a proof and
    runs no search for intermediate plans. `search` and `heuristic` override the automatic choice; `engine` names a
    foreign planner to use instead. Search `mcts` stops after `simulations`; its random numbers, and so its plan, depend
    on `seed` only. `time_limit` is in seconds, `memory_limit` in GiB of the process; None is no limit. `solve` calls
    `on_progress` with every better plan and bound. Setting `cancel` from any thread ends the work, as Ctrl-C does.

    For other kinds of problems, such as hierarchical ones, `solve` calls the module registered for the kind. `solve`
    assumes each uncertain action's intended outcome (`provides`). `reason` states this. For a problem with wishes, the
    optimum is the greatest net benefit: the utilities of the fulfilled wishes, less the cost.

    Up to `jobs` searches are at work at once, in threads where they share a task: plans and proofs may come sooner, and
    proved costs are the same. A named search, a plain one and an `engine` go without.

    With `plain`, one search runs in one tier, with no pruning but that of `pruning` ("h2", "stubborn", "symmetries"):
    `search` with `heuristic`, else A* with LM-cut, or greedy search with h_FF in mode `first`. Its counts and its plan
    are the same in every run and on every machine. Only then may `expansion_limit` end the search, and `on_expansion`
    be called with each expansion; what it raises ends the search and is raised here.

    An error ends the search that it occurs in, which `history.failures` then names, while others go on. Raises
    `InputError` for unknown names, invalid limits, and mistakes in the problem that only grounding finds, the first
    error if all searches have failed and there is no plan, and what callbacks raise.
    """
    options = SolveOptions(
        mode,
        search,
        heuristic,
        engine,
        simulations,
        seed,
        time_limit,
        memory_limit,
        None if on_progress is None else _end_by_errors(on_progress),
        cancel,
        plain,
        pruning,
        expansion_limit,
        on_expansion,
        jobs=jobs,
    )
    try:
        return _solve(resolve_problem(problem), options)
    except CallbackError as failed:
        error = failed.error
    raise error


def _end_by_errors(on_progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Let an error of `on_progress` end all searches, not only the one that reports."""

    def tell(progress: Progress) -> None:
        try:
            on_progress(progress)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - it goes on as the cause of another one
            raise CallbackError(error) from None

    return tell


def _solve(problem: AnyProblem, options: SolveOptions) -> Result:
    """Solve a resolved problem. Raises `CallbackError` for what callbacks raise."""
    limits, on_progress = options.limits(), options.on_progress
    if on_progress is not None and isinstance(problem, Problem) and find_unread(problem):
        options = replace(options, on_progress=lambda each: on_progress(replace(each, lower_bound=None)))
    found = answer(problem, options)
    if isinstance(problem, Problem) and may_find_out(problem.domain):
        from planner.compilations.unlisted_objects import qualify_by_findings

        found = qualify_by_findings(problem, found)
    if options.plain or found.status is not Status.UNSOLVABLE or not isinstance(problem, Problem):
        return found
    from planner.explain.conflicts import add_reason

    return add_reason(problem, found, limits, answer)


def answer(problem: AnyProblem, options: SolveOptions) -> Result:
    """Solve a resolved problem, without explaining unsolvability by conflicts.

    The kind's module answers if there is one; else the first applicable reduction; else a search.
    """
    options.check()
    if is_other_problem(problem):
        return service_of(problem).solve(problem, options)
    if not isinstance(problem, Problem):
        raise InputError(f"expected a problem, got {kind_of(problem)}", hint="load(…) and domain.problem(…) give one")
    reduced = find_answer(REDUCTIONS, problem, options, answer)
    if reduced is not None:
        return reduced
    incumbent = Incumbent(problem, options)
    found = incumbent.run_within_limits(lambda: _ground_and_search(incumbent, options))
    if options.plain:
        return weaken_to_intended(problem.domain, found)
    return qualify_intended(problem, found, incumbent.limits, answer)


def _ground_and_search(incumbent: Incumbent, options: SolveOptions) -> Result:
    """Ground the problem and search; map back and validate each better plan. Raises `LimitReached`."""
    from planner.grounding.ground import ground

    problem, limits = incumbent.problem, incumbent.limits
    if is_numeric(problem):
        from planner.portfolio.numeric_portfolio import search_numeric

        return search_numeric(incumbent, options)
    if options.prepared is not None and options.prepared[0] is problem:
        task = options.prepared[1](limits)
    else:
        task = ground(problem, limits)
    incumbent.take_task(task)
    if task.unreachable_goal is not None:
        return incumbent.unreachable_result()
    workplace = Workplace(task, Space(task), incumbent.run, incumbent.limits.check, plain=options.plain)
    workplace.pruning = options.pruning if options.plain else None
    return incumbent.improve(select_search(incumbent.problem, options, workplace, incumbent), options.mode)


async def improve(problem: AnyProblem, **options: Any) -> AsyncIterator[Result]:
    """Search in a worker thread; yield a `Result` for each better plan, and finally the result of `solve`.

    Takes the options of `solve`. Ending the iteration early cancels the search.
    """
    import asyncio

    loop, found = asyncio.get_running_loop(), asyncio.Queue[Result | BaseException | None]()
    cancel = options["cancel"] = options.get("cancel") or threading.Event()

    def send_item(item: Result | BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop may be closed by now
            loop.call_soon_threadsafe(found.put_nowait, item)

    def run_search() -> None:
        try:
            send_item(solve(problem, **options, on_progress=lambda progress: send_item(_make_result(progress))))
        except BaseException as error:  # noqa: BLE001 - the consumer of the iteration raises it
            send_item(error)
        send_item(None)

    thread = threading.Thread(target=run_search, daemon=True, name="forethought-improve")
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


def _make_result(progress: Progress) -> Result:
    status = Status.UNKNOWN if progress.plan is None else Status.SOLVED
    return Result(status, StoppedBy.INCOMPLETE, progress.plan, progress.lower_bound, progress.statistics)


__all__ = ["improve", "solve"]
