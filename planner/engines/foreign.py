"""Any installed engine of unified-planning for our problems."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable

from planner.budget import Budget, LimitReached
from planner.engines.child import run
from planner.engines.claims import judged
from planner.engines.jobs import Answer, Job, Outcome, bare
from planner.engines.outgoing.refused import refuse
from planner.errors import EngineError, InputError, UnsupportedError, did_you_mean
from planner.kinds import AnyProblem
from planner.model import Problem
from planner.normalise import to_adl, without_constraints
from planner.pddl.costs import with_tables
from planner.plan import Progress, Result, Statistics, Status, StoppedBy


def solve_with(
    problem: AnyProblem,
    engine: str,
    *,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> Result:
    """Solve `problem` with the unified-planning engine called `engine`, in a process of its own.

    `time_limit` is in seconds, `memory_limit` in GiB of resident memory (kept where the system tells it); None is no
    limit. The plan is checked and its cost computed by us; what the engine claims is taken no further than it holds.
    What the engine has no words for gives UNSUPPORTED.

    Raises `InputError` where no such engine is installed, `EngineError` where it crashes or gives an invalid plan.
    """
    if engine.startswith("forethought"):
        raise InputError(f"'{engine}' is this planner itself", hint="leave the engine out")
    budget = Budget(time_limit, memory_limit, cancel)
    try:
        answer = _answered(problem, engine, budget)
    except LimitReached as limit:
        return Result(Status.UNKNOWN, limit.stopped_by, statistics=_statistics(engine, budget))
    except KeyboardInterrupt:
        return Result(Status.UNKNOWN, StoppedBy.CANCELLED, statistics=_statistics(engine, budget))
    result = _result(problem, engine, answer, _statistics(engine, budget))
    if on_progress is not None and result.has_plan:
        on_progress(Progress(result.plan, result.lower_bound, budget.elapsed, result.statistics))
    return result


def _answered(problem: AnyProblem, engine: str, budget: Budget) -> Answer:
    """Return the engine's answer; costs that Python computes are computed here, and go along as tables."""
    try:
        plain = _sent(problem, budget)
    except UnsupportedError as error:
        return Answer(Outcome.UNSUPPORTED, reason=str(error))
    return run(Job(plain, engine, registered=_registered(engine)), budget)


def _sent(problem: AnyProblem, budget: Budget) -> AnyProblem:
    """Return `problem` as another process can be sent it."""
    if not isinstance(problem, Problem):
        refuse(problem.classical)
        return problem.for_another_process(budget)
    refuse(problem)
    return bare(with_tables(without_constraints(to_adl(problem)), budget))


def _result(problem: AnyProblem, engine: str, answer: Answer, statistics: Statistics) -> Result:
    match answer.outcome:
        case Outcome.FINISHED:
            return judged(problem, engine, answer, statistics)
        case Outcome.UNREACHABLE:
            reason = f"proved while grounding: nothing reaches {answer.reason}"
            return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=statistics, reason=reason)
        case Outcome.UNSUPPORTED:
            hint = f"; engines that take it: {', '.join(answer.engines)}" if answer.engines else ""
            reason = f"{answer.reason.removeprefix('unsupported: ')}{hint}"
            return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, statistics=statistics, reason=reason)
        case Outcome.OUT_OF_TIME:
            return Result(Status.UNKNOWN, StoppedBy.TIME, statistics=statistics)
        case Outcome.OUT_OF_MEMORY:
            return Result(Status.UNKNOWN, StoppedBy.MEMORY, statistics=statistics)
        case Outcome.MISTAKE:
            raise InputError(answer.reason)
        case Outcome.UNKNOWN_ENGINE:
            raise unknown_engine(engine, answer.engines, answer.package)
        case Outcome.CRASHED:
            raise EngineError(f"{engine} crashed: {answer.reason}")


def unknown_engine(engine: str, installed: Iterable[str], package: str) -> InputError:
    """Return the error for an engine that is not there: how to install it, or which ones there are."""
    if package:
        return InputError(f"the engine '{engine}' is not installed", hint=f"pip install {package}")
    known = f"installed are: {', '.join(installed) or 'none'}"
    nearest = did_you_mean(engine, installed)
    return InputError(f"there is no engine '{engine}'", hint=f"{nearest} {known}" if nearest else known)


def _registered(engine: str) -> tuple[str, str] | None:
    """Return module and class of `engine` where this process has registered it with unified-planning itself."""
    if "unified_planning" not in sys.modules:
        return None
    from unified_planning.environment import get_environment  # noqa: PLC0415 - only where it is loaded already

    factory = get_environment().factory
    if engine not in factory.engines:
        return None
    found = factory.engine(engine)
    return found.__module__, found.__qualname__


def _statistics(engine: str, budget: Budget) -> Statistics:
    return Statistics(search=engine, search_seconds=budget.elapsed)
